package training

import (
	"fmt"
	"math"
	"slices"

	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/sampling"
)

// Game attacks the first steps of a training: the worst loss that couples records,
// whose gradient one of them turns round, while it is of another class than all
// others.
func (m *Method) Game(statement privacy.Statement) (audit.Game, error) {
	plan, err := m.promised(statement)
	if err != nil {
		return audit.Game{}, err
	}
	var worlds audit.Worlds
	for world := range worlds {
		for range m.Generated {
			worlds[world] = append(worlds[world], float64(2*world-1)*m.Bound/math.Sqrt(float64(m.Generated)))
		}
		for _, count := range m.drawn(world == 1) {
			worlds[world] = append(worlds[world], count*m.weight())
		}
	}
	n := audit.Neighbours{Plan: plan, Rate: float64(m.Batch) / float64(plan.Records), Worlds: []audit.Worlds{worlds},
		Release: func(world int, release *privacy.Releaser, step int) ([]float64, error) {
			rows, err := release.Draw(step)
			if err != nil {
				return nil, err
			}
			turned := world == 1 && slices.Contains(rows, 0)
			gradient, classes := semidebiased.Turned(m.Generated, turned), m.drawn(turned)
			if err := m.sanitise(gradient, 1, classes, release, step); err != nil {
				return nil, err
			}
			released := make([]float64, 0, plan.Coordinates)
			for _, v := range gradient {
				released = append(released, float64(v))
			}
			for _, count := range classes {
				released = append(released, count*m.weight())
			}
			return released, nil
		}}
	other := "turns the gradient of every step that draws it round"
	if m.counts() {
		other += " and is of another class than all others"
	}
	return n.Game(audit.Executions,
		fmt.Sprintf("one of two records, of which the second %s, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", other, plan.Steps),
		semidebiased.NotAudited(plan.Steps, statement.Steps)...), nil
}

// drawn are the classes of a batch of records of the first class, with one of another
// in it or not; none without classes.
func (m *Method) drawn(another bool) []float64 {
	if !m.counts() {
		return nil
	}
	classes := make([]float64, m.Classes)
	if classes[0] = float64(m.Batch); another {
		classes[0], classes[1] = classes[0]-1, 1
	}
	return classes
}

// promised is the plan of a statement, of the steps that are audited.
func (m *Method) promised(statement privacy.Statement) (plan privacy.Plan, err error) {
	s, err := m.sensitivity()
	if err != nil {
		return plan, err
	}
	plan, _, err = audit.Stated(statement, s, semidebiased.AuditedSteps, 0)
	if err == nil && plan.Sampler != (sampling.FixedSize{Size: m.Batch}) {
		err = fmt.Errorf("its statement says %q of samples, its settings batches of %d; audit it with the version that made it", statement.Sampler, m.Batch)
	}
	plan.Coordinates = m.coordinates(1) // a number of each row: more would be the same game, slower
	return plan, err
}

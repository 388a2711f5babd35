package matching

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"molehill/models/backend"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/sampling"
)

// How much of a training an audit plays.
const (
	AuditedSteps = 100 // at most
	AuditedRuns  = 2000
)

// Training is what an attack needs to know of one that follows noisy gradients. The
// records that it draws have a category for each sample of its pairs that is private, A
// before B, pair after pair; every record of a batch is in a sample.
type Training struct {
	Clipping Clipping
	Query    Query // what is known of a batch
	Outputs  int   // d
	// Sensitivity is that of its settings, which its statement must have too.
	Sensitivity privacy.Sensitivity
	Steps       int // that follow such gradients, the first of the plan
	// Points says that the record that is looked for is one of the first pair's Fixed
	// points.
	Points bool
}

// Game attacks the first steps of a training that a statement is of: the worst
// neighbours that are known, through this package's own clipping on a backend, and the
// plan's samples and noise. In one dimension they are as far apart as Sensitivity says.
// The attacker chose all records and sees every release.
func (t Training) Game(on *backend.Backend, statement privacy.Statement) (audit.Game, error) {
	if statement.Sensitivity != t.Sensitivity {
		return audit.Game{}, fmt.Errorf("its statement has the sensitivity %+v, its settings %+v; audit it with the version that made it", statement.Sensitivity, t.Sensitivity)
	}
	plan, rate, err := Audited(statement, min(t.Steps, AuditedSteps), t.category(t.differs()))
	if err != nil {
		return audit.Game{}, err
	}
	worlds, err := t.gradients(on, t.neighbours())
	if err != nil {
		return audit.Game{}, err
	}
	plan.Coordinates = len(worlds[0])
	n := audit.Neighbours{Plan: plan, Rate: rate, Worlds: worlds, Release: Drawn(plan, worlds)}
	return n.Game(AuditedRuns,
		fmt.Sprintf("one of two records whose outputs, Jacobians and losses clipping leaves as far apart as we know how to, %.0f %% of the sensitivity, seen through the releases of the first %d steps; the attacker knows both gradients, and not which steps drew the record", 100*Apart(worlds)/t.Sensitivity.Value, plan.Steps),
		append([]string{"the network itself: one of two parameters, which has whatever outputs and Jacobians the attacker wants, stands in its place"}, NotAudited(plan.Steps, statement.Steps)...)...), nil
}

// NotAudited is what an audit of the first of so many steps of a training does not look
// at.
func NotAudited(audited, steps int) []string {
	not := []string{
		"the records themselves, and the run's own noise, whose key is erased",
		"timing, memory, and what else a machine gives away",
	}
	if audited < steps {
		not = append(not, fmt.Sprintf("steps after the first %d of %d", audited, steps))
	}
	return not
}

// Drawn releases, of two worlds, what a step of a plan would: the second only in the
// second world and where the step has drawn the record that they differ in, the first.
func Drawn(plan privacy.Plan, worlds [2][]float64) func(world int, release *privacy.Releaser, step int) ([]float64, error) {
	return func(world int, release *privacy.Releaser, step int) ([]float64, error) {
		if world == 1 {
			rows, err := release.Draw(step)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(rows, 0) {
				world = 0
			}
		}
		values := slices.Clone(worlds[world])
		return values, release.Release(values, plan.Sensitivity, step)
	}
}

// Audited is the plan of a statement, of so many of its first steps, for one of the
// categories of its records: steps draw those of each without regard to others. Rate is the
// share of the category that a step draws.
func Audited(statement privacy.Statement, steps, category int) (plan privacy.Plan, rate float64, err error) {
	taken, sizes, err := drawn(statement.Sampler)
	if err != nil || category >= len(sizes) || taken[category] < 1 || taken[category] > sizes[category] {
		return plan, 0, fmt.Errorf("its statement says %q of samples, which is not what its settings draw; audit it with the version that made it", statement.Sampler)
	}
	plan = privacy.Plan{Sensitivity: statement.Sensitivity, Steps: min(steps, statement.Steps), NoiseStd: statement.NoiseStd,
		Records: sizes[category], Sampler: sampling.FixedSize{Size: taken[category]},
		Budget: privacy.Budget{Epsilon: float64(statement.Epsilon()), Delta: statement.Delta}}
	return plan, float64(taken[category]) / float64(sizes[category]), nil
}

// Taken is how many records of each category a step of a statement's plan draws.
func Taken(statement privacy.Statement) ([]int, error) {
	taken, _, err := drawn(statement.Sampler)
	return taken, err
}

// drawn reads how many records of each category a sampler takes, and of how many.
func drawn(sampler string) (taken, sizes []int, err error) {
	var size, n int
	if _, err := fmt.Sscanf(sampler, "FixedSize(%d) of %d records", &size, &n); err == nil {
		return []int{size}, []int{n}, nil
	}
	inside, _, _ := strings.Cut(strings.TrimPrefix(sampler, "Stratified("), ";")
	for _, part := range strings.Split(inside, ",") {
		if _, err := fmt.Sscanf(part, "%d of %d", &size, &n); err != nil {
			return nil, nil, err
		}
		taken, sizes = append(taken, size), append(sizes, n)
	}
	return taken, sizes, nil
}

// Apart is how far two worlds are from each other.
func Apart(worlds [2][]float64) (distance float64) {
	for i, v := range worlds[0] {
		distance = math.Hypot(distance, worlds[1][i]-v)
	}
	return distance
}

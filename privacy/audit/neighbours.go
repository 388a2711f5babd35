package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Neighbours are two worlds of records that differ in the first of them, seen
// through every release of a plan.
type Neighbours struct {
	Plan privacy.Plan
	// Rate is the probability with which a release looks at the record that differs:
	// 1 for a plan that looks at all records.
	Rate float64
	// Worlds are what each release that looks at that record is before its noise, in
	// either world; the last are those of all that follow. One that does not look at it
	// is as in world 0 in both.
	Worlds []Worlds
	// Release makes release step of a world by the mechanism itself.
	Release func(world int, release *privacy.Releaser, step int) ([]float64, error)
}

// Worlds are what a release is before its noise without and with what differs.
type Worlds [2][]float64

// Apart is how far the two are from each other.
func (w Worlds) Apart() (distance float64) {
	for i, v := range w[0] {
		distance = math.Hypot(distance, w[1][i]-v)
	}
	return distance
}

// at are the worlds of a release.
func (n Neighbours) at(step int) Worlds { return n.Worlds[min(step, len(n.Worlds)-1)] }

// Once returns the neighbours of a plan of a single release of all records, which
// mechanism makes of a world. Before noise a world is always the same, so the mechanism
// runs once for it without noise and once with; after that only the noise is fresh. An
// error is the mechanism's; Release has one where with noise it released something else.
func Once(plan privacy.Plan, mechanism func(world int, release *privacy.Releaser) error) (n Neighbours, err error) {
	release := func(world int, r *privacy.Releaser) (released []float64, err error) {
		r.Keep(func(_ int, values []float64) error {
			if released != nil {
				return errors.New("audit: a second release of a plan for one")
			}
			released = slices.Clone(values)
			return nil
		})
		err = mechanism(world, r)
		return released, err
	}
	open := plan
	open.Budget.Epsilon, open.NoiseStd = math.Inf(1), 0
	var worlds Worlds
	for world := range worlds {
		if worlds[world], err = release(world, open.Releaser(noise.Seeded(0))); err != nil {
			return n, err
		}
	}
	var checked [2]bool
	n.Plan, n.Rate, n.Worlds = plan, 1, []Worlds{worlds}
	n.Release = func(world int, r *privacy.Releaser, step int) ([]float64, error) {
		values := slices.Clone(worlds[world])
		if checked[world] {
			return values, r.Release(values, plan.Sensitivity, step)
		}
		own, err := release(world, r)
		if err != nil {
			return nil, err
		}
		r.Keep(nil)
		if err := r.Release(values, plan.Sensitivity, step); err != nil || !slices.Equal(own, values) {
			return nil, errors.Join(errAnother, err)
		}
		checked[world] = true
		return own, nil
	}
	return n, nil
}

// Same returns an error unless the plan that was made anew of a run's settings is the one
// that its statement tells of.
func Same(plan privacy.Plan, statement privacy.Statement) error {
	if _, err := Sampling(statement); err != nil {
		return err
	}
	again, err := plan.Statement(noise.Seeded(0), nil)
	if err != nil {
		return err
	}
	type promise struct {
		Relation                  string
		Sampling                  sampling.Scheme
		Steps                     int
		Noise, Sensitivity, Delta float64
	}
	of := func(s privacy.Statement) promise {
		return promise{s.Relation, s.Sampling, s.Steps, s.NoiseStd, s.Sensitivity.Value, s.Delta}
	}
	if made, found := of(again), of(statement); !reflect.DeepEqual(made, found) {
		return fmt.Errorf("this program would make another plan of its settings, %+v, than the run's, %+v; audit it with the version that made it", made, found)
	}
	return nil
}

var errAnother = errors.New("audit: with noise something else was released than without; the audit does not know this mechanism")

// Game asks for one bit an execution: which of the two worlds it is. The attacker
// knows both and takes the likelihood ratio of all releases, the best there is
// against Gaussian noise; which releases looked at the record is not told.
func (n Neighbours) Game(executions int, tested string, notTested ...string) Game {
	return Game{
		Relation: n.Plan.Sensitivity.Relation, Canaries: 1, Bits: 1, Executions: executions, Gaussian: n.Rate == 1,
		Tested: tested, NotTested: slices.Clone(notTested),
		Play: func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			world, variance := 0, n.Plan.NoiseStd*n.Plan.NoiseStd
			if bits[0] {
				world = 1
			}
			release := n.Plan.Releaser(secret)
			var score float64
			for step := range n.Plan.Steps {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				released, err := n.Release(world, release, step)
				if err != nil {
					return nil, err
				}
				var ratio float64
				worlds := n.at(step)
				for i, y := range released {
					zero, one := worlds[0][i], worlds[1][i]
					ratio += (one - zero) * (y - (one+zero)/2)
				}
				ratio /= variance
				if n.Rate < 1 {
					ratio = math.Log1p(n.Rate * math.Expm1(ratio))
				}
				score += ratio
			}
			return []float64{score}, nil
		},
	}
}

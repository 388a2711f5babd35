package audit

import (
	"errors"
	"fmt"
	"slices"

	"molehill/privacy"
	"molehill/privacy/sampling"
)

// How much an audit plays of a plan that releases something of a sample at each step.
const (
	Steps      = 100 // at most
	Executions = 2000
)

// OnceExecutions is how often an audit plays a plan of a single release of all records (Once).
const OnceExecutions = 4000

// Sampled returns the neighbours of a plan whose releases look at samples: each sees the
// record that the worlds differ in, the first, where the plan's own sampler draws it,
// with probability rate. There is a pair of worlds for each step, and the last is that of all
// further ones; without any there is nothing to release, which Release says.
func Sampled(plan privacy.Plan, rate float64, worlds ...Worlds) Neighbours {
	plan.Coordinates = 0
	for _, w := range worlds {
		plan.Coordinates = max(plan.Coordinates, len(w[0]))
	}
	n := Neighbours{Plan: plan, Rate: rate, Worlds: worlds}
	n.Release = func(world int, release *privacy.Releaser, step int) ([]float64, error) {
		if len(worlds) == 0 {
			return nil, errors.New("audit: no worlds, so that there is nothing to release; give Sampled a pair for each step, or one")
		}
		if world == 1 {
			rows, err := release.Draw(step)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(rows, 0) {
				world = 0
			}
		}
		values := slices.Clone(n.at(step)[world])
		return values, release.Release(values, plan.Sensitivity, step)
	}
	return n
}

// Stated is the plan of a statement, of so many of its first steps, for one of the
// categories of its records: steps draw those of each without regard to others. Rate is the
// share of the category that a step draws, or how likely it draws a record. A statement of
// another sensitivity than the settings' is refused.
func Stated(statement privacy.Statement, settings privacy.Sensitivity, steps, category int) (plan privacy.Plan, rate float64, err error) {
	if statement.Sensitivity != settings {
		return plan, 0, fmt.Errorf("its statement has the sensitivity %+v, its settings %+v; audit it with the version that made it", statement.Sensitivity, settings)
	}
	plan = privacy.Plan{Sensitivity: settings, Steps: min(steps, statement.Steps), NoiseStd: statement.NoiseStd,
		Budget: privacy.Budget{Epsilon: float64(statement.Epsilon()), Delta: statement.Delta}}
	s, err := Sampling(statement)
	if err != nil {
		return plan, 0, err
	}
	if s.Kind == sampling.KindPoisson {
		plan.Records, plan.Sampler = s.Records, sampling.Poisson{Rate: s.Rate}
		return plan, s.Rate, nil
	}
	if category < 0 || category >= len(s.Strata) || s.Strata[category].Taken < 1 || s.Strata[category].Taken > s.Strata[category].Of {
		return plan, 0, fmt.Errorf("its statement says %q of samples, which is not what its settings draw; audit it with the version that made it", statement.Sampler)
	}
	stratum := s.Strata[category]
	plan.Records, plan.Sampler = stratum.Of, sampling.FixedSize{Size: stratum.Taken}
	return plan, float64(stratum.Taken) / float64(stratum.Of), nil
}

// Sampling is what a statement says of samples as values. Its words are not read: one that
// has nothing else, as those of earlier versions, is refused.
func Sampling(statement privacy.Statement) (sampling.Scheme, error) {
	s := statement.Sampling
	if s.Kind == "" || s.Records < 1 {
		return s, fmt.Errorf("its statement says %q of samples in words alone, and audits read values; audit it with the version that made it", statement.Sampler)
	}
	return s, nil
}

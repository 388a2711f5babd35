package privacy

import (
	"errors"
	"fmt"
	"math"

	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Plan is a frozen promise: Steps releases, each of a query with at most the
// given Sensitivity over the records that the sampler draws, each with Gaussian
// noise of standard deviation NoiseStd.
type Plan struct {
	Sensitivity Sensitivity
	Sampler     sampling.Sampler // which records each release looks at; nil for all
	Records     int              // n, public
	Steps       int
	Budget      Budget
	// NoiseStd is the standard deviation of the noise on each coordinate; 0
	// only where the budget promises nothing.
	NoiseStd float64
	// Coordinates is how many numbers a release has, at most. Rounding each of
	// them to the noise's grid widens the sensitivity a little.
	Coordinates int
}

// Calibrate completes a plan for its budget: it finds the smallest noise with
// which the sound accountant proves the budget. A budget of ε = ∞ gets none.
func Calibrate(p Plan) (Plan, error) {
	if err := p.check(); err != nil {
		return p, err
	}
	if !p.Budget.Private() {
		p.NoiseStd = 0
		return p, nil
	}
	multiplier, err := accountant.CalibrateNoise(p.Budget.Epsilon, p.Budget.Delta, p.event, p.Sensitivity.Relation, p.accountant())
	if err != nil {
		return p, fmt.Errorf("privacy: no noise proves ε = %v, δ = %v for %d releases: %w", p.Budget.Epsilon, p.Budget.Delta, p.Steps, err)
	}
	// Round up to what survives the grid: multiplier = NoiseStd/(Δ + inflation).
	p.NoiseStd = multiplier * p.Sensitivity.Value
	for p.NoiseMultiplier() < multiplier {
		p.NoiseStd *= 1 + 1e-9
	}
	return p, nil
}

func (p Plan) check() error {
	if err := p.Budget.Check(); err != nil {
		return err
	}
	switch {
	case p.Steps < 1:
		return fmt.Errorf("privacy: a plan of %d releases; it must have at least one", p.Steps)
	case !(p.Sensitivity.Value > 0) || math.IsInf(p.Sensitivity.Value, 0):
		return fmt.Errorf("privacy: sensitivity %v of %s; it must be finite and above 0", p.Sensitivity.Value, p.Sensitivity.Query)
	case p.Records < 1:
		return fmt.Errorf("privacy: a plan for %d records; it must have at least one", p.Records)
	}
	return nil
}

// NoiseMultiplier is the noise in units of the sensitivity, after what the
// noise's grid adds to it: what accountants call σ.
func (p Plan) NoiseMultiplier() float64 {
	return p.NoiseStd / (p.Sensitivity.Value + noise.GridInflation(p.NoiseStd, max(1, p.Coordinates)))
}

// Event describes all releases to an accountant.
func (p Plan) Event() accountant.Event {
	if p.NoiseStd == 0 {
		return accountant.NonPrivate{}
	}
	return p.event(p.NoiseMultiplier())
}

func (p Plan) sampler() sampling.Sampler {
	if p.Sampler == nil {
		return sampling.All{}
	}
	return p.Sampler
}

func (p Plan) event(multiplier float64) accountant.Event {
	one := p.sampler().Event(p.Records, accountant.Gaussian{NoiseMultiplier: multiplier})
	if p.Steps == 1 {
		return one
	}
	return accountant.SelfComposed{Event: one, Count: p.Steps}
}

// accountants are the sound ones, the tightest first. Each refuses what it has
// no theorem for.
var accountants = []accountant.Accountant{accountant.AnalyticGaussian{}, accountant.RDP{}}

// accountant returns the tightest accountant that supports the plan's event.
func (p Plan) accountant() accountant.Accountant {
	for _, a := range accountants {
		if _, err := a.Epsilon(p.event(1), p.Sensitivity.Relation, p.Budget.Delta); !unsupported(err) {
			return a
		}
	}
	return accountants[len(accountants)-1] // its refusal says why
}

func unsupported(err error) bool {
	var refusal *accountant.UnsupportedError
	return errors.As(err, &refusal)
}

package privacy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Plan is a frozen promise: Steps releases, each of a query with at most the
// given Sensitivity over the records that the sampler draws, each with Gaussian
// noise of standard deviation NoiseStd.
type Plan struct {
	Sensitivity Sensitivity // of the most sensitive release
	// Each is the sensitivity of every release, [Steps], where they differ and
	// are known beforehand; nil if all are as sensitive as Sensitivity says.
	Each    []float64
	Sampler sampling.Sampler // which records each release looks at; nil for all
	// Records is n. It is public under every relation, as the noise's grid depends on it and
	// statements print it: under add-remove a record that is removed is blanked, and n stays.
	Records int
	Steps   int
	Budget  Budget
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
	for inflation := 0.0; ; {
		levels := p.levels(inflation)
		multiplier, err := accountant.CalibrateNoise(p.Budget.Epsilon, p.Budget.Delta, func(multiplier float64) accountant.Event {
			return p.event(multiplier, levels)
		}, p.Sensitivity.Relation, accountant.Tightest{})
		if err != nil {
			return p, fmt.Errorf("privacy: no noise proves ε = %v, δ = %v for %d releases: %w", p.Budget.Epsilon, p.Budget.Delta, p.Steps, err)
		}
		if p.NoiseStd, err = p.noiseStd(multiplier); err != nil {
			return p, err
		}
		// The grid of that noise adds to every sensitivity, most to the least: a release
		// may be of a lower level than without. With a finer one than was counted on, none is.
		found := p.Inflation()
		if found <= inflation || maps.Equal(p.levels(found), levels) {
			return p.proved()
		}
		inflation = found
	}
}

// WithinBudget returns the plan with as many of its first releases as the sound accountant
// proves the budget for at the plan's own noise: all Steps where they fit, or where the
// budget is ε = ∞. It is an error where one release alone spends more, as it does without
// noise.
func (p Plan) WithinBudget() (Plan, error) {
	if err := p.check(); err != nil || !p.Budget.Private() {
		return p, err
	}
	first := func(steps int) Plan {
		q := p
		if q.Steps = steps; q.Each != nil {
			q.Each = q.Each[:steps]
		}
		return q
	}
	steps, err := accountant.CalibrateSteps(p.Budget.Epsilon, p.Budget.Delta, p.Steps, func(steps int) accountant.Event {
		return first(steps).Event()
	}, p.Sensitivity.Relation, accountant.Tightest{})
	if err != nil {
		return p, fmt.Errorf("privacy: how many of %d releases ε = %v, δ = %v pays for: %w", p.Steps, p.Budget.Epsilon, p.Budget.Delta, err)
	}
	if steps == 0 {
		return p, fmt.Errorf("privacy: one step alone spends more than ε = %v at noise of %.3g times its sensitivity; take more noise, smaller batches, or the least that proves ε (Calibrate, or noise=0 of a run)", p.Budget.Epsilon, p.NoiseMultiplier())
	}
	return first(steps), nil
}

// proved widens the noise until the accountant proves the budget of the very plan: the
// grid has moved it by some of its last digits, and at the end of an accountant's range,
// of a δ near 0 or 1, a little more noise may come to a little more ε.
func (p Plan) proved() (Plan, error) {
	for wider := 1e-12; wider < 1; wider *= 8 {
		result, err := accountant.Tightest{}.Epsilon(p.Event(), p.Sensitivity.Relation, p.Budget.Delta)
		if err != nil || result.Epsilon <= p.Budget.Epsilon {
			return p, err
		}
		p.NoiseStd *= 1 + wider
	}
	return p, fmt.Errorf("privacy: no noise proves ε = %v, δ = %v for %d releases: the accountant is not exact enough there; ask for a larger ε, or another δ", p.Budget.Epsilon, p.Budget.Delta, p.Steps)
}

// noiseStd solves NoiseStd = multiplier·(Δ + inflation), where the inflation is at most
// √Coordinates·2⁻³⁰ of NoiseStd, or what the grid that the span asks for brings.
func (p Plan) noiseStd(multiplier float64) (float64, error) {
	share := multiplier * p.widening(1, 0)
	std := multiplier * p.Sensitivity.Value / (1 - share) * (1 + 1e-12)
	if share <= 0.5 && noise.Grid(std, p.span()) != noise.Grid(std, 0) {
		wider := p.widening(std, p.span())
		std = multiplier * (p.Sensitivity.Value + wider) / (1 - share) * (1 + 1e-12)
		share = max(share, wider/p.Sensitivity.Value)
	}
	if share > 0.5 {
		return 0, fmt.Errorf("privacy: noise %.3g times the sensitivity on a grid of %d numbers would be lost in the grid; release fewer numbers or plan for a larger ε", multiplier, p.Coordinates)
	}
	return std, nil
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
	case p.Each != nil && len(p.Each) != p.Steps:
		return fmt.Errorf("privacy: sensitivities of %d releases in a plan of %d; give one for each", len(p.Each), p.Steps)
	case p.Records < 1:
		return fmt.Errorf("privacy: a plan for %d records; it must have at least one", p.Records)
	}
	if err := sampling.Check(p.sampler()); err != nil {
		return fmt.Errorf("privacy: %w", err)
	}
	if _, strata := p.sampler().(sampling.Stratified); strata && p.Sensitivity.Relation != KEnd {
		return fmt.Errorf("privacy: samples of each category under %v, which moves a record from one category to another; state the sensitivity of %s under k-end", p.Sensitivity.Relation, p.Sensitivity.Query)
	}
	if p.sumsOnly() && !p.Sensitivity.PerRecord {
		return fmt.Errorf("privacy: Poisson samples under %v of %s, which is not known to be a sum of one vector a record: being in the batch may move it further than being replaced; draw batches of fixed size, or plan under add-remove", p.Sensitivity.Relation, p.Sensitivity.Query)
	}
	for step, value := range p.Each {
		if !(value > 0 && value <= p.Sensitivity.Value) {
			return fmt.Errorf("privacy: release %d has sensitivity %v, the most sensitive one %v; it must be above 0 and at most that", step+1, value, p.Sensitivity.Value)
		}
	}
	return nil
}

// sumsOnly reports whether the plan's accounting holds for sums over records only:
// for another query, being in a Poisson batch may matter more than being replaced, by a
// null record too.
func (p Plan) sumsOnly() bool {
	_, poisson := p.sampler().(sampling.Poisson)
	return poisson && p.Sensitivity.Relation != AddRemove
}

// NoiseMultiplier is the noise in units of the sensitivity of the most sensitive
// release, after what the noise's grid adds to it: what accountants call σ.
func (p Plan) NoiseMultiplier() float64 {
	return p.NoiseStd / (p.Sensitivity.Value + p.Inflation())
}

// Inflation is what rounding to the noise's grid adds to the sensitivity of a release.
func (p Plan) Inflation() float64 {
	return p.widening(p.NoiseStd, p.span())
}

// widening is Inflation for any noise. Where a record is replaced in a Poisson sample of
// sums, it is accounted for as moving them by half of the sensitivity at most by being in
// the sample. Rounding adds as much to that as to the whole, so the whole gets it twice.
func (p Plan) widening(std, span float64) float64 {
	wider := noise.GridInflation(std, span, p.coordinates())
	if p.sumsOnly() && p.Sensitivity.Relation.Replaces() {
		wider *= 2
	}
	return wider
}

// span is how far a statistic may be from that of no records, or of zeros: each record
// moves it by the sensitivity at most.
func (p Plan) span() float64 { return float64(p.Records) * p.Sensitivity.Value }

func (p Plan) coordinates() int { return max(1, p.Coordinates) }

// Event describes all releases to an accountant.
func (p Plan) Event() accountant.Event {
	if p.NoiseStd == 0 {
		return accountant.NonPrivate{}
	}
	return p.event(p.NoiseMultiplier(), p.levels(p.Inflation()))
}

func (p Plan) sampler() sampling.Sampler {
	if p.Sampler == nil {
		return sampling.All{}
	}
	return p.Sampler
}

// levelRatio is how far apart the sensitivities of a plan are told from each
// other: in between they are rounded up, which costs accuracy and never
// soundness.
const levelRatio = 1.005

// levels counts releases by how much less sensitive than the most sensitive one they are:
// those of level l by a factor of levelRatioˡ at least, where rounding to a grid adds so
// much to the sensitivity of each.
func (p Plan) levels(inflation float64) map[int]int {
	if p.Each == nil {
		return map[int]int{0: p.Steps}
	}
	counts := map[int]int{}
	for _, value := range p.Each {
		counts[int(math.Log((p.Sensitivity.Value+inflation)/(value+inflation))/math.Log(levelRatio))]++
	}
	return counts
}

// event describes all releases, the most sensitive one with the given noise
// multiplier, those of other levels with as much more as they are less sensitive.
func (p Plan) event(multiplier float64, levels map[int]int) accountant.Event {
	sampled := func(multiplier float64) accountant.Event {
		return p.sampler().Event(p.Records, accountant.Gaussian{NoiseMultiplier: multiplier})
	}
	var events []accountant.Event
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		one := sampled(multiplier * math.Pow(levelRatio, float64(level)))
		if levels[level] > 1 {
			one = accountant.SelfComposed{Event: one, Count: levels[level]}
		}
		events = append(events, one)
	}
	if len(events) == 1 {
		return events[0]
	}
	return accountant.Composed{Events: events}
}

// sensitivity of a release.
func (p Plan) sensitivity(step int) float64 {
	if p.Each != nil {
		return p.Each[step]
	}
	return p.Sensitivity.Value
}

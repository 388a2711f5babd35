package privateflow

import (
	"fmt"
	"math"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/published"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/sliced"
)

// Estimator is a way to learn where the records are: what it promises, and the
// guide it makes of them.
type Estimator interface {
	plugin.Plugin
	// Config returns the settings of a preset for MNIST.
	Config(experiment.Preset) *Config
	// Plan returns the promise for n records of dimension dim, and what the
	// paper claims for the same noise.
	Plan(c *Config, n, dim int, public noise.Source) (privacy.Plan, []privacy.Claim, error)
	// Guide looks at the records through the releaser, and at nothing else of
	// them but their number and dimension.
	Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error)
}

// Checker is an estimator that asks for more of its settings than Config.Check does.
type Checker interface {
	Estimator
	Check(*Config) error
}

// Claimed is an estimator that a paper has noise of its own for (Config.Published).
type Claimed interface {
	Estimator
	// CheckClaimed checks that the settings of a new run are those that the paper claims its
	// ε for.
	CheckClaimed(*Config) error
}

// Suited is an estimator with other settings for some data sets than for MNIST.
type Suited interface {
	Estimator
	// Suit changes settings that nobody has changed yet to those for c.Dataset.
	Suit(c *Config)
}

// Reader is an estimator that says which it reads of the settings that are for some
// estimators only: batch, per_step, bins, degree, features and scale. A new run that changes
// another of these is refused.
type Reader interface {
	Estimator
	Reads() []string
}

// Informed is an estimator that reads its release beside public records.
type Informed interface {
	Estimator
	NeedsPublic() bool
}

func needsPublic(e Estimator) bool {
	i, ok := as[Informed](e)
	return ok && i.NeedsPublic()
}

// as is the estimator as one of the interfaces above, if it is one: a generator is what
// the estimator is that it follows.
func as[T Estimator](e Estimator) (T, bool) {
	if t, ok := e.(T); ok {
		return t, true
	}
	if g, ok := e.(generated); ok {
		return as[T](g.Estimator)
	}
	var none T
	return none, false
}

// Records are the private rows.
type Records struct {
	transport.Points                  // latents, [n, dim]
	Labels           []int            // [n], for Config.Classes; nil without
	Public           transport.Points // [m, dim], latents of the public half, for who is Informed; none for others
}

func init() {
	for _, e := range []Estimator{open{}, resampled{}, presampled{}, sketched{}, spherical{}, informed{}, normal{}, embedded{}, dpswgen, once21, merf, harmonicGenerator, sketchGenerator, classes{}, classesGenerator} {
		Register(e)
	}
}

func directions(c *Config, public noise.Source) flow.Directions {
	return flow.Directions{Count: c.Directions, Stack: c.Stack, Random: public}
}

// generatorDirections are about as many as a generator learns a density along before
// the first ones come again: it learns as well (docs/harmonic-sketch.md), and the
// quantile functions of fresh ones take as long as a step does.
const generatorDirections = 3456

// densityDirections are those of a guide that has quantile functions on any.
func densityDirections(c *Config, public noise.Source) flow.Directions {
	d := directions(c, public)
	if c.Learner == Generator {
		d.Rounds = (generatorDirections + d.Count - 1) / max(1, d.Count)
	}
	return d
}

// base are the settings that the flows share: the public code's, at the
// paper's size or at one that two cores finish in seconds.
func base(preset experiment.Preset) Config {
	c := Config{Dataset: "mnist", Epsilon: 10, Delta: 1e-5, Stack: true, Directions: 72, PerStep: 72, Batch: 250, Bins: 16, StepSize: 3, Learner: Particles}
	if preset == experiment.Paper {
		c.Particles, c.Steps = 10_000, 4200 // 35 epochs of 30,000/250 batches
		return c
	}
	c.Particles, c.Steps, c.OnSphere = 5000, 200, true
	return c
}

// ofAverages are the settings that flows to a release of averages share: large
// steps, as there is little noise for small ones to average away.
func ofAverages(preset experiment.Preset, directions int) Config {
	c := base(preset)
	c.Directions, c.StepSize, c.OnSphere, c.Steps = directions, 6, true, 120
	if preset == experiment.Paper {
		c.Steps = 400
	}
	return c
}

// open is the flow without privacy.
type open struct{}

func (open) Describe() plugin.Info {
	return plugin.Info{Name: "swflow", Version: "1", Source: "Liutkus et al. 2019; 000 Section 4.1",
		Summary: "sliced Wasserstein flow on the records themselves, no privacy"}
}

func (open) Config(preset experiment.Preset) *Config {
	c := base(preset)
	c.Epsilon = privacy.Epsilon(math.Inf(1))
	c.Steps = 400 // of all records: no batch has to be averaged away
	if preset == experiment.Quick {
		c.Steps = 100
	}
	return &c
}

// Check implements Checker.
func (open) Check(c *Config) error {
	if c.budget().Private() {
		return fmt.Errorf("swflow keeps no privacy, ε = %v cannot be; use dpswflow-r, dpswflow or sketch-flow, or --epsilon inf", c.Epsilon)
	}
	return nil
}

func (open) Plan(c *Config, n, dim int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	return privacy.Plan{Records: n, Steps: c.Steps, Budget: c.budget(),
		Sensitivity: privacy.Sensitivity{Relation: privacy.ReplaceOne, Query: "all records"}}, nil, nil
}

func (open) Guide(c *Config, records Records, _ *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	return flow.Slices{Target: flow.Open{Points: records.Points, Directions: directions(c, public)}}, nil
}

// resampled is DPSWflow-r.
type resampled struct{}

func (resampled) Describe() plugin.Info {
	return plugin.Info{Name: "dpswflow-r", Version: "2", Source: "003 Algorithm 1",
		Summary: "private flow: fresh directions, fresh batch and fresh noise on every row's projections at each step"}
}

func (resampled) Config(preset experiment.Preset) *Config {
	c := base(preset)
	c.SmoothParticles, c.NoisyEvaluation = true, true
	if preset == experiment.Quick {
		c.StepSize = 1 // with few steps, small ones average more noise away
	}
	return &c
}

func (resampled) Plan(c *Config, n, dim int, public noise.Source) (privacy.Plan, []privacy.Claim, error) {
	batch := c.Batch
	if batch > n {
		return privacy.Plan{}, nil, fmt.Errorf("batch is %d of %d private records; draw at most all of them", batch, n)
	}
	var paper published.Flow
	var paired published.FlowNoise
	if c.Published {
		var err error
		if paper, paired, err = publishedFor(c, n, dim); err != nil {
			return privacy.Plan{}, nil, err
		}
	}
	worst, each, err := directions(c, public).Sensitivities(dim, c.Steps, latentDiameter)
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	plan := privacy.Plan{Sensitivity: worst, Each: each, Sampler: sampling.FixedSize{Size: batch}, Records: n, Steps: c.Steps,
		Budget: c.budget(), Coordinates: batch * c.Directions}
	lemma := publishedSensitivity(c, dim, c.Delta)
	var claims []privacy.Claim
	if c.Published {
		plan.NoiseStd = paired.Multiplier * lemma
		claims = append(claims, privacy.Claim{Label: privacy.AsPublished, Accountant: "003 C.5", Epsilon: c.Epsilon,
			Note: fmt.Sprintf("on %s, for σ = %g over %d steps", paper.Data, paired.Multiplier, paper.Steps(paired.Epochs))})
	} else {
		plan, err = privacy.Calibrate(plan)
	}
	if err != nil || plan.NoiseStd == 0 {
		return plan, nil, err
	}
	event := accountant.SelfComposed{Count: c.Steps, Event: accountant.PoissonSampled{
		Rate: float64(batch) / float64(n), Event: accountant.Gaussian{NoiseMultiplier: plan.NoiseStd / lemma}}}
	for _, m := range []accountant.Moments{{}, {Cumulative: true}} {
		result, err := m.Epsilon(event, privacy.AddRemove, c.Delta)
		if err != nil {
			return plan, nil, err
		}
		claims = append(claims, privacy.Claim{Label: privacy.PapersWay, Accountant: m.Name(), Epsilon: privacy.Epsilon(result.Epsilon),
			Note: "Lemma 1's sensitivity, which can fail at every step, and Poisson batches"})
	}
	if c.Diffusion > 0 {
		claim, err := diffused(c, dim, plan, public)
		if err != nil {
			return plan, nil, err
		}
		claims = slices.Insert(claims, 0, claim) // to the other sound ones
		if claim, err = theorem3(c, func(delta float64) (float64, error) {
			result, err := accountant.Moments{}.Epsilon(event, privacy.AddRemove, delta)
			return result.Epsilon, err
		}); err != nil {
			return plan, nil, err
		}
		claims = append(claims, claim)
	}
	return plan, claims, nil
}

func (resampled) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	return flow.Slices{Target: flow.Resampled{Records: records.Points, Directions: directions(c, public), Diameter: latentDiameter, Release: release}}, nil
}

// presampled is DPSWflow.
type presampled struct{}

func (presampled) Describe() plugin.Info {
	return plugin.Info{Name: "dpswflow", Version: "1", Source: "003 Algorithm 2, C.3",
		Summary: "private flow: every row's projections on fixed directions, released once with noise"}
}

func (presampled) Config(preset experiment.Preset) *Config {
	c := base(preset)
	c.SmoothParticles, c.NoisyEvaluation = true, true
	c.Directions, c.PerStep = 32, 24 // the paper's 31 and 25, stacked
	if preset == experiment.Paper {
		c.Steps = 1500
	} else {
		c.StepSize = 1
	}
	return &c
}

func (presampled) Plan(c *Config, n, dim int, public noise.Source) (privacy.Plan, []privacy.Claim, error) {
	if err := sliced.CheckMemory(n, c.Directions); err != nil {
		return privacy.Plan{}, nil, err
	}
	if c.Published {
		if _, _, err := publishedFor(c, n, dim); err != nil {
			return privacy.Plan{}, nil, err
		}
	}
	worst, _, err := directions(c, public).Sensitivities(dim, 1, latentDiameter)
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	plan := privacy.Plan{Sensitivity: worst, Records: n, Steps: 1,
		Budget: c.budget(), Coordinates: n * c.Directions}
	// The public code spends half of δ on Lemma 1 and half on the noise.
	std := func(delta float64) float64 {
		return math.Sqrt(2*math.Log(1.25/(delta/2))) * publishedSensitivity(c, dim, delta)
	}
	classical := std(c.Delta)
	if c.Published && plan.Budget.Private() {
		plan.NoiseStd = classical / float64(c.Epsilon)
	} else if plan, err = privacy.Calibrate(plan); err != nil {
		return plan, nil, err
	}
	if plan.NoiseStd == 0 {
		return plan, nil, nil
	}
	claims := []privacy.Claim{{Label: c.theirs(), Accountant: "classical Gaussian", Epsilon: privacy.Epsilon(classical / plan.NoiseStd),
		Note: "Lemma 1's sensitivity; the formula is proved for ε ≤ 1 only"}}
	if c.Diffusion > 0 {
		claim, err := theorem3(c, func(delta float64) (float64, error) { return std(delta) / plan.NoiseStd, nil })
		if err != nil {
			return plan, nil, err
		}
		claims = append(claims, claim)
	}
	return plan, claims, nil
}

func (presampled) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	target, err := flow.NewPresampled(records.Points, directions(c, public), c.PerStep, latentDiameter, release)
	return flow.Slices{Target: target}, err
}

// sketched is the quantile-sketch flow.
type sketched struct{}

func (sketched) Describe() plugin.Info {
	return plugin.Info{Name: "sketch-flow", Version: "1", Source: "Molehill: docs/quantile-sketch.md",
		Summary: "private flow: equal-mass bin means on stacked directions, released once; the noise falls with the number of records"}
}

func (sketched) Config(preset experiment.Preset) *Config {
	c := ofAverages(preset, 720)
	c.PerStep = 144
	return &c
}

func (sketched) Plan(c *Config, n, dim int, public noise.Source) (privacy.Plan, []privacy.Claim, error) {
	d := directions(c, public)
	d.Stack = true
	u, err := d.Draw(dim, 0)
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	s, err := sliced.SketchSensitivity(u, n, c.Bins, latentDiameter)
	return once(c, n, c.Directions*c.Bins, s, err)
}

func (sketched) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	target, err := flow.NewSketched(records.Points, directions(c, public), c.Bins, c.PerStep, latentDiameter, release)
	return flow.Slices{Target: target}, err
}

// publishedSensitivity is 2·√w(N_θ, δ): Lemma 1 for unit-norm rows, at δ/2 a
// side as in the public code.
func publishedSensitivity(c *Config, dim int, delta float64) float64 {
	return latentDiameter * math.Sqrt(sliced.PublishedBound(c.Directions, dim, delta))
}

package privateflow

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/noise"
)

// Every estimator proves the ε that it is asked for, at most and nearly, in
// both presets, for independent and for stacked directions.
func TestEveryEstimatorProvesItsBudget(t *testing.T) {
	for _, e := range Estimators.All() {
		name := e.Describe().Name
		if name == "swflow" {
			continue
		}
		for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
			for _, epsilon := range []privacy.Epsilon{10, 5, 1, 0.1} {
				c := e.Config(preset)
				c.Epsilon, c.Steps = epsilon, min(c.Steps, 400)
				c.Stack = epsilon != 5
				if err := c.Check(); err != nil {
					t.Fatalf("%s %s: %v", name, preset, err)
				}
				plan, published, err := e.Plan(c, 30_000, 8, noise.Seeded(1))
				if err != nil {
					t.Fatalf("%s %s ε = %v: %v", name, preset, epsilon, err)
				}
				s, err := plan.Statement(noise.Seeded(1), published)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.Epsilon(); !(got <= epsilon && got >= 0.99*epsilon) {
					t.Errorf("%s %s: asked for ε = %v, proves %v", name, preset, epsilon, got)
				}
				if _, ok := s.Published(); ok != (strings.HasPrefix(name, "dpsw") || name == "sw-generator") {
					t.Errorf("%s: published claim: %v", name, ok)
				}
			}
		}
	}
}

func TestInfiniteEpsilonMeansNoNoise(t *testing.T) {
	for _, e := range Estimators.All() {
		c := e.Config(experiment.Quick)
		c.Epsilon, c.Steps = privacy.Epsilon(math.Inf(1)), 10
		plan, published, err := e.Plan(c, 1000, 8, noise.Seeded(1))
		if err != nil || plan.NoiseStd != 0 || len(published) != 0 {
			t.Errorf("%s: noise %v, claims %v, %v", e.Describe().Name, plan.NoiseStd, published, err)
		}
		s, err := plan.Statement(noise.Seeded(1), published)
		if err != nil || !math.IsInf(float64(s.Epsilon()), 1) {
			t.Errorf("%s claims ε = %v, %v", e.Describe().Name, s.Epsilon(), err)
		}
	}
}

// What diffusion adds to the proof is a claim of its own, the less the more
// particles follow the same releases, and never worse than what the releases prove.
func TestDiffusionIsClaimedForAllParticles(t *testing.T) {
	proved := func(lambda float64, particles int) privacy.Epsilon {
		c := resampled{}.Config(experiment.Paper)
		c.Diffusion, c.Particles, c.SmoothParticles, c.Steps = lambda, particles, false, 400
		plan, published, err := resampled{}.Plan(c, 30_000, 8, noise.Seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		s, err := plan.Statement(noise.Seeded(1), published)
		if err != nil {
			t.Fatal(err)
		}
		if claimed := strings.Contains(s.String(), "of the particles alone"); claimed != (lambda > 0) {
			t.Errorf("λ = %v: claimed %v\n%v", lambda, claimed, s)
		}
		return s.Epsilon()
	}
	none, many, few, more := proved(0, 10_000), proved(0.1, 10_000), proved(0.1, 100), proved(1, 10_000)
	if !(few < more && more < many && many < none && none <= 10 && many >= 7 && few <= 2) {
		t.Errorf("ε = %v without diffusion; %v and %v for 10,000 and 100 particles at λ = 0.1; %v at λ = 1", none, many, few, more)
	}
}

// The paper's noise: σ times 2√w, and what its public code says of it (9.89 by
// Abadi's moments at σ = 0.68 over 4,200 steps of 250 of 30,000). What can be
// proved of it is more than the claim.
func TestPublishedNoiseIsThatOfThePaper(t *testing.T) {
	c := resampled{}.Config(experiment.Paper)
	c.Published, c.Stack, c.Directions, c.Epsilon = true, false, 70, 10
	plan, published, err := resampled{}.Plan(c, 30_000, 8, noise.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.68 * 2 * 3.77; !(math.Abs(plan.NoiseStd/want-1) <= 0.005) {
		t.Errorf("noise of standard deviation %v, want σ·2√w = %v", plan.NoiseStd, want)
	}
	s, err := plan.Statement(noise.Seeded(1), published)
	if err != nil {
		t.Fatal(err)
	}
	var moments privacy.Epsilon
	for _, claim := range s.Claims {
		if claim.Accountant == "moments" {
			moments = claim.Epsilon
		}
	}
	if !(math.Abs(float64(moments)-9.89) <= 0.01) {
		t.Errorf("moments accountant: ε = %v, want 9.89", moments)
	}
	if claim, _ := s.Published(); claim.Epsilon != 10 {
		t.Errorf("the published claim is %v, want 10", claim.Epsilon)
	}
	// Each step's own σ_max and fixed-size batches: 10.07 by Rényi divergences to
	// the rounding of levels, and below the claim by the loss distribution.
	for _, claim := range s.Claims {
		if claim.Accountant == "rdp" && (!(claim.Epsilon >= 10.0 && claim.Epsilon <= 10.25)) {
			t.Errorf("by Rényi divergences: ε = %v; want a little above the claim of 10", claim.Epsilon)
		}
	}
	if !(s.Epsilon() >= 9.0 && s.Epsilon() <= 9.4) {
		t.Errorf("proved: ε = %v; want 9.2, below the claim of 10", s.Epsilon())
	}

	c = presampled{}.Config(experiment.Paper)
	c.Published, c.Stack, c.Directions, c.PerStep, c.Epsilon = true, false, 31, 25, 5
	plan, published, err = presampled{}.Plan(c, 30_000, 8, noise.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if got := published[0].Epsilon; !(math.Abs(float64(got)-5) <= 1e-9) {
		t.Errorf("DPSWflow's own formula gives ε = %v for its noise, want 5", got)
	}
	if s, err := plan.Statement(noise.Seeded(1), published); err != nil || !(s.Epsilon() >= 3 && s.Epsilon() <= 6) {
		t.Errorf("proved: ε = %v, %v", s.Epsilon(), err)
	}
}

// The paper's noise is that of the data set, and for the paper's settings alone.
func TestPublishedNoiseIsForThePapersSettings(t *testing.T) {
	mnist := func(c *Config) { c.Stack, c.Directions = false, 70 }
	faces := func(c *Config) { c.Dataset, c.Stack, c.Directions, c.Steps, c.Delta = "celeba", false, 300, 9780, 1e-6 }
	fixed := func(c *Config) { c.Stack, c.Directions, c.PerStep = false, 31, 25 }
	for _, test := range []struct {
		e       Estimator
		changes []func(*Config)
		want    string
	}{
		{resampled{}, []func(*Config){mnist}, ""},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Dataset = "fashion-mnist" }}, ""},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Epsilon, c.Steps = 5, 2400 }}, ""},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Epsilon = 5 }}, "add --set steps=2400"},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Epsilon = 1 }}, "only for inf, 10 and 5"},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Delta = 1e-6 }}, "add --set delta=1e-05,"},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Batch = 500 }}, "add --set batch=250,"},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Dataset = "glyphs" }}, `no noise for the data set "glyphs"`},
		{resampled{}, []func(*Config){mnist, func(c *Config) { c.Dataset = "celeba" }}, "directions=300, batch=250, delta=1e-06, steps=9780; add --set directions=300 --set delta=1e-06 --set steps=9780, or"},
		{resampled{}, []func(*Config){faces}, ""},
		{dpswgen, []func(*Config){faces}, ""},
		{presampled{}, []func(*Config){fixed}, ""},
		{presampled{}, []func(*Config){fixed, func(c *Config) { c.Epsilon = 7 }}, "only for inf, 10 and 5"},
		{presampled{}, []func(*Config){fixed, func(c *Config) { c.Dataset = "celeba" }}, "add --set directions=250 --set per_step=220 --set delta=1e-06"},
	} {
		c := Experiment{test.e}.Config(experiment.Paper).(*Config)
		c.Published = true
		for _, change := range test.changes {
			change(c)
		}
		err := c.Check()
		if err == nil {
			claimed, _ := as[Claimed](test.e)
			err = claimed.CheckClaimed(c)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s on %s, ε = %v: error %v, want it to say %q", test.e.Describe().Name, c.Dataset, c.Epsilon, err, test.want)
		}
	}
	// A quick run stops early, and is told the paper's steps all the same.
	c := Experiment{resampled{}}.Config(experiment.Quick).(*Config)
	c.Published = true
	mnist(c)
	if err := (resampled{}).CheckClaimed(c); err != nil {
		t.Error(err)
	}
	c.Batch = 300
	if err := (resampled{}).CheckClaimed(c); err == nil || !strings.Contains(err.Error(), "steps=4200; add --set batch=250, or") {
		t.Error(err)
	}
	if c.Batch, c.Steps = 250, 4201; (resampled{}).CheckClaimed(c) == nil {
		t.Error("more steps than the paper's have its noise")
	}
	c = resampled{}.Config(experiment.Paper)
	c.Published, c.Epsilon = true, 10
	faces(c)
	if _, _, err := (resampled{}).Plan(c, 800, 48, noise.Seeded(1)); err == nil || !strings.Contains(err.Error(), "81385 private records") {
		t.Errorf("the paper's noise for 800 records: %v", err)
	}
	c.Steps = 3 // directions of all 9,780 take a while, and the noise is that of any number
	plan, published, err := resampled{}.Plan(c, 81_385, 48, noise.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	// 2·√w at δ/2 a side, by Lemma 1: N_θ = 300, d = 48, δ = 10⁻⁶.
	z := distuv.UnitNormal.Quantile(1 - 1e-6/2)
	want := 0.59 * 2 * math.Sqrt(300./48+z/48*math.Sqrt(2*300*47./50))
	if !(math.Abs(plan.NoiseStd/want-1) <= 1e-9) || published[0].Label != "as published" || !strings.Contains(published[0].Note, "CelebA, for σ = 0.59 over 9780 steps") {
		t.Errorf("noise of %v, want %v; %+v", plan.NoiseStd, want, published[0])
	}
}

// Steps with which particles run away are refused before anything is paid, and those of
// the presets are not: a step of 2·d and more overshoots further each time.
func TestStepsThatRunAwayAreRefused(t *testing.T) {
	for _, e := range []Estimator{sketched{}, spherical{}, presampled{}, resampled{}} {
		c := e.Config(experiment.Quick)
		if err := Rehearse(e, c, 2000, 8, noise.Seeded(1)); err != nil {
			t.Errorf("%s: %v", e.Describe().Name, err)
		}
		// Few records of many numbers at a small ε get noise of a thousand latents.
		faces := e.Config(experiment.Quick)
		faces.Epsilon, faces.StepSize = 0.1, 5
		if strings.HasPrefix(e.Describe().Name, "dpswflow") {
			faces.Directions, faces.PerStep = 96, 48 // whole bases
		}
		if err := Rehearse(e, faces, 800, 48, noise.Seeded(1)); err != nil {
			t.Errorf("%s of 800 records of 48 numbers at ε = 0.1: %v", e.Describe().Name, err)
		}
		c.StepSize = 40
		if err := Rehearse(e, c, 2000, 8, noise.Seeded(1)); err == nil || !strings.Contains(err.Error(), "step_size is 40") {
			t.Errorf("%s with steps of 40: %v", e.Describe().Name, err)
		}
	}
}

// Settings with which a generator's guide is not finite are refused before anything is paid.
func TestGuidesThatAreNotFiniteAreRefused(t *testing.T) {
	dpMERF, err := experiment.Registry.Lookup("dp-merf")
	if err != nil {
		t.Fatal(err)
	}
	e := dpMERF.(Experiment).Estimator
	c := e.Config(experiment.Quick)
	if err := Rehearse(e, c, 2000, 8, noise.Seeded(1)); err != nil {
		t.Error(err)
	}
	for _, scale := range []float64{1e-38, 1e-300} {
		c.Scale = scale
		if err := Rehearse(e, c, 2000, 8, noise.Seeded(1)); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("a scale of %g: %v", scale, err)
		}
	}
}

// Theorem 3 as 003 has it: with its noise on MNIST at λ = 0.1, h = 3 δ falls from 10⁻⁵
// to 8.3·10⁻⁶ at ε = 10 (docs/diffusion.md).
func TestTheorem3IsClaimedAsPublished(t *testing.T) {
	c := resampled{}.Config(experiment.Paper)
	c.Diffusion = 0.1
	ten, err := theorem3(c, func(float64) (float64, error) { return 10, nil })
	if err != nil || !strings.Contains(ten.Note, "δ = 1e-05 falls to 8.3e-06") || ten.Sound {
		t.Errorf("%+v, %v", ten, err)
	}
	for _, e := range []Estimator{resampled{}, presampled{}} {
		name := e.Describe().Name
		last := math.Inf(1)
		for _, lambda := range []float64{0, 1e-3, 0.1, 1} {
			c := e.Config(experiment.Paper)
			c.Diffusion, c.Steps = lambda, min(c.Steps, 400)
			plan, published, err := e.Plan(c, 30_000, 8, noise.Seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			s, err := plan.Statement(noise.Seeded(1), published)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(s.Claims, func(c privacy.Claim) bool { return c.Accountant == "003 Theorem 3" })
			if (at >= 0) != (lambda > 0) {
				t.Fatalf("%s, λ = %v: Theorem 3 is claimed: %v\n%v", name, lambda, at >= 0, s)
			}
			if at < 0 {
				continue
			}
			claim, before := s.Claims[at], s.Claims[slices.IndexFunc(s.Claims, func(c privacy.Claim) bool { return !c.Sound })]
			if claim.Sound || !(claim.Epsilon <= before.Epsilon*1.0001 && float64(claim.Epsilon) <= last) {
				t.Errorf("%s, λ = %v: %+v after %+v; want it unsound, below that, and falling with λ", name, lambda, claim, before)
			}
			if lambda == 1e-3 && !(claim.Epsilon >= before.Epsilon*0.999) {
				t.Errorf("%s: next to no diffusion takes ε from %v to %v", name, before.Epsilon, claim.Epsilon)
			}
			if lambda == 1 && !(claim.Epsilon <= before.Epsilon*0.9) {
				t.Errorf("%s: with λ = 1 ε = %v is claimed, without %v", name, claim.Epsilon, before.Epsilon)
			}
			last = float64(claim.Epsilon)
		}
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"ε = 0":                func(c *Config) { c.Epsilon = 0 },
		"δ = 0":                func(c *Config) { c.Delta = 0 },
		"particles is 1":       func(c *Config) { c.Particles = 1 },
		"steps is 0":           func(c *Config) { c.Steps = 0 },
		"step_size is NaN":     func(c *Config) { c.StepSize = math.NaN() },
		"step_size is 1e+30":   func(c *Config) { c.StepSize = 1e30 },
		"and diffusion 1e+3":   func(c *Config) { c.Diffusion = 1e300 },
		"particles is 9000000": func(c *Config) { c.Particles = 9_000_000 },
		"diffusion -1":         func(c *Config) { c.Diffusion = -1 },
		"no data set is cal":   func(c *Config) { c.Dataset = "" },
	} {
		c := sketched{}.Config(experiment.Quick)
		change(c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

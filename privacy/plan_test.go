package privacy

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

func example() Plan {
	return Plan{
		Sensitivity: Sensitivity{Value: 0.5, Relation: ReplaceOne, Query: "a mean", Source: "the test"},
		Records:     1000, Steps: 1, Coordinates: 100,
		Budget: Budget{Epsilon: 2, Delta: 1e-6},
	}
}

// Where the accountant is at its limits a plan keeps to its budget all the same, or there
// is none: these came to more.
func TestPlansAtTheLimitsKeepTheirBudget(t *testing.T) {
	for _, p := range []Plan{
		{Sampler: sampling.Poisson{Rate: 1e-8}, Steps: 1000, Coordinates: 10, Sensitivity: Sensitivity{Value: 0.7, Relation: AddRemove}, Budget: Budget{Epsilon: 1e-3, Delta: 1e-15}},
		{Sampler: sampling.Poisson{Rate: 1e-9}, Steps: 1000, Coordinates: 10, Sensitivity: Sensitivity{Value: 3, Relation: AddRemove}, Budget: Budget{Epsilon: 1e-3, Delta: 1e-20}},
		{Sampler: sampling.FixedSize{Size: 500}, Steps: 1_000_000, Coordinates: 10, Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Budget: Budget{Epsilon: 1e3, Delta: 1 - 1e-9}},
	} {
		p.Records = 1000
		q, err := Calibrate(p)
		if err != nil {
			t.Logf("%v: %v", p.Sampler, err)
			continue
		}
		r, err := accountant.Tightest{}.Epsilon(q.Event(), q.Sensitivity.Relation, q.Budget.Delta)
		if err != nil || !(r.Epsilon <= p.Budget.Epsilon) {
			t.Errorf("%v: ε = %v is proved of a plan for %v (%v)", p.Sampler, r.Epsilon, p.Budget.Epsilon, err)
		}
	}
}

// Noise that is short of what proves the budget by some of its last digits is widened until it
// does; by more, it is an error.
func TestNoiseIsWidenedUntilItProvesTheBudget(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	short := p
	short.NoiseStd *= 1 - 1e-5
	if r, err := (accountant.Tightest{}).Epsilon(short.Event(), p.Sensitivity.Relation, p.Budget.Delta); err != nil || !(r.Epsilon > p.Budget.Epsilon) {
		t.Fatalf("the plan that is short proves %v, %v", r.Epsilon, err)
	}
	q, err := short.proved()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := (accountant.Tightest{}).Epsilon(q.Event(), q.Sensitivity.Relation, q.Budget.Delta); err != nil || !(r.Epsilon <= p.Budget.Epsilon && q.NoiseStd <= p.NoiseStd*(1+1e-4)) {
		t.Errorf("noise %v, of a plan with %v, proves %v (%v)", q.NoiseStd, p.NoiseStd, r.Epsilon, err)
	}
	short.NoiseStd /= 1e6
	if _, err := short.proved(); err == nil || !strings.Contains(err.Error(), "no noise proves ε = 2") {
		t.Errorf("a plan without noise to speak of is proved: %v", err)
	}
}

func TestCalibratedPlansKeepTheirBudget(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"one release":   func(*Plan) {},
		"ten releases":  func(p *Plan) { p.Steps = 10 },
		"sampled":       func(p *Plan) { p.Steps, p.Sampler = 50, sampling.FixedSize{Size: 20} },
		"tiny ε":        func(p *Plan) { p.Budget.Epsilon = 0.01 },
		"large ε":       func(p *Plan) { p.Budget.Epsilon = 50 },
		"many numbers":  func(p *Plan) { p.Coordinates = 1e9 },
		"unequal":       func(p *Plan) { p.Steps, p.Each = 3, []float64{0.5, 0.2, 0.3} },
		"sample of all": func(p *Plan) { p.Sampler = sampling.FixedSize{Size: 1000} },
	} {
		p := example()
		change(&p)
		p, err := Calibrate(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, err := p.Statement(noise.Seeded(1), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e := float64(s.Epsilon()); !(e <= p.Budget.Epsilon && e >= 0.99*p.Budget.Epsilon) {
			t.Errorf("%s: ε = %v for a budget of %v; want at most that, and not much less", name, e, p.Budget.Epsilon)
		}
		// Half the noise must not pass for the same promise.
		weak := p
		weak.NoiseStd /= 2
		if s, err := weak.Statement(noise.Seeded(1), nil); err != nil || !(float64(s.Epsilon()) >= 1.3*p.Budget.Epsilon) {
			t.Errorf("%s: half the noise is said to give ε = %v (%v), the plan's is %v", name, s.Epsilon(), err, p.Budget.Epsilon)
		}
	}
}

// With noise of its own a plan ends at the last release for which its budget is proved.
func TestPlansEndWithinTheirBudget(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"all records": func(*Plan) {},
		"fixed size":  func(p *Plan) { p.Sampler, p.NoiseStd = sampling.FixedSize{Size: 20}, 0.5 },
		"poisson":     func(p *Plan) { p.Sampler, p.Sensitivity.Relation = sampling.Poisson{Rate: 0.2}, AddRemove },
		"unequal": func(p *Plan) {
			p.Each = slices.Repeat([]float64{0.5, 0.1}, p.Steps/2)
		},
	} {
		p := example()
		p.Steps, p.NoiseStd = 10_000, 2
		change(&p)
		epsilon := func(p Plan) float64 {
			s, err := p.Statement(noise.Seeded(1), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return float64(s.Epsilon())
		}
		q, err := p.WithinBudget()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		more := q
		if more.Steps++; p.Each != nil {
			more.Each = p.Each[:more.Steps]
		}
		if !(q.Steps >= 3 && q.Steps < p.Steps && epsilon(q) <= 2 && epsilon(more) > 2) || q.NoiseStd != p.NoiseStd {
			t.Errorf("%s: %d releases with noise %v come to ε = %v, one more to %v; the budget is 2", name, q.Steps, q.NoiseStd, epsilon(q), epsilon(more))
		}
		if again, err := q.WithinBudget(); err != nil || again.Steps != q.Steps || len(again.Each) != len(q.Each) {
			t.Errorf("%s: of %d releases that fit %d are left, %v", name, q.Steps, again.Steps, err)
		}
		q.Budget.Epsilon, q.Steps, q.Each = math.Inf(1), p.Steps, p.Each
		if all, err := q.WithinBudget(); err != nil || all.Steps != p.Steps {
			t.Errorf("%s: without a budget %d releases of %d are left, %v", name, all.Steps, p.Steps, err)
		}
	}
	for want, change := range map[string]func(*Plan){
		"one step alone spends more than ε = 2 at noise of 0.2 ": func(p *Plan) { p.NoiseStd = 0.1 },
		"at noise of 0 times":  func(p *Plan) { p.NoiseStd = 0 },
		"0 releases":           func(p *Plan) { p.Steps = 0 },
		"pays for: accountant": func(p *Plan) { p.Sampler = sampling.FixedSize{Size: 20}; p.Sensitivity.Relation = AddRemove },
	} {
		p := example()
		p.NoiseStd = 2
		change(&p)
		if _, err := p.WithinBudget(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

func TestNoiseIsThatOfTheAnalyticGaussian(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	// One release: δ(ε) of Balle & Wang 2018 (Theorem 8), written down here.
	mu := 1 / p.NoiseMultiplier()
	phi := distuv.UnitNormal.CDF
	delta := phi(mu/2-2/mu) - math.Exp(2)*phi(-mu/2-2/mu)
	if !(delta <= 1e-6 && delta >= 0.999e-6) {
		t.Errorf("the noise gives δ = %v at ε = 2, want 10⁻⁶", delta)
	}
}

func TestDrawIsThePlansSampler(t *testing.T) {
	p := example()
	if rows, err := p.Releaser(noise.Seeded(1)).Draw(0); err != nil || len(rows) != p.Records {
		t.Errorf("a plan without sampler draws %d rows, %v; want all", len(rows), err)
	}
	p.Sampler = sampling.FixedSize{Size: 7}
	a, err := p.Releaser(noise.Seeded(1)).Draw(3)
	b, _ := p.Releaser(noise.Seeded(1)).Draw(3)
	if err != nil || len(a) != 7 || !slices.Equal(a, b) {
		t.Errorf("drew %v and %v, %v", a, b, err)
	}
}

// A plan whose releases differ in sensitivity is accounted for by what each is,
// not by the worst: between the plans for all-worst and all-best, and equal to
// the exact composition √Σ(Δ_t/σ)² of Gaussians, to the rounding of levels.
func TestReleasesOfDifferentSensitivity(t *testing.T) {
	p := example()
	p.Steps, p.NoiseStd = 40, 3
	rng := rand.New(rand.NewPCG(6, 6))
	var squares float64
	for range p.Steps {
		p.Each = append(p.Each, 0.2+0.3*rng.Float64())
		squares += p.Each[len(p.Each)-1] * p.Each[len(p.Each)-1] / 9
	}
	s, err := p.Statement(noise.Seeded(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := accountant.AnalyticGaussian{}.Epsilon(accountant.Gaussian{NoiseMultiplier: 1 / math.Sqrt(squares)}, ReplaceOne, p.Budget.Delta)
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(s.Epsilon()); !(got >= exact.Epsilon && got <= 1.01*exact.Epsilon) {
		t.Errorf("ε = %v, exactly %v; want at least that and at most 1 %% more", got, exact.Epsilon)
	}
	r := p.Releaser(noise.Seeded(1))
	query := p.Sensitivity
	query.Value = p.Each[5] * 1.001
	if err := r.Release([]float64{1}, query, 5); err == nil {
		t.Error("a release more sensitive than its step's was accepted")
	}
	p.Each[3] = 0.6
	if _, err := Calibrate(p); err == nil || !strings.Contains(err.Error(), "release 4") {
		t.Errorf("a release more sensitive than the worst: %v", err)
	}
	p.Each = p.Each[:5]
	if _, err := Calibrate(p); err == nil {
		t.Error("five sensitivities of forty releases were accepted")
	}
}

// A million releases of which each is as good as insensitive, but for what rounding to
// the noise's grid adds, are paid for: the budget holds for what is proved.
func TestGridOfInsensitiveReleasesIsPaidFor(t *testing.T) {
	p := example()
	p.Coordinates = 1 << 20
	p.Each = slices.Repeat([]float64{1e-12}, 1_000_000)
	p.Each[0], p.Steps = p.Sensitivity.Value, len(p.Each)
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Statement(noise.Seeded(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(s.Epsilon()); !(got <= p.Budget.Epsilon && got >= 0.999*p.Budget.Epsilon) {
		t.Errorf("calibrated for ε = %v, proved %v", p.Budget.Epsilon, got)
	}
	p.Each, p.Steps = nil, 1
	if s, err = p.Statement(noise.Seeded(1), nil); err != nil || !(float64(s.Epsilon()) <= (1-1e-6)*p.Budget.Epsilon) {
		t.Errorf("without the insensitive ones ε = %v, %v; they were to cost something", s.Epsilon(), err)
	}
}

func TestInfiniteBudgetAddsNothingAndClaimsNothing(t *testing.T) {
	p := example()
	p.Budget.Epsilon = math.Inf(1)
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	values := []float64{1, 2, 3}
	if err := p.Releaser(noise.Seeded(4)).Release(values, p.Sensitivity, 0); err != nil || !slices.Equal(values, []float64{1, 2, 3}) {
		t.Errorf("a release without privacy gave %v, %v", values, err)
	}
	s, err := p.Statement(noise.Seeded(4), nil)
	if err != nil || !math.IsInf(float64(s.Epsilon()), 1) {
		t.Errorf("it claims ε = %v, %v", s.Epsilon(), err)
	}
	if len(s.Claims) != 1 || s.Claims[0].Note != "no noise, no privacy" || s.Sensitivity.Value != 0 || s.NoiseStd != 0 || s.Research ||
		!strings.HasPrefix(s.Mechanism, "none") || !strings.HasPrefix(s.Randomness, "none") {
		t.Errorf("of a release without noise it says\n%v", s)
	}
	if _, ok := p.Event().(accountant.NonPrivate); !ok {
		t.Errorf("its event is %v", p.Event())
	}
}

func TestBadPlansAreErrors(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"ε = 0":              func(p *Plan) { p.Budget.Epsilon = 0 },
		"ε = -1":             func(p *Plan) { p.Budget.Epsilon = -1 },
		"ε = NaN":            func(p *Plan) { p.Budget.Epsilon = math.NaN() },
		"δ = 0":              func(p *Plan) { p.Budget.Delta = 0 },
		"δ = 1":              func(p *Plan) { p.Budget.Delta = 1 },
		"0 releases":         func(p *Plan) { p.Steps = 0 },
		"sensitivity 0":      func(p *Plan) { p.Sensitivity.Value = 0 },
		"sensitivity +Inf":   func(p *Plan) { p.Sensitivity.Value = math.Inf(1) },
		"2000":               func(p *Plan) { p.Sampler = sampling.FixedSize{Size: 2000} },
		"0 records":          func(p *Plan) { p.Records = 0 },
		"accountant analyti": func(p *Plan) { p.Sensitivity.Relation = Relation(99) },
	} {
		p := example()
		change(&p)
		if _, err := Calibrate(p); err == nil || (!strings.Contains(err.Error(), want) && want != "accountant analyti") {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// A plan whose noise was set by hand says that it does not prove what was asked for.
func TestABudgetThatIsExceededIsSaid(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	for factor, said := range map[float64]bool{1: false, 0.5: true} {
		weaker := p
		weaker.NoiseStd *= factor
		s, err := weaker.Statement(noise.Seeded(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(s.String(), "ε = 2, which the noise of this plan does not prove"); got != said || (s.Asked == 2) != said {
			t.Errorf("%v times the noise: said %v, %v; %v", factor, got, s.Asked, s)
		}
	}
}

// Rounding can move a sum as far again by a record's being in it at all as by the record's
// being replaced: where the others bring every coordinate next to the middle between two
// steps of the grid. Poisson samples under replace-one are accounted for as if a record
// moved a sum by half of the sensitivity at most, by being in it.
func TestPoissonSamplesPayForTheGridOnBothSides(t *testing.T) {
	const coordinates = 1 << 20
	for _, relation := range []Relation{ReplaceOne, AddRemove} {
		clip := 1. // the most that a record adds to a sum
		value := clip
		if relation == ReplaceOne {
			value = 2 * clip
		}
		p, err := Calibrate(Plan{
			Sensitivity: Sensitivity{Value: value, Relation: relation, PerRecord: true}, Sampler: sampling.Poisson{Rate: 0.01},
			Records: 2_000_000_000, Steps: 1, Budget: Budget{Epsilon: 1, Delta: 1e-5}, Coordinates: coordinates,
		})
		if err != nil {
			t.Fatal(err)
		}
		g, each := noise.Grid(p.NoiseStd, p.span()), clip/math.Sqrt(coordinates)
		// The part of a step that a record adds is next to nothing: the others leave as little to a half.
		part := each/g - math.Floor(each/g)
		others := (0.5 - min(part, 1-part)/2) * g
		if part > 0.5 {
			others = -others
		}
		var moved float64
		for _, sign := range []float64{1, -1} {
			step := (math.Round((others+sign*each)/g) - math.Round(others/g)) * g
			moved = max(moved, math.Abs(step)*math.Sqrt(coordinates))
		}
		covered := p.NoiseStd / p.NoiseMultiplier() // the sensitivity that is accounted for
		if relation == ReplaceOne {
			covered /= 2
		}
		if !(moved > clip*(1+1e-9)) {
			t.Errorf("%v: rounding moves a record's %v to %v: no attack", relation, clip, moved)
		}
		if !(moved <= covered) {
			t.Errorf("%v: a record moves the rounded sum by %.9g, and %.9g is accounted for", relation, moved, covered)
		}
	}
}

// An ε or δ that has lost digits is refused: the one is printed as another, and of the other
// math.Log is wrong on some processors.
func TestDeltaThatHasLostDigits(t *testing.T) {
	if err := (Budget{Epsilon: 1e-310, Delta: 0.1}).Check(); err == nil || !strings.Contains(err.Error(), "lost digits") {
		t.Errorf("ε = 1e-310: %v", err)
	}
	if err := (Budget{Epsilon: 1, Delta: 1e-310}).Check(); err == nil || !strings.Contains(err.Error(), "lost digits") {
		t.Error(err)
	}
	if err := (Budget{Epsilon: 1, Delta: 0x1p-1022}).Check(); err != nil {
		t.Error(err)
	}
}

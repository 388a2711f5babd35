package privacy

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
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

// A release of zeros is noise alone: its distribution is N(0, NoiseStd²), by a
// Kolmogorov–Smirnov test at 100,000 values (false alarm 10⁻⁶ at D√n > 2.7)
// that noise of two thirds or three halves of the scale must fail.
func TestReleaseOfZerosIsThePlannedNoise(t *testing.T) {
	p := example()
	p.Coordinates = 100_000
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, p.Coordinates)
	if err := p.Releaser(noise.Seeded(2)).Release(values, p.Sensitivity, 0); err != nil {
		t.Fatal(err)
	}
	slices.Sort(values)
	statistic := func(std float64) float64 {
		var d float64
		n := float64(len(values))
		for i, v := range values {
			u := distuv.Normal{Sigma: std}.CDF(v)
			d = max(d, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
		}
		return d * math.Sqrt(n)
	}
	if s := statistic(p.NoiseStd); !(s <= 2.7) {
		t.Errorf("KS statistic %v against the planned noise", s)
	}
	for _, factor := range []float64{2. / 3, 3. / 2} {
		if s := statistic(factor * p.NoiseStd); !(s >= 2.7) {
			t.Errorf("KS statistic %v against %v times the planned noise: the test has no power", s, factor)
		}
	}
}

func TestReleaserRefusesWhatThePlanDoesNotCover(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releaser(noise.Seeded(3))
	larger, other := p.Sensitivity, p.Sensitivity
	larger.Value *= 1.001
	other.Relation = AddRemove
	nan, negative := p.Sensitivity, p.Sensitivity
	nan.Value, negative.Value = math.NaN(), -1
	for want, refuse := range map[string]func(values []float64) error{
		"budget is spent":  func(v []float64) error { return r.Release(v, p.Sensitivity, 1) },
		"release 0":        func(v []float64) error { return r.Release(v, p.Sensitivity, -1) },
		"most sensitive":   func(v []float64) error { return r.Release(v, larger, 0) },
		"sensitivity NaN":  func(v []float64) error { return r.Release(v, nan, 0) },
		"sensitivity -1":   func(v []float64) error { return r.Release(v, negative, 0) },
		"one relation":     func(v []float64) error { return r.Release(v, other, 0) },
		"largest release":  func(v []float64) error { return r.Release(append(v, make([]float64, 200)...), p.Sensitivity, 0) },
		"complete it with": func(v []float64) error { return example().Releaser(noise.Seeded(3)).Release(v, p.Sensitivity, 0) },
	} {
		values := []float64{1, 2, 3}
		if err := refuse(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
		if !slices.Equal(values, []float64{1, 2, 3}) {
			t.Errorf("%s: the refused values were changed to %v", want, values)
		}
	}
}

func TestReleaserMakesEachReleaseOnce(t *testing.T) {
	p := example()
	p.Steps = 3
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releaser(noise.Seeded(5))
	first, again, other := []float64{1, 2, 3}, []float64{1, 2, 3}, []float64{1, 2, 4}
	if err := r.Release(first, p.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(again, p.Sensitivity, 1); err != nil || !slices.Equal(first, again) {
		t.Errorf("the same release again: %v and %v, %v", first, again, err)
	}
	if err := r.Release(other, p.Sensitivity, 1); err == nil || !strings.Contains(err.Error(), "other values") || other[2] != 4 {
		t.Errorf("other values under the same noise: %v, %v", other, err)
	}
	// Another plan under the same key has noise of its own: the difference of
	// their releases of the same values does not cancel.
	q := p
	q.NoiseStd *= 1.001
	second := []float64{1, 2, 3}
	if err := q.Releaser(noise.Seeded(5)).Release(second, q.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	for i := range second {
		if !(math.Abs(second[i]-first[i]) >= 0.01*p.NoiseStd) {
			t.Errorf("two plans under one key released %v and %v", first[i], second[i])
		}
	}
}

// What is expected changes no answer: not the release's, nor that of another step, of
// fewer numbers, of a step that does not exist, or of a second time.
func TestExpectedReleasesAreTheSame(t *testing.T) {
	plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}, Coordinates: 500})
	if err != nil {
		t.Fatal(err)
	}
	release := func(r *Releaser, step, numbers int) []float64 {
		values := make([]float64, numbers)
		if err := r.Release(values, plan.Sensitivity, step); err != nil {
			t.Fatal(err)
		}
		return values
	}
	plainly := plan.Releaser(noise.Seeded(1))
	all, few, next := release(plainly, 0, 500), release(plainly, 2, 7), release(plainly, 1, 500)
	r := plan.Releaser(noise.Seeded(1))
	for _, step := range []int{-1, 3, 0} {
		r.Expect(step, 500)
	}
	r.Expect(1, 501)
	for range 2 {
		if !slices.Equal(release(r, 0, 500), all) {
			t.Error("an expected release is another one")
		}
	}
	r.Expect(2, 500)
	if !slices.Equal(release(r, 1, 500), next) || !slices.Equal(release(r, 2, 7), few) {
		t.Error("an expected release changes others")
	}
	open := Plan{Sensitivity: plan.Sensitivity, Records: 100, Steps: 1, Budget: Budget{Epsilon: math.Inf(1)}, Coordinates: 500}.Releaser(noise.Seeded(1))
	open.Expect(0, 500)
	if slices.Max(release(open, 0, 500)) != 0 {
		t.Error("a plan without noise has it once it is expected")
	}
}

// A release that is begun is the release, with its noise from the start; whether it may be
// is settled later, and by one answer. What was refused has kept and changed nothing.
func TestBegunReleasesAreSettled(t *testing.T) {
	plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}, Coordinates: 50})
	if err != nil {
		t.Fatal(err)
	}
	values := func(v float64) []float64 { return slices.Repeat([]float64{v}, 50) }
	want := values(0.25)
	if err := plan.Releaser(noise.Seeded(1)).Release(want, plan.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	var kept [][]float64
	var announced atomic.Int32
	r := plan.Releaser(noise.Seeded(1))
	r.Keep(func(_ int, released []float64) error { kept = append(kept, slices.Clone(released)); return nil })
	hold, said := make(chan struct{}), errors.New("that was another process's")
	r.Remember(func(name string, _ [32]byte) error {
		announced.Add(1)
		<-hold
		if strings.HasSuffix(name, " 2") {
			return said
		}
		return nil
	})
	begin := func(v float64, step int) ([]float64, func() error) {
		t.Helper()
		dst := make([]float64, 50)
		settle, err := r.Begin(dst, values(v), plan.Sensitivity, step)
		if err != nil {
			t.Fatal(err)
		}
		return dst, settle
	}
	first, settle := begin(0.25, 1)
	if !slices.Equal(first, want) || len(kept) != 0 {
		t.Error("a release that is begun is another one, or kept before it is settled")
	}
	other, refuse := begin(0.5, 2)
	close(hold)
	for range 2 {
		if err := settle(); err != nil {
			t.Error(err)
		}
		if err := refuse(); !errors.Is(err, said) {
			t.Errorf("%v; want %v", err, said)
		}
	}
	if len(kept) != 1 || !slices.Equal(kept[0], want) || announced.Load() != 2 || slices.Equal(other, values(0.5)) {
		t.Errorf("%d releases kept of %d announced", len(kept), announced.Load())
	}
	if _, again := begin(0.75, 1); again() == nil {
		t.Error("a step was released of other values")
	}
	in := values(0.75)
	if err := r.Release(in, plan.Sensitivity, 1); err == nil || !slices.Equal(in, values(0.75)) {
		t.Errorf("%v, and values are %v", err, in[:3])
	}
	if _, err := r.Begin(in, in, plan.Sensitivity, 0); err == nil || !strings.Contains(err.Error(), "place of its own") {
		t.Errorf("%v; values are hashed while they are released into themselves", err)
	}
	if _, err := r.Begin(in[:3], in, plan.Sensitivity, 0); err == nil {
		t.Error("50 numbers went into 3 places")
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

func TestWhatWasReleasedIsReplayed(t *testing.T) {
	for _, epsilon := range []float64{1, math.Inf(1)} {
		plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne, Query: "numbers"}, Records: 10, Steps: 2,
			Budget: Budget{Epsilon: epsilon, Delta: 1e-5}, Coordinates: 3})
		if err != nil {
			t.Fatal(err)
		}
		kept := make([][]float64, plan.Steps)
		r := plan.Releaser(noise.Seeded(1))
		r.Keep(func(step int, released []float64) error { kept[step] = slices.Clone(released); return nil })
		for step := range plan.Steps {
			values := []float64{1, 2, float64(step)}
			if err := r.Release(values, plan.Sensitivity, step); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(values, kept[step]) {
				t.Errorf("kept %v of the release %v", kept[step], values)
			}
		}
		replay, err := plan.Replay(kept...)
		if err != nil {
			t.Fatal(err)
		}
		for step := range plan.Steps {
			values := make([]float64, 3)
			if err := replay.Release(values, plan.Sensitivity, step); err != nil || !slices.Equal(values, kept[step]) {
				t.Errorf("ε = %v, step %d: replayed %v, %v, want %v", epsilon, step, values, err, kept[step])
			}
		}
		for step, values := range [][]float64{0: {1, 2}, 2: {1, 2, 3}} {
			if values != nil && replay.Release(values, plan.Sensitivity, step) == nil {
				t.Errorf("release %d of %d numbers was replayed", step, len(values))
			}
		}
		if _, err := plan.Replay(kept[0]); err == nil {
			t.Error("one of two releases was taken for all")
		}
		plan.Sampler = sampling.FixedSize{Size: 5}
		if _, err := plan.Replay(kept...); err == nil || !strings.Contains(err.Error(), "samples") {
			t.Errorf("a replay of samples: %v", err)
		}
		r = plan.Releaser(noise.Seeded(1))
		full := errors.New("the disk is full")
		r.Keep(func(int, []float64) error { return full })
		if err := r.Release(make([]float64, 3), plan.Sensitivity, 0); !errors.Is(err, full) {
			t.Errorf("a release that could not be kept: %v", err)
		}
	}
}

// A second releaser of a plan and a secret key has the noise of the first: the difference of
// what both released would be exact. It answers the same, and nothing else.
func TestOneKeyReleasesOnceForAllReleasers(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	secret, err := noise.Secure()
	if err != nil {
		t.Fatal(err)
	}
	first, again := []float64{3, 5}, []float64{3, 5}
	if err := p.Releaser(secret).Release(first, p.Sensitivity, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.Releaser(secret).Release(again, p.Sensitivity, 0); err != nil || !slices.Equal(again, first) {
		t.Errorf("the same again: %v, %v; want %v", again, err, first)
	}
	if err := p.Releaser(noise.Keyed(secret.Key(), false)).Release([]float64{4, 5}, p.Sensitivity, 0); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("other values: %v", err)
	}
	other, err := noise.Secure()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Releaser(other).Release([]float64{4, 5}, p.Sensitivity, 0); err != nil {
		t.Errorf("under another key: %v", err)
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

// Each release is announced before it gets its noise, by a name of its own, and what is
// refused then is not released.
func TestReleasesAreAnnounced(t *testing.T) {
	plan, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	plan.Steps = 3
	names := map[string][32]byte{}
	refuse := errors.New("not that")
	announced := func(name string, digest [32]byte) error {
		if before, known := names[name]; known && before != digest {
			return refuse
		}
		names[name] = digest
		return nil
	}
	release := func(value float64, step int) ([]float64, error) {
		r := plan.Releaser(noise.Seeded(1)) // each as of a process of its own
		r.Remember(announced)
		values := []float64{value}
		return values, r.Release(values, plan.Sensitivity, step)
	}
	first, err := release(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := release(1, 0); err != nil || again[0] != first[0] {
		t.Errorf("%v, %v; the same again is %v", again, err, first)
	}
	if _, err := release(2, 1); err != nil || len(names) != 2 {
		t.Errorf("%d names of two releases, %v", len(names), err)
	}
	grid := noise.Grid(plan.NoiseStd, 0)
	if values, err := release(1+grid, 0); !errors.Is(err, refuse) || values[0] != 1+grid {
		t.Errorf("%v, %v; want the values as they were, refused", values, err)
	}
	if again, err := release(1+grid/1024, 0); err != nil || again[0] != first[0] {
		t.Errorf("%v, %v; what the grid does not tell apart is released as %v was", again, err, first)
	}
}

// Two plans that sample under one key would look at the same rows, which no accountant
// expects: the second is refused, also by a process that comes later. One that looks at all
// rows, and the same plan again, may.
func TestOneKeySamplesForOnePlan(t *testing.T) {
	samples := func(batch int) Plan {
		p, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Sampler: sampling.FixedSize{Size: batch}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][32]byte{}
	draw := func(p Plan) ([]int, error) {
		r := p.Releaser(noise.Seeded(1)) // each as of a process of its own
		r.Remember(func(name string, digest [32]byte) error {
			if before, known := names[name]; known && before != digest {
				return errors.New("known otherwise")
			}
			names[name] = digest
			return nil
		})
		if _, err := r.Draw(0); err != nil {
			return nil, err
		}
		return r.Draw(1)
	}
	first, err := draw(samples(10))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := draw(samples(10)); err != nil || !slices.Equal(again, first) {
		t.Errorf("%v, %v; the same plan again draws %v", again, err, first)
	}
	if rows, err := draw(all); err != nil || len(rows) != 100 {
		t.Errorf("%d rows, %v; a plan of all rows samples nothing", len(rows), err)
	}
	if rows, err := draw(samples(20)); err == nil || rows != nil || !strings.Contains(err.Error(), "a key of its own") {
		t.Errorf("%v, %v; another plan draws the same rows", rows, err)
	}
}

// Counts of many records are more than a million times a small noise: the grid becomes
// coarser, which the plan accounts for, and none is cut.
func TestReleasesOfMillionsOfRecordsAreWhole(t *testing.T) {
	for _, records := range []int{1000, 3_000_000, 2_000_000_000} {
		plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: math.Sqrt2, Relation: ReplaceOne}, Records: records, Steps: 1, Budget: Budget{Epsilon: 10, Delta: 1e-11}, Coordinates: 1000})
		if err != nil {
			t.Fatal(err)
		}
		count := float64(records)
		values := []float64{count, 0}
		if err := plan.Releaser(noise.Seeded(1)).Release(values, plan.Sensitivity, 0); err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(values[0]-count) <= 8*plan.NoiseStd && math.Abs(values[1]) <= 8*plan.NoiseStd) {
			t.Errorf("%d records and none are released as %v, with noise of %v", records, values, plan.NoiseStd)
		}
		if inflation := plan.Inflation(); !(inflation >= noise.GridInflation(plan.NoiseStd, count, 1000)) {
			t.Errorf("%d records: rounding is planned to add %v", records, inflation)
		}
		s, err := plan.Statement(noise.Seeded(1), nil)
		if err != nil || !(float64(s.Epsilon()) <= 10*(1+1e-9)) {
			t.Errorf("%d records: ε = %v, %v", records, s.Epsilon(), err)
		}
		if coarse := strings.Contains(s.String(), "so coarse"); coarse != (records > 1_000_000) {
			t.Errorf("%d records: the statement tells of a coarse grid: %v", records, coarse)
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

// A δ that has lost digits is refused: math.Log is wrong there on some processors.
func TestDeltaThatHasLostDigits(t *testing.T) {
	if err := (Budget{Epsilon: 1, Delta: 1e-310}).Check(); err == nil || !strings.Contains(err.Error(), "lost digits") {
		t.Error(err)
	}
	if err := (Budget{Epsilon: 1, Delta: 0x1p-1022}).Check(); err != nil {
		t.Error(err)
	}
}

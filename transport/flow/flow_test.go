package flow

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

func gaussian(rng *rand.Rand, n, dim int, shift float32) transport.Points {
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = shift + float32(rng.NormFloat64())
	}
	return p
}

// The drift is held against Eqs. 20 and 21 of 003 written down as they are
// printed, one particle and one direction at a time, in each of its modes.
func TestDriftIsEquations20And21(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	const n, m, dim, count = 60, 35, 3, 80 // more directions than one block holds
	x, y := gaussian(rng, n, dim, 0), gaussian(rng, m, dim, 1)
	u := sliced.Uniform(dim, count, rng)
	rows, err := sliced.Project(y, u)
	if err != nil {
		t.Fatal(err)
	}
	quantiles := sampleQuantiles(rows)
	for name, f := range map[string]Flow{
		"exact":                {StepSize: 1},
		"smoothed, clean at z": {StepSize: 1, Smoothing: 0.7, CleanEvaluation: true},
		"smoothed":             {StepSize: 1, Smoothing: 0.7},
	} {
		f.Random = noise.Seeded(7)
		drift, err := f.Drift(x, u, quantiles, 5)
		if err != nil {
			t.Fatal(err)
		}
		// The noise that Drift uses, block by block.
		z := make([]float32, 0, n*count)
		for from := 0; from < count; from += directionsAtOnce {
			block := make([]float32, n*(min(from+directionsAtOnce, count)-from))
			if f.Smoothing > 0 {
				f.Random.Normal(block, f.Smoothing, "smoothing from "+map[int]string{0: "0", directionsAtOnce: "72"}[from], 5)
			}
			z = append(z, block...)
		}
		want := make([]float64, n*dim)
		for j := range count {
			theta := u.Row(j)
			clean, smooth := make([]float32, n), make([]float32, n)
			sliced.ProjectOn(clean, x, theta)
			for i := range clean {
				smooth[i] = clean[i] + z[j*n+i]
			}
			mu := slices.Clone(smooth) // P_θ#μ̂ * ξ_σ, as a sample
			slices.Sort(mu)
			for i := range n {
				at := clean[i]
				if !f.CleanEvaluation {
					at = smooth[i]
				}
				level := []float64{0}
				transport.CDFs(level, mu, []float32{at})
				potential := float64(at) - float64(quantiles[j].At(level[0])) // ψ′(z) = z − F_ν⁻¹(F_μ(z))
				for c := range dim {
					want[i*dim+c] -= potential * float64(theta[c]) / count
				}
			}
		}
		for i := range want {
			if !(math.Abs(float64(drift[i])-want[i]) <= 1e-4) {
				t.Fatalf("%s: drift[%d] = %v, Eq. 20 gives %v", name, i, drift[i], want[i])
			}
		}
	}
}

func TestDriftOfATranslation(t *testing.T) {
	// Known answer: towards its own translate by v every particle is pulled by
	// (1/N) Σ ⟨v, θ⟩θ, which over orthonormal bases is v/d.
	rng := rand.New(rand.NewPCG(2, 4))
	const dim = 4
	x := gaussian(rng, 200, dim, 0)
	y := x.Clone()
	v := []float32{1, -2, 0, 3}
	for i := range y.Len() {
		for c := range v {
			y.Row(i)[c] += v[c]
		}
	}
	target := Open{Points: y, Directions: Directions{Count: 5 * dim, Stack: true, Random: noise.Seeded(1)}}
	u, q, err := target.At(0)
	if err != nil {
		t.Fatal(err)
	}
	drift, err := Flow{StepSize: 1}.Drift(x, u, q, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range drift {
		if want := v[i%dim] / dim; !(math.Abs(float64(got-want)) <= 1e-4) {
			t.Fatalf("drift[%d] = %v, want v/d = %v", i, got, want)
		}
	}
}

func TestFlowReachesItsTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, dim = 500, 3
	y := gaussian(rng, 400, dim, 4)
	target := Open{Points: y, Directions: Directions{Count: 30, Stack: true, Random: noise.Seeded(2)}}
	f := Flow{StepSize: dim, Random: noise.Seeded(3)}
	x := f.Start(n, dim)
	eval := sliced.Orthonormal(dim, 50, rng)
	before, _ := sliced.SW2(x, y, eval)
	for step := range 60 {
		if err := f.Step(x, Slices{target}, step); err != nil {
			t.Fatal(err)
		}
	}
	after, err := sliced.SW2(x, y, eval)
	if err != nil {
		t.Fatal(err)
	}
	if !(after.Value <= before.Value/50) {
		t.Errorf("SW₂ went from %.4f to %.4f; a flow without noise should come 50 times nearer", before.Value, after.Value)
	}
}

// Diffusion that counts as privacy comes from the secret source alone: the public
// one does not tell it. It has the same variance.
func TestSecretDiffusion(t *testing.T) {
	const n, dim, h, lambda = 20_000, 2, 0.5, 0.1
	move := func(random, secret uint64) []float32 {
		source := noise.Seeded(secret)
		f := Flow{StepSize: h, Diffusion: lambda, Random: noise.Seeded(random), Secret: &source}
		x := transport.NewPoints(n, dim)
		if err := f.Step(x, Rest{}, 3); err != nil {
			t.Fatal(err)
		}
		return x.Data
	}
	moved := move(1, 2)
	if !slices.Equal(moved, move(7, 2)) {
		t.Error("the public source took part in it")
	}
	if slices.Equal(moved, move(1, 3)) {
		t.Error("the secret source took no part in it")
	}
	var squares float64
	for _, v := range moved {
		squares += float64(v) * float64(v)
	}
	// 40,000 squares have a relative standard error of √(2/40,000) = 0.7 %; a
	// false alarm at 5 of them is one in 10⁶, and a factor of 1.1 is seen.
	if variance := squares / (n * dim); !(math.Abs(variance/(2*lambda*h)-1) <= 0.036) {
		t.Errorf("variance %v, want 2λh = %v", variance, 2*lambda*h)
	}
}

// Each step with secret noise is told of before it has any, by what it moves and from
// where, and who is told may stop it.
func TestSecretDiffusionIsToldOf(t *testing.T) {
	secret := noise.Seeded(2)
	told := map[string][32]byte{}
	f := Flow{StepSize: 0.5, Diffusion: 0.1, Random: noise.Seeded(1), Secret: &secret, Once: func(name string, digest [32]byte) error {
		if before, again := told[name]; again && before != digest {
			return errors.New("from elsewhere")
		}
		told[name] = digest
		return nil
	}}
	start := transport.NewPoints(10, 2)
	for step := range 3 {
		for range 2 { // again from where it was
			if err := f.Step(start.Clone(), Rest{}, step); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(told) != 3 {
		t.Errorf("told of %d steps, want 3", len(told))
	}
	elsewhere := start.Clone()
	elsewhere.Data[7] = 1
	before := elsewhere.Clone()
	if err := f.Step(elsewhere, Rest{}, 1); err == nil || !slices.Equal(elsewhere.Data, before.Data) {
		t.Errorf("the noise of a step came upon other particles: %v", err)
	}
}

func TestDiffusionHasItsVariance(t *testing.T) {
	// A target that pulls nowhere (the particles themselves): what moves them is
	// √(2λh)·Z alone. 6,000 coordinates: the sample standard deviation is within
	// 5 % with a false alarm below 10⁻⁷.
	const n, dim, h, lambda = 2000, 3, 2.0, 0.3
	f := Flow{StepSize: h, Diffusion: lambda, Random: noise.Seeded(4)}
	x := f.Start(n, dim)
	before := x.Clone()
	target := Open{Points: before, Directions: Directions{Count: dim, Stack: true, Random: noise.Seeded(5)}}
	if err := f.Step(x, Slices{target}, 0); err != nil {
		t.Fatal(err)
	}
	var squares float64
	for i := range x.Data {
		d := float64(x.Data[i] - before.Data[i])
		squares += d * d
	}
	if got, want := math.Sqrt(squares/float64(len(x.Data))), math.Sqrt(2*lambda*h); !(math.Abs(got/want-1) <= 0.05) {
		t.Errorf("a step of pure diffusion has standard deviation %v, want %v", got, want)
	}
}

func TestFlowDoesNotDependOnCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	y := gaussian(rng, 300, 8, 1)
	run := func(clean bool) []float32 {
		f := Flow{StepSize: 3, Diffusion: 0.01, Smoothing: 1, CleanEvaluation: clean, Random: noise.Seeded(6)}
		target := Open{Points: y, Directions: Directions{Count: 80, Stack: true, Random: noise.Seeded(7)}}
		x := f.Start(2500, 8)
		for step := range 3 {
			if err := f.Step(x, Slices{target}, step); err != nil {
				t.Fatal(err)
			}
		}
		return x.Data
	}
	for _, clean := range []bool{false, true} {
		many := run(clean)
		cores := runtime.GOMAXPROCS(1)
		one := run(clean)
		runtime.GOMAXPROCS(cores)
		if !slices.Equal(one, many) {
			t.Errorf("one core and all cores move the particles differently; clean evaluation: %v", clean)
		}
	}
}

func TestFlowRefusesBadNumbers(t *testing.T) {
	for want, f := range map[string]Flow{
		"step size h is 0":     {},
		"step size h is NaN":   {StepSize: math.NaN()},
		"diffusion λ is -1":    {StepSize: 1, Diffusion: -1},
		"smoothing σ is +Inf":  {StepSize: 1, Smoothing: math.Inf(1)},
		"step size h is -0.01": {StepSize: -0.01},
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want it to say %q", f, err, want)
		}
	}
	if err := (Flow{StepSize: 1}).Check(); err != nil {
		t.Error(err)
	}
}

// What cannot move a particle is an error, and no drift of NaN.
func TestDriftRefusesWhatHasNoSense(t *testing.T) {
	x := (Flow{StepSize: 1, Random: noise.Seeded(1)}).Start(5, 2)
	whole := sliced.Directions{Dim: 2, Count: 1, Data: []float32{1, 0}}
	good := transport.SampleQuantile([]float32{0, 1, 2})
	if _, err := (Flow{StepSize: 1}).Drift(x, whole, []transport.Quantile{good}, 0); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]struct {
		u sliced.Directions
		q []transport.Quantile
	}{
		"no directions":             {sliced.Directions{Dim: 2}, nil},
		"3 numbers are not":         {sliced.Directions{Dim: 2, Count: 1, Data: make([]float32, 3)}, []transport.Quantile{good}},
		"has norm 0":                {sliced.Directions{Dim: 2, Count: 1, Data: make([]float32, 2)}, []transport.Quantile{good}},
		"steps of 0 between":        {whole, []transport.Quantile{{Values: []float32{0, 1}}}},
		"no points has no quantile": {whole, []transport.Quantile{{}}},
	} {
		if _, err := (Flow{StepSize: 1}).Drift(x, c.u, c.q, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// BenchmarkDrift times the Gaussian-smoothed drift of 003 at the size of its
// experiments.
func BenchmarkDrift(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 4))
	y := gaussian(rng, 250, 8, 0)
	target := Open{Points: y, Directions: Directions{Count: 72, Stack: true, Random: noise.Seeded(1)}}
	u, q, err := target.At(0)
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]Flow{
		"smoothed-clean": {StepSize: 3, Smoothing: 5.1, CleanEvaluation: true},
		"smoothed":       {StepSize: 3, Smoothing: 5.1},
		"exact":          {StepSize: 3},
	} {
		f.Random = noise.Seeded(2)
		x := f.Start(10_000, 8)
		b.Run(name, func(b *testing.B) {
			for step := 0; b.Loop(); step++ {
				if _, err := f.Drift(x, u, q, step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// kept gives the same velocities at every step, which are its own.
type kept []float32

func (k kept) Drift(Flow, transport.Points, int) ([]float32, error) { return k, nil }

func TestGuidesKeepWhatTheyGive(t *testing.T) {
	f := Flow{StepSize: 1, Diffusion: 1, Random: noise.Seeded(1)}
	x := f.Start(3, 2)
	k := kept{1, 1, 1, 1, 1, 1}
	if err := f.Step(x, k, 0); err != nil || !slices.Equal(k, kept{1, 1, 1, 1, 1, 1}) {
		t.Error(k, err)
	}
	secret := noise.Seeded(2)
	for _, f := range []Flow{{StepSize: 1}, {StepSize: 1, Diffusion: 1, Random: noise.Seeded(1), Secret: &secret}} {
		if err := f.Step(x, kept{1, 1}, 0); err == nil || !strings.Contains(err.Error(), "each of them needs its own") {
			t.Error(err)
		}
	}
}

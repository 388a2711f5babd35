package semidebiased

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/transport"
)

// scaled draws samples of n and m rows of N(0, 1), the generated ones times a
// parameter θ = 1, of which Pull is the derivative.
func scaled(n, m, dim int) func(int) (Sample, error) {
	rng := rand.New(rand.NewPCG(7, 0))
	normal := func(rows int) Batch {
		b := Batch{transport.NewPoints(rows, dim), make([]int, rows)}
		for i := range b.Data {
			b.Data[i] = float32(rng.NormFloat64())
		}
		return b
	}
	return func(int) (Sample, error) {
		z := normal(2 * n)
		return Sample{X: z, Real: normal(m), Pull: func(byX []float32) ([]float64, error) {
			if len(byX) != len(z.Data) {
				return nil, fmt.Errorf("a gradient of %d numbers for %d", len(byX), len(z.Data))
			}
			var sum float64
			for i, v := range byX {
				sum += float64(v) * float64(z.Data[i])
			}
			return []float64{sum}, nil
		}}, nil
	}
}

// quick is the backend that has graphs ready at once.
func quick(t *testing.T) *backend.Backend {
	t.Helper()
	found := backend.Found()
	b, err := found[len(found)-1].Open() // Go
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func squares(entropy float64) Loss {
	return Loss{Classes: 1, Entropy: entropy, Iterations: 500, Tolerance: 1e-4}
}

// With one row on each side there is one plan, and the loss is 2‖θz−y‖² less
// ‖θz−θz′‖², or nothing for p < 1: at θ = 1 the derivatives are 4(‖z‖² − ⟨y, z⟩)
// and that less 2‖z−z′‖². The first has mean 4d, the second 0, both variance 48d,
// and their difference variance 32d.
func TestMomentsOfOneRowAreKnown(t *testing.T) {
	const dim, samples = 3, 600
	got, err := squares(1).BiasAndVariance(quick(t), []float64{0, 0.4, 1}, samples, scaled(1, 1, dim))
	if err != nil {
		t.Fatal(err)
	}
	// Each mean is off by 5 standard errors once in 10⁶ times. The variances' standard
	// error is √((7−1)/600) = 10 %, with a kurtosis of 7 at most by simulation; they
	// may be off by 5 of them, too.
	chance := math.Sqrt(32. * dim / samples)
	for k, m := range got {
		truth, bias, expected := 4.*dim, 4.*dim, chance
		if m.Debiasing == 1 {
			truth, bias, expected = 0, 0, 0
		}
		if e := math.Sqrt(48. * dim / samples); !(math.Abs(m.Mean[0]-truth) <= 5*e) {
			t.Errorf("p = %v: mean %v, want %v ± %v", m.Debiasing, m.Mean[0], truth, e)
		}
		if !(math.Abs(m.Bias-bias) <= 5*expected) {
			t.Errorf("p = %v: bias %v, want %v ± %v", m.Debiasing, m.Bias, bias, expected)
		}
		if !(math.Abs(m.Chance-expected) <= 0.3*expected) {
			t.Errorf("p = %v: bias by chance %v, want about %v", m.Debiasing, m.Chance, expected)
		}
		if !(math.Abs(m.Variance/(48*dim)-1) <= 0.5) {
			t.Errorf("p = %v: variance %v, want about %v", m.Debiasing, m.Variance, 48*dim)
		}
		if relative := m.Variance / got[2].Variance; !(math.Abs(m.Relative-relative) <= 1e-12) {
			t.Errorf("p = %v: relative variance %v, want %v", m.Debiasing, m.Relative, relative)
		}
		if k == 1 && m.Mean[0] != got[0].Mean[0] {
			t.Error("of one row, p = 0.4 debiases none, and is not as p = 0")
		}
	}
}

// Equal laws have gradient 0 in the mean of G_1, by symmetry, whatever the blur and
// the sizes of equal batches; less of p shrinks the generator (001, Section 5.2),
// the more, the less p is.
func TestLessDebiasingShrinks(t *testing.T) {
	const n, dim = 8, 2
	samples := 100
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		samples = 500
	}
	b := quick(t)
	for _, entropy := range []float64{0.1, 5} {
		got, err := squares(entropy).BiasAndVariance(b, []float64{0, 0.5, 1}, samples, scaled(n, n, dim))
		if err != nil {
			t.Fatal(err)
		}
		none, half, full := got[0], got[1], got[2]
		if e := math.Sqrt(full.Variance / float64(samples)); !(math.Abs(full.Mean[0]) <= 5*e) { // a false alarm in 10⁶
			t.Errorf("λ = %v: E G_1 = %v ± %v for equal laws, want 0", entropy, full.Mean[0], e)
		}
		if !(none.Mean[0] > 10*none.Chance && half.Mean[0] > 5*half.Chance && none.Mean[0] > half.Mean[0]+5*half.Chance) {
			t.Errorf("λ = %v: mean gradients by the scale of %v (p = 0) and %v (p = 0.5), with errors of %v and %v; want both above 0, the first more so",
				entropy, none.Mean[0], half.Mean[0], none.Chance, half.Chance)
		}
		if full.Bias != 0 || full.Relative != 1 {
			t.Errorf("λ = %v: p = 1 is off from itself by %v, with %v of its variance", entropy, full.Bias, full.Relative)
		}
	}
}

func TestBiasOfWhatIsNoSample(t *testing.T) {
	b := quick(t)
	l, refused := squares(1), errors.New("refused")
	with := func(change func(i int, s *Sample)) func(int) (Sample, error) {
		draw := scaled(2, 3, 2)
		return func(i int) (Sample, error) {
			s, err := draw(i)
			change(i, &s)
			return s, err
		}
	}
	for want, bad := range map[string]func(int) (Sample, error){
		"refused":              func(int) (Sample, error) { return Sample{}, refused },
		"at least 1 of each":   func(int) (Sample, error) { return Sample{}, nil },
		"has 3 generated rows": with(func(_ int, s *Sample) { s.X.Data = s.X.Data[:6] }),
		"rows of dimension 4":  with(func(i int, s *Sample) { s.X.Dim += 2 * i; s.X.Data = append(s.X.Data, make([]float32, 8*i)...) }),
		"and 2 real ones":      with(func(i int, s *Sample) { s.Real.Data = s.Real.Data[:6-2*i] }),
		"1 labels of 4":        with(func(_ int, s *Sample) { s.X.Labels = s.X.Labels[:1] }),
		"each with a label":    with(func(_ int, s *Sample) { s.Real.Labels = nil }),
		"sample 1 pulls 2 parameter": with(func(i int, s *Sample) {
			s.Pull = func([]float32) ([]float64, error) { return make([]float64, 1+i), nil }
		}),
		"not finite": with(func(_ int, s *Sample) {
			s.Pull = func([]float32) ([]float64, error) { return []float64{math.NaN()}, nil }
		}),
		"sample 0, p = 0: refused": with(func(_ int, s *Sample) { s.Pull = func([]float32) ([]float64, error) { return nil, refused } }),
	} {
		if _, err := l.BiasAndVariance(b, []float64{0}, 3, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	if _, err := l.BiasAndVariance(b, []float64{0}, 1, scaled(2, 3, 2)); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one sample: %v", err)
	}
	if _, err := l.BiasAndVariance(b, []float64{2}, 3, scaled(2, 3, 2)); err == nil || !strings.Contains(err.Error(), "from 0 to 1") {
		t.Errorf("p = 2: %v", err)
	}
}

func TestSpreadOfThreeVectors(t *testing.T) {
	var s spread
	for _, v := range [][]float64{{1, 0}, {2, 10}, {6, 5}} {
		s.add(v)
	}
	if s.mean[0] != 3 || s.mean[1] != 5 || !(math.Abs(s.variance()-(14+50)/2.) <= 1e-12) {
		t.Errorf("mean %v, variance %v; want [3 5] and 32", s.mean, s.variance())
	}
}

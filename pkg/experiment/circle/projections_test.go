package circle

import (
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/sliced"
)

// The velocity is −n times the derivative of the mean squared difference of sorted
// projections, with the noise of the step held: central differences of it.
func TestVelocityIsADerivative(t *testing.T) {
	c := settings("circle-projections")
	c.Records, c.Batch = 40, 20
	z := Points(c.Records, noise.Seeded(1), "Z")
	w := &byProjections{config: c, z: z, public: noise.Seeded(5), directions: sliced.Orthonormal(2, 3, noise.Seeded(6).Stream("directions", 0))}
	w.plan = privacy.Plan{Sensitivity: sliced.ProjectionSensitivity(w.directions, 2), Sampler: sampling.FixedSize{Size: 20}, Records: c.Records, Steps: 1, Budget: c.budget(), Coordinates: 120, NoiseStd: 0.3}
	if err := w.begin(w.promise().Releaser(noise.Seeded(7))); err != nil {
		t.Fatal(err)
	}
	made := normal(20, noise.Seeded(8), "made")
	loss := func(made transport.Points) float64 {
		total := 0.0
		for l := range w.directions.Count {
			noisy := make([]float64, made.Len())
			if err := w.public.Normal64(noisy, w.plan.NoiseStd, "projections "+string(rune('0'+l)), 3); err != nil {
				t.Fatal(err)
			}
			for i := range noisy {
				d := w.directions.Row(l)
				noisy[i] += float64(made.Row(i)[0])*float64(d[0]) + float64(made.Row(i)[1])*float64(d[1])
			}
			slices.Sort(noisy)
			for i, v := range noisy {
				total += math.Pow(v-w.released[l][i], 2) / float64(len(noisy)*w.directions.Count)
			}
		}
		return total
	}
	v, err := w.velocity(made, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		const h = 1e-3
		up, down := made.Clone(), made.Clone()
		up.Data[i] += h
		down.Data[i] -= h
		want := -20 * (loss(up) - loss(down)) / float64(up.Data[i]-down.Data[i])
		if !(math.Abs(float64(v[i])-want) <= 5e-3) {
			t.Errorf("velocity %d is %v, differences say %v", i, v[i], want)
		}
	}
}

// The one release has the noise of its plan: of 4,000 numbers the deviation from
// projections without is within 6 % of it, five standard errors and more (√(1/8000) =
// 1.1 %). Without a budget there is none.
func TestProjectionsAreReleasedWithNoise(t *testing.T) {
	on := open(t)
	sorted := func(epsilon float64) (*byProjections, []float64) {
		c := settings("circle-projections")
		c.Records, c.Batch, c.Projections, c.Epsilon = 1000, 1000, 4, privacy.Epsilon(epsilon)
		z := Points(c.Records, noise.Seeded(1), "Z")
		w, _, err := projections(c, on, normal(c.Records, noise.Seeded(1), "X"), z, noise.Seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.close)
		if err := w.begin(w.promise().Releaser(noise.Seeded(2))); err != nil {
			t.Fatal(err)
		}
		return w.(*byProjections), slices.Concat(w.(*byProjections).released...)
	}
	open, plain := sorted(math.Inf(1))
	closed, noisy := sorted(1)
	if open.plan.NoiseStd != 0 || len(plain) != 4000 || len(noisy) != 4000 {
		t.Fatalf("noise %v without a budget; %d and %d numbers", open.plan.NoiseStd, len(plain), len(noisy))
	}
	variance := func(values []float64) (v float64) {
		for _, x := range values {
			v += x * x / float64(len(values))
		}
		return v
	}
	// Four directions, two orthonormal pairs: a record within M = 1 moves its projections by 2·√(4/2).
	if got := closed.plan.Sensitivity.Value; !(math.Abs(got-2*math.Sqrt2) <= 1e-5 && got >= 2*math.Sqrt2) {
		t.Errorf("sensitivity %v, want 2√2 and a little", got)
	}
	if got := math.Sqrt(variance(noisy) - variance(plain)); !(math.Abs(got/closed.plan.NoiseStd-1) <= 0.06) {
		t.Errorf("noise of standard deviation %v, planned %v", got, closed.plan.NoiseStd)
	}
	if !slices.IsSorted(noisy[:1000]) {
		t.Error("projections are not in their order")
	}
}

// By noisy projections X gives 0 always and X̃ never; a noisy gradient keeps what
// (ε, δ) allows. Its advantage is a mean of 4,000 draws a side: five standard errors
// are 0.06.
func TestDistinguish(t *testing.T) {
	for _, epsilon := range []float64{0.5, 3} {
		told, err := Distinguish(t.Context(), 50, 4000, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(told.Zero[0]-1) <= 1e-9) || told.Zero[1] != 0 || !(math.Abs(told.Baseline-1) <= 1e-9) {
			t.Errorf("ε = %v: projections give 0 in %v of the draws, advantage %v", epsilon, told.Zero, told.Baseline)
		}
		if !(told.Gradients <= told.Allowed+0.06) {
			t.Errorf("ε = %v: the gradient's advantage is %v, allowed is %v", epsilon, told.Gradients, told.Allowed)
		}
	}
	// Seeds have noise of their own: of means of 500 draws in each world no two are within
	// 0.002 of each other or of its negative, but for a false alarm of a few per cent a pair
	// at other seeds than these.
	var means []float64
	for seed := range uint64(4) {
		told, err := Distinguish(t.Context(), 50, 500, privacy.Budget{Epsilon: 1, Delta: 1e-5}, seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range means {
			if !(math.Abs(math.Abs(told.Gradients)-math.Abs(other)) > 0.002) {
				t.Errorf("seed %d has the advantage %v, and another %v: the same noise?", seed, told.Gradients, other)
			}
		}
		means = append(means, told.Gradients)
	}
	if told, err := Distinguish(t.Context(), 5, 5, privacy.Budget{Epsilon: 800, Delta: 1e-5}, 1); err != nil || told.Allowed != 1 {
		t.Errorf("a large ε allows %v, %v; want 1", told.Allowed, err)
	}
	for want, call := range map[string]func() error{
		"ε = ∞": func() error {
			_, err := Distinguish(t.Context(), 5, 5, privacy.Budget{Epsilon: math.Inf(1), Delta: 1e-5}, 1)
			return err
		},
		"0 records": func() error {
			_, err := Distinguish(t.Context(), 0, 5, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 1)
			return err
		},
		"0 trials": func() error {
			_, err := Distinguish(t.Context(), 5, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, 1)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

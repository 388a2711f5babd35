package dpsinkhorn

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
)

// planned is a plan with noise of a given size, whatever that proves.
func planned(t *testing.T, c *Config, records, coordinates int, rate, std float64) privacy.Plan {
	t.Helper()
	s, err := c.sensitivity()
	if err != nil {
		t.Fatal(err)
	}
	return privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: rate}, Records: records, Steps: 1000, Budget: c.budget(), NoiseStd: std, Coordinates: coordinates}
}

// rows are labelled ones, normal.
func rows(n, dim, classes int, seed uint64) semidebiased.Batch {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := semidebiased.Batch{Points: transport.NewPoints(n, dim), Labels: make([]int, n)}
	for i := range b.Data {
		b.Data[i] = float32(rng.NormFloat64())
	}
	for i := range b.Labels {
		b.Labels[i] = rng.IntN(classes)
	}
	return b
}

func compiled(t *testing.T, b *backend.Backend, l semidebiased.Loss, n, room, dim int) *semidebiased.Program {
	t.Helper()
	p, err := l.Compile(b, n, room, dim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func guiding(t *testing.T, b *backend.Backend, c *Config, private semidebiased.Batch, release *privacy.Releaser) byImages {
	t.Helper()
	l := c.loss(3)
	return byImages{config: c, solver: compiled(t, b, l, c.Generated, room(c.Batch)*c.Multiplicity, private.Dim), rows: &Rows{Private: private}, public: noise.Seeded(4), release: release}
}

func tiny(t *testing.T) *Config {
	c := config(t, "dp-sinkhorn", experiment.Quick)
	c.Batch, c.Generated, c.Debiasing, c.LabelScale, c.Entropy, c.Bound = 5, 6, 0.5, 2, 1, 0.5
	return c
}

// A step's answer is the clipped gradient of its Poisson batch and noise of the
// plan's size on the rows that met records; also where nobody was drawn, and where a
// record is not a number.
func TestEveryStepHasItsNoise(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const dim = 4
		c := tiny(t)
		private := rows(40, dim, 3, 1)
		private.Data[7] = float32(math.NaN())
		for _, rate := range []float64{0, 0.1, 1} {
			const std = 2.
			plan := planned(t, c, private.Len(), c.Generated*dim, rate, std)
			guide := guiding(t, b, c, private, plan.Releaser(noise.Seeded(3)))
			x := rows(9, dim, 3, 2)
			var squares float64
			count := 0
			for step := range 60 {
				g, err := guide.gradient(step, x)
				if err != nil {
					t.Fatal(err)
				}
				if err := checkFinite(g); err != nil {
					t.Fatalf("rate %v: %v", rate, err)
				}
				for _, v := range g[:c.Generated*dim] {
					squares += float64(v) * float64(v)
					count++
				}
				var rest float64
				for _, v := range g[c.Generated*dim:] {
					rest += float64(v) * float64(v)
				}
				if !(math.Sqrt(rest) <= c.Bound) {
					t.Errorf("rows that met nobody: norm %v above the bound", math.Sqrt(rest))
				}
			}
			// 1440 squares of normals, and of signals of at most 0.5²/24 each: their mean is
			// within 5 standard errors, 5·√(2/1440) = 0.19, of 4 but for 1e-6.
			if mean := squares / float64(count) / (std * std); !(math.Abs(mean-1) <= 0.19+0.01) {
				t.Errorf("rate %v: noise of variance %v of the plan's", rate, mean)
			}
		}
	})
}

// One record more turns a coupled gradient round, by its images or by parameters
// computed of them, and moves what is released by 2C at most. The plan's noise is too
// small to see.
func TestNeighboursMoveParametersByTheSensitivity(t *testing.T) {
	c := tiny(t)
	c.Perturbed = ByParameters
	const size = 30
	plan := planned(t, c, 40, size, 1, 1e-6)
	release := plan.Releaser(noise.Seeded(3))
	guide := byParameters{byImages{config: c, release: release}}
	largest := 0.
	for step := range 300 {
		// Whatever the gradient was, and however a record changed it.
		a, b := rows(1, size, 3, uint64(step)), rows(1, size, 3, uint64(step+1000))
		scale := float32(math.Pow(10, float64(step%9-4)))
		for i := range a.Data {
			a.Data[i] *= scale
			if step%3 == 0 {
				b.Data[i] = -a.Data[i]
			}
		}
		if step%7 == 0 {
			b.Data[3] = float32(math.Inf(1))
		}
		if err := guide.sanitise(2*step, a.Data); err != nil {
			t.Fatal(err)
		}
		if err := guide.sanitise(2*step+1, b.Data); err != nil {
			t.Fatal(err)
		}
		var moved float64
		for i := range a.Data {
			d := float64(a.Data[i]) - float64(b.Data[i])
			moved += d * d
		}
		largest = max(largest, math.Sqrt(moved)/plan.Sensitivity.Value)
	}
	// 300 differences of noise, √60·1e-6 each but for a chance below 1e-9.
	if !(largest > 0.999 && largest <= 1+2e-5) {
		t.Errorf("neighbours move the release by %v of its sensitivity; want at most 1, and nearly reached", largest)
	}
}

// What is asked for again, after a crash, is the same answer; another gradient for the
// same step is refused.
func TestAStepAnswersOnce(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := tiny(t)
	private := rows(40, 4, 3, 1)
	plan := planned(t, c, private.Len(), c.Generated*4, 0.2, 1)
	x := rows(9, 4, 3, 2)
	var first []float32
	for range 2 { // two processes
		guide := guiding(t, b, c, private, plan.Releaser(noise.Seeded(3)))
		g, err := guide.gradient(5, x)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = g
		}
		for i := range g {
			if g[i] != first[i] {
				t.Fatalf("coordinate %d: %v, then %v", i, first[i], g[i])
			}
		}
		if _, err := guide.gradient(5, rows(9, 4, 3, 20)); err == nil {
			t.Error("another gradient got the noise of the same step")
		}
	}
}

// A Poisson sample has no room less than three times in ten thousand steps.
func TestRoom(t *testing.T) {
	for _, batch := range []int{1, 2, 3, 8, 20, 50, 500} {
		law := distuv.Poisson{Lambda: float64(batch)}
		if tail := law.Survival(float64(room(batch))); !(tail <= 3e-4) {
			t.Errorf("a batch of %d has room for %d, more are drawn with probability %.2g", batch, room(batch), tail)
		}
	}
}

// Without privacy a loss that has overflowed ends the training, and says what helps. One
// with noise goes on, as whether it has overflowed is private.
func TestALossThatOverflows(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const dim = 4
		for _, epsilon := range []float64{math.Inf(1), 10} {
			c := tiny(t)
			c.Epsilon = privacy.Epsilon(epsilon)
			private, x := rows(40, dim, 3, 1), rows(9, dim, 3, 2)
			for i := range x.Data {
				x.Data[i] = 1e30 // whose squares are no float32
			}
			plan := planned(t, c, private.Len(), c.Generated*dim, 0.5, 2)
			guide := guiding(t, b, c, private, plan.Releaser(noise.Seeded(3)))
			_, err := guide.gradient(0, x)
			if open := math.IsInf(epsilon, 1); open != errors.Is(err, train.ErrDiverged) || !open && err != nil {
				t.Errorf("ε = %v: %v", epsilon, err)
			}
		}
	})
}

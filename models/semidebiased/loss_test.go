package semidebiased

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/sinkhorn"
)

func rows(n, dim, classes int, seed uint64) Batch {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := Batch{Points: transport.NewPoints(n, dim), Labels: make([]int, n)}
	for i := range b.Data {
		b.Data[i] = float32(rng.NormFloat64())
	}
	for i := range b.Labels {
		b.Labels[i] = rng.IntN(classes)
	}
	return b
}

func small(p float64) Loss {
	return Loss{Debiasing: p, Absolute: 0.7, LabelScale: 2, Classes: 3, Entropy: 1, Iterations: 500, Tolerance: 1e-6}
}

type compiler func(t *testing.T, b *backend.Backend, l Loss, n, room, dim int) Solver

// eachWay runs a test on programs that solve the terms one by one, and at once, and both
// with as many iterations as there may be, and on exact plans.
func eachWay(t *testing.T, test func(t *testing.T, compiled compiler)) {
	t.Run("exact", func(t *testing.T) {
		test(t, func(t *testing.T, _ *backend.Backend, l Loss, n, room, dim int) Solver {
			t.Helper()
			e, err := l.Exact(n, room, dim)
			if err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
	for _, how := range []solving{{}, {atOnce: true}, {atOnce: true, fixed: true}} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			test(t, func(t *testing.T, b *backend.Backend, l Loss, n, room, dim int) Solver {
				t.Helper()
				p, err := l.compile(b, n, room, dim, how)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.Close)
				return p
			})
		})
	}
}

// labelled is the host's form of rows: one-hot labels behind them.
func labelled(b Batch, l Loss) transport.Points {
	p := transport.NewPoints(b.Len(), b.Dim+l.Classes)
	for i := range b.Len() {
		copy(p.Row(i), b.Row(i))
		p.Row(i)[b.Dim+b.Labels[i]] = float32(l.LabelScale)
	}
	return p
}

// The gradient is the derivative of 001 Eq. 6, with its index ranges, as the host
// computes it in double precision; a batch that leaves room is no other batch.
func TestGradientIsThatOfEquation6(t *testing.T) {
	const n, m, dim, h = 10, 7, 4, 1e-3
	type known struct {
		loss  Loss
		x     Batch
		value float64
		at    []int
		slope []float64 // of the value, by the numbers of x at
	}
	y := rows(m, dim, 3, 2)
	var all []known
	absolute := small(0.4)
	absolute.Unsquared = true
	for _, l := range []Loss{small(0), small(0.4), small(1), absolute} {
		total, _ := l.Split(n)
		k := known{loss: l, x: rows(total, dim, l.Classes, 1), at: []int{0, 5, 3*dim + 1, (total - 1) * dim}}
		k.value = onHost(t, l, n, k.x, y)
		for _, at := range k.at {
			moved := func(by float32) float64 {
				z := k.x
				z.Points = z.Clone()
				z.Data[at] += by
				return onHost(t, l, n, z, y)
			}
			k.slope = append(k.slope, (moved(h)-moved(-h))/(2*h))
		}
		all = append(all, k)
	}
	eachWay(t, func(t *testing.T, compiled compiler) {
		backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
			for _, k := range all {
				for _, room := range []int{m, m + 5} {
					got, err := compiled(t, b, k.loss, n, room, dim).Gradient(k.x, y)
					if err != nil {
						t.Fatal(err)
					}
					if !(math.Abs(got.Loss-k.value) <= 1e-4*math.Abs(k.value)) {
						t.Errorf("%+v, room %d: loss %v, want %v", k.loss, room, got.Loss, k.value)
					}
					for i, at := range k.at {
						if !(math.Abs(float64(got.ByX[at])-k.slope[i]) <= 2e-3*math.Max(1, math.Abs(k.slope[i]))) {
							t.Errorf("%+v, room %d: ∂/∂x[%d] = %v, finite differences give %v", k.loss, room, at, got.ByX[at], k.slope[i])
						}
					}
				}
			}
		})
	})
}

// onHost is Eq. 6 by the host's solver.
func onHost(t *testing.T, l Loss, n int, x, y Batch) float64 {
	t.Helper()
	_, extra := l.Split(n)
	cost := sinkhorn.Mixture{Squared: 1, Absolute: l.Absolute}
	if l.Unsquared {
		cost.Squared = 0
	}
	points, solver := labelled(x, l), sinkhorn.Solver{Epsilon: l.Entropy, Tolerance: 1e-9, MaxIterations: 20_000}
	first, second := transport.Uniform(points.Subset(upTo(0, n))), transport.Uniform(points.Subset(upTo(extra, n+extra)))
	var terms [2]float64
	for i, other := range []transport.Measure{transport.Uniform(labelled(y, l)), second} {
		r, err := solver.Solve(sinkhorn.Problem{X: first, Y: other, Cost: cost})
		if err != nil {
			t.Fatal(err)
		}
		terms[i] = r.Dual
	}
	return 2*terms[0] - terms[1]
}

func upTo(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// Whatever is real, the rows that never met it are the same, and the others stay
// within the sensitivity that is planned for; by whole clipping and by rows.
func TestRealRowsMoveTheGradientByItsSensitivityAtMost(t *testing.T) {
	eachWay(t, realRowsMoveTheGradientByItsSensitivityAtMost)
}

func realRowsMoveTheGradientByItsSensitivityAtMost(t *testing.T, compiled compiler) {
	const n, dim, bound = 6, 3, 0.5
	l := small(0.5)
	total, _ := l.Split(n)
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	program := compiled(t, b, l, n, 12, dim)
	for _, clipping := range []Clipping{Whole, PerImage} {
		s, err := clipping.Sensitivity(bound, n, privacy.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		open := privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: 0.1}, Records: 100, Steps: 1 << 20,
			Budget: privacy.Budget{Epsilon: math.Inf(1)}, Coordinates: n * dim}.Releaser(noise.Seeded(1))
		step := 0
		sanitised := func(x, real Batch) []float32 {
			g, err := program.Gradient(x, real)
			if err != nil {
				t.Fatal(err)
			}
			if err := clipping.Sanitise(g.ByX, n, dim, bound, open, step); err != nil {
				t.Fatal(err)
			}
			step++
			return g.ByX
		}
		var largest float64
		for trial := range uint64(150) {
			x, real := rows(total, dim, l.Classes, 10+trial), rows(1+int(trial%6), dim, l.Classes, 1000+trial)
			for i := range real.Data {
				real.Data[i] *= float32(1 + trial%40)
			}
			with := sanitised(x, real)
			less := real.Subset(upTo(0, real.Len()-1))
			other := rows(1, dim, l.Classes, 5000+trial)
			for i := range other.Data {
				other.Data[i] *= -100
			}
			replaced := Batch{transport.Points{Dim: dim, Data: append(slices.Clone(less.Data), other.Data...)}, append(slices.Clone(less.Labels), other.Labels...)}
			for _, neighbour := range []Batch{less, replaced} {
				without := sanitised(x, neighbour)
				var squared float64
				for i, v := range with[:n*dim] {
					squared += math.Pow(float64(v-without[i]), 2)
				}
				largest = max(largest, math.Sqrt(squared)/s.Value)
				if !slices.Equal(with[n*dim:], without[n*dim:]) {
					t.Fatalf("%s: a real row moved rows that it never met", clipping)
				}
			}
		}
		// The bound is for any two gradients; real ones reach most of it when few
		// rows are real.
		if !(largest <= 1 && largest >= 0.6) {
			t.Errorf("%s: neighbours reach %v of the sensitivity, want more than 0.6 and at most 1", clipping, largest)
		}
	}
}

// The noise is the plan's, on the rows that met real ones and on no others.
func TestNoiseIsOnTheRowsThatMetRealOnes(t *testing.T) {
	const n, extra, dim, bound = 400, 100, 20, 0.5
	s, err := Whole.Sensitivity(bound, n, privacy.AddRemove)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: 1. / 1200}, Records: 60_000, Steps: 1000,
		Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}, Coordinates: n * dim})
	if err != nil {
		t.Fatal(err)
	}
	byX := make([]float32, (n+extra)*dim) // no signal
	if err := Whole.Sanitise(byX, n, dim, bound, plan.Releaser(noise.Seeded(3)), 7); err != nil {
		t.Fatal(err)
	}
	var squared float64
	for _, v := range byX[:n*dim] {
		squared += float64(v) * float64(v)
	}
	// 8,000 squares: a relative standard error of the root of 0.8 %; at 5 of them a
	// false alarm is one in 10⁶, and noise of 0.95 or 1.05 is caught.
	if std := math.Sqrt(squared / (n * dim)); !(math.Abs(std/plan.NoiseStd-1) <= 0.04) {
		t.Errorf("noise of standard deviation %v, planned %v", std, plan.NoiseStd)
	}
	if slices.Max(byX[n*dim:]) != 0 || slices.Min(byX[n*dim:]) != 0 {
		t.Error("rows that met no real ones have noise")
	}
}

// A gradient of fewer rows than met real ones, or of parts of rows, is refused before it is
// clipped or released.
func TestAGradientOfAnotherShapeIsRefused(t *testing.T) {
	s, err := Whole.Sensitivity(1, 3, privacy.AddRemove)
	if err != nil {
		t.Fatal(err)
	}
	open := privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: 0.1}, Records: 100, Steps: 10,
		Budget: privacy.Budget{Epsilon: math.Inf(1)}, Coordinates: 12}.Releaser(noise.Seeded(1))
	for _, c := range []struct{ numbers, dim int }{{0, 4}, {8, 4}, {13, 4}, {12, 0}, {12, -4}} {
		byX := slices.Repeat([]float32{7}, c.numbers)
		err := PerImage.Sanitise(byX, 3, c.dim, 1, open, 0)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d numbers", c.numbers)) {
			t.Errorf("%d numbers of dimension %d: %v", c.numbers, c.dim, err)
		}
		if slices.ContainsFunc(byX, func(v float32) bool { return v != 7 }) {
			t.Errorf("%d numbers of dimension %d were changed", c.numbers, c.dim)
		}
	}
}

// Rows that met real ones and rows that did not are clipped alike, each part as a whole or
// row by row: what is longer than the bound is as long, and points where it did; a row that
// is no number is 0, and so is all that is clipped with it.
func TestBothPartsAreClipped(t *testing.T) {
	const n, extra, dim, bound = 3, 2, 4, 0.5
	for _, clipping := range []Clipping{Whole, PerImage} {
		s, err := clipping.Sensitivity(bound, n, privacy.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		open := privacy.Plan{Sensitivity: s, Sampler: sampling.Poisson{Rate: 0.1}, Records: 100, Steps: 10,
			Budget: privacy.Budget{Epsilon: math.Inf(1)}, Coordinates: n * dim}.Releaser(noise.Seeded(1))
		for step, scale := range []float32{100, 1e-3, float32(math.NaN())} {
			before := rows(n+extra, dim, 1, 3).Data
			for i := range before[:dim] { // the first row of either part
				before[i] *= scale
				before[n*dim+i] *= scale
			}
			got := slices.Clone(before)
			if err := clipping.Sanitise(got, n, dim, bound, open, step); err != nil {
				t.Fatal(err)
			}
			parts := []int{n * dim, extra * dim}
			if clipping == PerImage {
				parts = slices.Repeat([]int{dim}, n+extra)
			}
			at := 0
			for _, size := range parts {
				length := 0.
				for _, v := range before[at : at+size] {
					length = math.Hypot(length, float64(v))
				}
				factor := min(1, bound/length)
				for i := at; i < at+size; i++ {
					want := factor * float64(before[i])
					if math.IsNaN(length) {
						want = 0
					}
					if !(math.Abs(float64(got[i])-want) <= 1e-5) {
						t.Errorf("%s: of a part of norm %v the number %v becomes %v, want %v", clipping, length, before[i], got[i], want)
					}
				}
				at += size
			}
		}
	}
}

// 001's σ = 1.5 for MNIST is a noise multiplier of 0.75 in its public code's
// accounting, which is sound for clipping the whole; for clipping by image the same
// noise is √50 times too small.
func TestPerImageClippingAsksForMoreNoise(t *testing.T) {
	const n, bound = 50, 0.5
	sound := func(c Clipping) float64 {
		s, err := c.Sensitivity(bound, n, privacy.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		event := accountant.SelfComposed{Count: 160_000, Event: accountant.PoissonSampled{Rate: 1. / 1200,
			Event: accountant.Gaussian{NoiseMultiplier: 1.5 * bound / s.Value}}}
		r, err := accountant.Tightest{}.Epsilon(event, privacy.AddRemove, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return r.Epsilon
	}
	if got := sound(Whole); !(math.Abs(got-3.18) <= 0.02) {
		t.Errorf("whole: ε = %v, want 3.18", got)
	}
	if got := sound(PerImage); !(got >= 1000) {
		t.Errorf("per image: ε = %v, want far above the claim of 10", got)
	}
}

// Chance decides how many rows a batch has, and none may be there; a row that is
// no row changes nothing but its own part.
func TestBatchesOfAnySizeAndContent(t *testing.T) { eachWay(t, batchesOfAnySizeAndContent) }

func batchesOfAnySizeAndContent(t *testing.T, compiled compiler) {
	const n, dim, room = 6, 3, 4
	l := small(0.5)
	total, _ := l.Split(n)
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	program := compiled(t, b, l, n, room, dim)
	x := rows(total, dim, l.Classes, 1)
	gradient := func(real Batch) []float32 {
		g, err := program.Gradient(x, real)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range g.ByX {
			if v-v != 0 {
				t.Fatalf("a gradient with %v", v)
			}
		}
		return g.ByX
	}
	full := rows(7, dim, l.Classes, 2)
	if first := full.Subset(upTo(0, room)); !slices.Equal(gradient(full), gradient(first)) {
		t.Error("rows beyond the room were looked at")
	}
	broken := full.Subset([]int{0, 1, 2})
	broken.Data[4] = float32(math.NaN())
	if whole := full.Subset([]int{0, 2}); !near(gradient(broken), gradient(whole)) {
		t.Error("a row with NaN is not as none")
	}
	as := func(label int) []float32 {
		broken.Labels[0] = label
		return gradient(broken)
	}
	for class := range l.Classes {
		if near(as(17), as(class)) {
			t.Errorf("a label that is of no class counts as class %d", class)
		}
	}
	if !near(as(17), as(-1)) {
		t.Error("labels that are of no class differ")
	}
	for _, none := range []Batch{{}, {Points: transport.Points{Dim: dim}}, {transport.Points{Dim: dim, Data: []float32{0, float32(math.Inf(1)), 0}}, []int{0}}} {
		g := gradient(none)
		if met := g[:n*dim]; slices.Max(met) != 0 || slices.Min(met) != 0 {
			t.Errorf("no real rows: a pull of %v", met)
		}
		// What never meets real rows must not tell that there were none.
		if !slices.Equal(g[n*dim:], gradient(full)[n*dim:]) {
			t.Error("rows that met no real ones know that there were none")
		}
	}
	mislabelled := Batch{x.Points, slices.Clone(x.Labels)}
	mislabelled.Labels[2] = l.Classes
	for want, bad := range map[string]func() error{
		"is for 9 of dimension 3":   func() error { _, err := program.Gradient(rows(5, dim, 3, 1), full); return err },
		"make as many (Loss.Split)": func() error { _, err := program.Gradient(rows(total, dim+1, 3, 1), full); return err },
		"generated rows: expected labels from 0 to 2, found 3 in row 2; mend": func() error { _, err := program.Gradient(mislabelled, full); return err },
		"rows of dimension 3":               func() error { _, err := program.Gradient(x, rows(2, 5, 3, 1)); return err },
		"each with a label":                 func() error { _, err := program.Gradient(x, Batch{Points: full.Points}); return err },
		"from 0 to 1":                       func() error { _, err := small(1.5).Compile(b, n, room, dim); return err },
		"at least 1 of each":                func() error { _, err := l.Compile(b, 0, room, dim); return err },
		"1 generated rows beside at most 0": func() error { _, err := l.Exact(1, 0, dim); return err },
		"Epsilon is 0":                      func() error { l := l; l.Entropy = 0; _, err := l.Compile(b, n, room, dim); return err },
		`clipping "twice"`:                  func() error { _, err := Clipping("twice").Sensitivity(1, n, privacy.AddRemove); return err },
	} {
		if err := bad(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}

func near(a, b []float32) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-4 {
			return false
		}
	}
	return true
}

func BenchmarkGradient(bench *testing.B) {
	b, err := backend.Open()
	if err != nil {
		bench.Fatal(err)
	}
	for _, how := range []solving{{}, {atOnce: true}, {atOnce: true, fixed: true}} {
		for _, dim := range []int{8, 784} {
			l := Loss{Debiasing: 0.4, Absolute: 1, LabelScale: 15, Classes: 10, Entropy: 0.05, Iterations: 200, Tolerance: 1e-3}
			bench.Run(fmt.Sprintf("%+v/dim=%d", how, dim), func(bench *testing.B) {
				total, _ := l.Split(50)
				program, err := l.compile(b, 50, 90, dim, how)
				if err != nil {
					bench.Fatal(err)
				}
				defer program.Close()
				x, y := rows(total, dim, 10, 1), rows(50, dim, 10, 2)
				if _, err := program.Gradient(x, y); err != nil { // compiles
					bench.Fatal(err)
				}
				for bench.Loop() {
					if _, err := program.Gradient(x, y); err != nil {
						bench.Fatal(err)
					}
				}
			})
		}
	}
}

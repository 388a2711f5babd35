package merf

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// oneRelease is a plan for the embedding of n records; without noise at ε = ∞.
func oneRelease(t *testing.T, n, classes, features int, epsilon float64) privacy.Plan {
	t.Helper()
	s, err := Sensitivity(n)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1,
		Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, Coordinates: Size(classes, features)})
	if err != nil {
		t.Fatal(err)
	}
	return plan
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

// embedded is the embedding of records without noise.
func embedded(t *testing.T, b *backend.Backend, records semidebiased.Batch, classes, features int, scale float64) *Embedding {
	t.Helper()
	e, err := New(b, records, classes, features, scale, noise.Seeded(1),
		oneRelease(t, records.Len(), classes, features, math.Inf(1)).Releaser(noise.Seeded(2)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// tableOf is Σ_i e_{y_i}·(φ(x_i), 1)ᵀ/n in double precision, [classes, 2·features + 1].
func tableOf(frequencies transport.Points, x semidebiased.Batch, classes int) []float64 {
	features := frequencies.Len()
	width := 2*features + 1
	table := make([]float64, classes*width)
	for i := range x.Len() {
		row := table[x.Labels[i]*width : (x.Labels[i]+1)*width]
		for k := range features {
			var phase float64
			for c, w := range frequencies.Row(k) {
				phase += float64(w) * float64(x.Row(i)[c])
			}
			sin, cos := math.Sincos(phase)
			row[k] += cos / math.Sqrt(float64(features)) / float64(x.Len())
			row[features+k] += sin / math.Sqrt(float64(features)) / float64(x.Len())
		}
		row[width-1] += 1 / float64(x.Len())
	}
	return table
}

// discrepancy is ‖B − T(x)‖² in double precision: of even shares, whatever those
// of the released table are.
func discrepancy(e *Embedding, x semidebiased.Batch, classes int) (squared float64) {
	width := 2*e.Frequencies.Len() + 1
	own := tableOf(e.Frequencies, x, classes)
	for class := range classes {
		share := e.Released[(class+1)*width-1]
		scale := 1 / float64(classes) / math.Max(share, 0.1/float64(classes))
		for k := class * width; k < (class+1)*width-1; k++ {
			squared += math.Pow(e.Released[k]*scale-own[k], 2)
		}
	}
	return squared
}

// The gradient is the derivative of the discrepancy, also where classes are of very
// different shares, one of them too small to be scaled up.
func TestEmbeddingGradientIsADerivative(t *testing.T) {
	const n, dim, classes, features, h = 12, 4, 3, 30, 1e-3
	records := rows(200, dim, 2, 1)
	for i := range 3 {
		records.Labels[i] = 2 // a share of 0.015, where 1/3 would be even
	}
	x := rows(n, dim, classes, 2)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		e := embedded(t, b, records, classes, features, 1.5)
		got, err := e.Gradient(x)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != n*dim {
			t.Fatalf("a gradient of %d numbers, want %d", len(got), n*dim)
		}
		for i := range got {
			moved := func(by float32) float64 {
				z := x
				z.Points = x.Clone()
				z.Data[i] += by
				return discrepancy(e, z, classes)
			}
			if want := (moved(h) - moved(-h)) / (2 * h); !(math.Abs(float64(got[i])-want) <= 1e-5) {
				t.Errorf("∂/∂x[%d] = %v, finite differences give %v", i, got[i], want)
			}
		}
		if largest := max(slices.Max(got), -slices.Min(got)); !(largest >= 1e-3) {
			t.Errorf("gradients of at most %v are too small for this test to tell", largest)
		}
	})
}

// What is released is the table of all records, in several runs of the backend, and
// the noise of the plan; frequencies and noise depend on nothing but their seeds.
func TestEmbeddingReleasesTheTableAndNoise(t *testing.T) {
	const n, dim, classes, features = 700, 3, 2, 1000
	records := rows(n, dim, classes, 3)
	if atOnce := numbersAtOnce / (dim + 2*features); atOnce >= n {
		t.Fatalf("%d records at once; this test wants more than one run", atOnce)
	}
	plan := oneRelease(t, n, classes, features, 5)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		open := embedded(t, b, records, classes, features, 0.7)
		want := tableOf(open.Frequencies, records, classes)
		for i, v := range open.Released {
			if !(math.Abs(v-want[i]) <= 1e-7) {
				t.Fatalf("number %d of the table is %v, want %v", i, v, want[i])
			}
		}
		var made [2]*Embedding
		for i := range made {
			e, err := New(b, records, classes, features, 0.7, noise.Seeded(1), plan.Releaser(noise.Seeded(2)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			made[i] = e
		}
		if !slices.Equal(made[0].Released, made[1].Released) || !slices.Equal(made[0].Frequencies.Data, open.Frequencies.Data) {
			t.Error("the same seeds give another embedding")
		}
		var squares float64
		for i, v := range made[0].Released {
			squares += (v - open.Released[i]) * (v - open.Released[i])
		}
		// Of 4,002 squares the root's relative standard error is 1.1 %; at 5 of them a
		// false alarm is one in 10⁶, and noise of 0.9 or 1.1 is caught.
		if std := math.Sqrt(squares / float64(Size(classes, features))); !(math.Abs(std/plan.NoiseStd-1) <= 0.056) {
			t.Errorf("noise of standard deviation %v, planned %v", std, plan.NoiseStd)
		}
		// ω are N(0, 1/scale²): 3,000 of them, a relative standard error of 1.3 %.
		var power float64
		for _, w := range open.Frequencies.Data {
			power += float64(w) * float64(w)
		}
		if std := math.Sqrt(power / (dim * features)); !(math.Abs(std*0.7-1) <= 0.065) {
			t.Errorf("frequencies of standard deviation %v at a length scale of 0.7, want %v", std, 1/0.7)
		}
	})
}

// An attack by replacing a record: at random, by one of another class, by a huge one
// and by one that turns all features round. None passes the bound, and those that are
// meant to reach it do, with more features than dimensions, too.
func TestNoNeighbourPassesTheEmbeddingSensitivity(t *testing.T) {
	const n, classes = 5, 3
	s, err := Sensitivity(n)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		// moves is how far the table goes, in units of the sensitivity, when the first
		// record is replaced.
		tables := map[int][]float64{} // of the records as they are, by features
		moves := func(records semidebiased.Batch, by []float32, label, features int) float64 {
			if tables[features] == nil {
				tables[features] = embedded(t, b, records, classes, features, 1).Released
			}
			neighbour := semidebiased.Batch{Points: records.Clone(), Labels: slices.Clone(records.Labels)}
			copy(neighbour.Row(0), by)
			neighbour.Labels[0] = label
			return floats.Distance(tables[features], embedded(t, b, neighbour, classes, features, 1).Released, 2) / s.Value
		}
		expect := func(what string, got, least float64) {
			t.Helper()
			if !(got <= 1 && got >= least) {
				t.Errorf("%s: the table moves by %v of its sensitivity, want at least %v and at most 1", what, got, least)
			}
		}
		records := rows(n, 6, classes, 4)
		label, other := records.Labels[0], (records.Labels[0]+1)%classes
		for seed := range uint64(2) {
			by := rows(1, 6, classes, 100+seed)
			for _, size := range []float32{0.1, 3, 1e4, 1e30} {
				for c := range by.Data {
					by.Data[c] *= size
				}
				expect("the same class", moves(records, by.Data, label, 20), 0)
			}
			expect("another class", moves(records, rows(1, 6, classes, 200+seed).Data, other, 20), 1-1e-6)
		}
		expect("no class", moves(records, records.Row(0), classes, 20), math.Sqrt2/2-1e-6)

		// As many features as dimensions: ⟨ω_k, z⟩ = π for all of them.
		e := embedded(t, b, records, classes, 6, 1)
		omega := mat.NewDense(6, 6, nil)
		for i, w := range e.Frequencies.Data {
			omega.Set(i/6, i%6, float64(w))
		}
		var z mat.VecDense
		if err := z.SolveVec(omega, mat.NewVecDense(6, slices.Repeat([]float64{math.Pi}, 6))); err != nil {
			t.Fatal(err)
		}
		turned := slices.Clone(records.Row(0))
		for c := range turned {
			turned[c] += float32(z.AtVec(c))
		}
		expect("all features turned", moves(records, turned, label, 6), 1-1e-5)

		// Three features of one dimension: some long way turns all of them, nearly.
		line := rows(n, 1, classes, 5)
		e = embedded(t, b, line, classes, 3, 1)
		best, way := math.Inf(1), 0.0
		for at := 0.0; at < 2000; at += 0.01 {
			var mean float64
			for _, w := range e.Frequencies.Data {
				mean += math.Cos(float64(w)*at) / 3
			}
			if mean < best {
				best, way = mean, at
			}
		}
		expect("more features than dimensions", moves(line, []float32{line.Data[0] + float32(way)}, line.Labels[0], 3), 0.99)
	})
}

// A record that is no record adds nothing, and nothing of the others' part changes
// with it, to the last bit.
func TestBadRecordsAddNothingToTheEmbedding(t *testing.T) {
	const n, dim, classes, features = 40, 5, 3, 16
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		good := rows(n, dim, classes, 6)
		without := func(spoil func(semidebiased.Batch)) []float64 {
			records := semidebiased.Batch{Points: good.Clone(), Labels: slices.Clone(good.Labels)}
			spoil(records)
			return embedded(t, b, records, classes, features, 1).Released
		}
		want := without(func(x semidebiased.Batch) { x.Labels[7] = -1 })
		for what, spoil := range map[string]func(semidebiased.Batch){
			"a label that is too large": func(x semidebiased.Batch) { x.Labels[7] = classes },
			"NaN":                       func(x semidebiased.Batch) { x.Row(7)[4] = nan },
			"infinity":                  func(x semidebiased.Batch) { x.Row(7)[0] = -inf },
			"phases that overflow": func(x semidebiased.Batch) { // |Σω| > 1 in one of 16, as good as surely
				for c := range x.Row(7) {
					x.Row(7)[c] = math.MaxFloat32
				}
			},
		} {
			got := without(spoil)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the table differs from that without the record", what)
			}
		}
		var shares float64
		for class := range classes {
			shares += want[(class+1)*(2*features+1)-1]
		}
		if !(math.Abs(shares-(n-1.)/n) <= 1e-12) {
			t.Errorf("shares sum to %v, want %v", shares, (n-1.)/n)
		}
		if slices.Equal(want, without(func(semidebiased.Batch) {})) {
			t.Error("a good record adds nothing")
		}
	})
}

// Rows that follow the gradient find the records of their own class, each class
// with an even share whatever the records' shares are.
func TestRowsFollowTheEmbedding(t *testing.T) {
	const n, classes = 60, 2
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 0))
	centre := [classes][2]float64{{1, -1}, {-0.5, 0.5}}
	draw := func(n int, at func(i int) (label int)) semidebiased.Batch {
		x := semidebiased.Batch{Points: transport.NewPoints(n, 2), Labels: make([]int, n)}
		for i := range n {
			x.Labels[i] = at(i)
			for c := range 2 {
				x.Row(i)[c] = float32(centre[x.Labels[i]][c] + 0.2*rng.NormFloat64())
			}
		}
		return x
	}
	records := draw(2000, func(i int) int { return min(i%10, 1) }) // a tenth are of class 0
	e, err := New(b, records, classes, 200, 1, noise.Seeded(8), oneRelease(t, 2000, classes, 200, 10).Releaser(noise.Seeded(9)))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x := semidebiased.Batch{Points: transport.NewPoints(n, 2), Labels: make([]int, n)}
	for i := range n {
		x.Labels[i] = i % classes
		x.Row(i)[0], x.Row(i)[1] = float32(0.3*rng.NormFloat64()), float32(0.3*rng.NormFloat64())
	}
	before := discrepancy(e, x, classes)
	for range 200 {
		g, err := e.Gradient(x)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range g {
			x.Data[i] -= 1.5 * n * v
		}
	}
	if after := discrepancy(e, x, classes); !(after <= before/20) {
		t.Errorf("the discrepancy falls from %v to %v only", before, after)
	}
	for class := range classes {
		for c := range 2 {
			var mean float64
			for i := class; i < n; i += classes {
				mean += float64(x.Row(i)[c]) / (n / classes)
			}
			// The last outliers take thousands of steps; the other class is 1.5 away.
			if !(math.Abs(mean-centre[class][c]) <= 0.15) {
				t.Errorf("class %d: mean %v at coordinate %d, want %v", class, mean, c, centre[class][c])
			}
		}
	}
}

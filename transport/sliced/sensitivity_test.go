package sliced

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

// unit returns n points on the sphere.
func unit(rng *rand.Rand, n, dim int) transport.Points {
	p := gaussian(rng, n, dim)
	p.OnSphere()
	return p
}

// topVector returns the unit vector that U stretches most, by power iteration.
func topVector(rng *rand.Rand, u Directions) []float32 {
	v := unit(rng, 1, u.Dim)
	for range 500 {
		next := transport.NewPoints(1, u.Dim)
		for j := range u.Count {
			along := float32(inner(v.Row(0), u.Row(j)))
			for c := range next.Data {
				next.Data[c] += along * u.Row(j)[c]
			}
		}
		next.OnSphere()
		v = next
	}
	return v.Row(0)
}

// The sensitivity of the projections is attacked with random neighbours and
// with the adversarial pair x, −x along the top singular vector. It must hold,
// and the adversary must come within 10⁻⁴ of it: a bound that nobody reaches
// would be a bound of something else.
func TestProjectionSensitivityByBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	largest := 0.0
	for pair := range 12_000 {
		dim := 1 + rng.IntN(9)
		if pair%400 == 0 {
			dim = 64 // where rounding adds up
		}
		u := Uniform(dim, 1+rng.IntN(40), rng)
		if rng.IntN(2) == 0 {
			u = Orthonormal(dim, 1+rng.IntN(4), rng)
		}
		x, other := unit(rng, 1, dim), unit(rng, 1, dim)
		if pair%10 == 0 {
			copy(x.Row(0), topVector(rng, u))
			for c, v := range x.Row(0) {
				other.Row(0)[c] = -v
			}
		}
		before, _ := Project(x, u)
		after, _ := Project(other, u)
		var squares float64
		for j := range before {
			d := float64(before[j][0]) - float64(after[j][0])
			squares += d * d
		}
		ratio := math.Sqrt(squares) / ProjectionSensitivity(u, 2).Value
		if !(ratio <= 1) {
			t.Fatalf("pair %d (d = %d, k = %d): moved by %v times the sensitivity", pair, dim, u.Count, ratio)
		}
		largest = max(largest, ratio)
	}
	t.Logf("12,000 pairs: largest ratio to the bound %.6f", largest)
	if !(largest >= 0.9999) {
		t.Errorf("the adversary reaches only %v of the bound", largest)
	}
}

// The sensitivity of the sketch is attacked the same way, over sizes that do
// and do not divide into bins, with ties, with the extreme record moved, and
// with a whole sample on the adversary's line.
func TestSketchSensitivityByBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	largest := 0.0
	for pair := range 12_000 {
		dim := 1 + rng.IntN(6)
		n := 1 + rng.IntN(30)
		bins := 1 + rng.IntN(min(n, 8))
		u := Orthonormal(dim, 1+rng.IntN(3), rng)
		if pair%3 == 0 {
			u = Uniform(dim, 1+rng.IntN(12), rng)
		}
		x := unit(rng, n, dim)
		if pair%4 == 0 { // ties: few distinct records
			for i := range n {
				copy(x.Row(i), x.Row(rng.IntN(1+n/4)))
			}
		}
		moved := rng.IntN(n)
		replacement := unit(rng, 1, dim).Row(0)
		if pair%2 == 0 { // all on one line, the record crosses from end to end
			top := topVector(rng, u)
			for i := range n {
				scale := float32(0)
				if i == moved {
					scale = 1
				} else if pair%8 == 0 {
					scale = float32(1 + rng.IntN(2)*-2)
				}
				for c, v := range top {
					x.Row(i)[c] = scale * v
				}
			}
			for c, v := range top {
				replacement[c] = -v
			}
		}
		before, err := NewSketch(x, u, bins)
		if err != nil {
			t.Fatal(err)
		}
		sensitivity, err := before.Sensitivity(2)
		if err != nil {
			t.Fatal(err)
		}
		bound := sensitivity.Value
		copy(x.Row(moved), replacement)
		after, err := NewSketch(x, u, bins)
		if err != nil {
			t.Fatal(err)
		}
		var squares float64
		for j := range before.Means {
			for b := range before.Means[j] {
				d := before.Means[j][b] - after.Means[j][b]
				squares += d * d
			}
		}
		ratio := math.Sqrt(squares) / bound
		if !(ratio <= 1) {
			t.Fatalf("pair %d (n = %d, d = %d, k = %d, bins = %d): moved by %v times the sensitivity", pair, n, dim, u.Count, bins, ratio)
		}
		largest = max(largest, ratio)
	}
	t.Logf("12,000 pairs: largest ratio to the bound %.6f", largest)
	if !(largest >= 0.999) {
		t.Errorf("the adversary reaches only %v of the bound", largest)
	}
}

// A search for the worst neighbour of the sketch: it starts from a random
// sample and replacement, changes a record at a time, and keeps what moves the
// table more. It must not pass the bound, and must find its way close to it,
// also when n is no multiple of the bins.
func TestSketchSensitivityBySearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	for _, c := range []struct{ n, dim, bins int }{{1, 3, 1}, {4, 2, 2}, {5, 2, 3}, {7, 3, 7}, {9, 2, 4}} {
		u := Uniform(c.dim, 5, rng)
		bound, err := SketchSensitivity(u, c.n, c.bins, 2)
		if err != nil {
			t.Fatal(err)
		}
		moved := func(x transport.Points, replacement []float32) float64 {
			before, _ := NewSketch(x, u, c.bins)
			other := x.Clone()
			copy(other.Row(0), replacement)
			after, _ := NewSketch(other, u, c.bins)
			var squares float64
			for j := range before.Means {
				for b, v := range before.Means[j] {
					squares += (v - after.Means[j][b]) * (v - after.Means[j][b])
				}
			}
			return math.Sqrt(squares) / bound.Value
		}
		largest, pairs := 0., 0
		for range 4 {
			best, best1 := unit(rng, c.n, c.dim), unit(rng, 1, c.dim)
			ratio := moved(best, best1.Row(0))
			for range 600 {
				x, y := best.Clone(), best1.Clone()
				step := float32(math.Exp(-4 * rng.Float64()))
				p := x
				i := rng.IntN(c.n + 1)
				if i == c.n {
					p, i = y, 0
				}
				for k := range c.dim {
					p.Row(i)[k] += step * float32(rng.NormFloat64())
				}
				p.OnSphere()
				pairs++
				if r := moved(x, y.Row(0)); r >= ratio {
					best, best1, ratio = x, y, r
				}
			}
			if !(ratio <= 1) {
				t.Fatalf("%+v: moved by %v times the sensitivity", c, ratio)
			}
			largest = max(largest, ratio)
		}
		t.Logf("%+v: %d pairs, largest ratio %.5f", c, pairs, largest)
		if !(largest >= 0.9) {
			t.Errorf("%+v: the search reaches only %v of the bound", c, largest)
		}
	}
}

// Independent directions pretend to the sensitivity of stacked ones in the
// broken twin of this test; the adversary must then break the bound.
func TestSketchNeedsItsDirectionsNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, dim, bins, count = 20, 8, 1, 16 // one bin: a record moves its mean wherever it goes
	u := Uniform(dim, count, rng)
	top := topVector(rng, u)
	x := transport.NewPoints(n, dim) // all at the origin but one
	copy(x.Row(0), top)
	before, _ := NewSketch(x, u, bins)
	for c, v := range top {
		x.Row(0)[c] = -v
	}
	after, _ := NewSketch(x, u, bins)
	var squares float64
	for j := range before.Means {
		for b := range before.Means[j] {
			d := before.Means[j][b] - after.Means[j][b]
			squares += d * d
		}
	}
	if naive := float64(bins) / n * math.Sqrt(float64(count)/dim) * 2; !(math.Sqrt(squares) >= 1.1*naive) {
		t.Errorf("moved by %v; the bound of stacked directions, %v, should be broken", math.Sqrt(squares), naive)
	}
}

// The multipliers that soundness rests on, for unit vectors at d = 8: what is
// printed anywhere is recomputed here.
func TestMultipliersOfThePapers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	if got := Orthonormal(8, 9, rng).SpectralNorm(); !(math.Abs(got-3) <= 1e-5) {
		t.Errorf("72 stacked directions: %v, want 3", got)
	}
	if got := math.Sqrt(PublishedBound(70, 8, 1e-5)); !(math.Abs(got-3.77) <= 0.01) {
		t.Errorf("central-limit form at k = 70: %v, want 3.77", got)
	}
	if got := math.Sqrt(BernsteinBound(70, 8, 1e-5)); !(math.Abs(got-4.80) <= 0.01) {
		t.Errorf("Bernstein form at k = 70: %v, want 4.80", got)
	}
	// σ_max of independent directions spreads: the Marchenko–Pastur edge
	// √(k/d)·(1+√(d/k)) = 3.96 is where it tends to as both grow; at this size
	// the mean is 3.65, and no fixed number bounds every draw.
	var mean, largest float64
	for range 1000 {
		norm := Uniform(8, 70, rng).SpectralNorm()
		mean, largest = mean+norm/1000, max(largest, norm)
	}
	if !(math.Abs(mean-3.65) <= 0.03) { // standard error 0.005
		t.Errorf("mean σ_max of 70 independent directions: %v, want 3.65", mean)
	}
	if !(largest >= 3.96) {
		t.Errorf("the largest σ_max of 1,000 draws is %v; expected some beyond the edge, 3.96", largest)
	}
}

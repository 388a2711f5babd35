package metric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

func TestSearchIsExact(t *testing.T) {
	// Against all distances in double precision, with more points than a block,
	// far from the origin, in clusters, with duplicates and far outliers, all of
	// which strain single precision.
	rng := rand.New(rand.NewPCG(2, 1))
	for _, c := range []struct {
		name            string
		n, m, dim, k    int
		scale, at, grid float32
	}{
		{"one dimension", 300, 700, 1, 3, 1, 0, 0},
		{"eight dimensions", 513, 600, 8, 5, 1, 0, 0},
		{"far away", 300, 300, 5, 1, 1e-3, 1000, 0},
		{"ties", 400, 400, 2, 4, 1, 0, 0.25},
		{"many dimensions", 100, 300, 200, 2, 1, 3, 0},
		{"few points", 3, 2, 4, 2, 1, 0, 0},
		{"all equal", 300, 300, 3, 2, 0, 1, 0},
		{"huge", 300, 300, 3, 2, 1e20, 0, 0},
	} {
		make := func(n int) transport.Points {
			p := normals(rng, n, c.dim)
			for i, v := range p.Data {
				v *= c.scale
				if c.grid > 0 {
					v = c.grid * float32(math.Round(float64(v/c.grid)))
				}
				p.Data[i] = v + c.at
			}
			if n > 10 {
				copy(p.Row(n-1), p.Row(3))
				p.Row(5)[0] += 1e4 * c.scale
			}
			return p
		}
		queries, set := make(c.n), make(c.m)
		for _, itself := range []bool{false, true} {
			if itself {
				set = queries
			}
			k := min(c.k, set.Len()-1)
			found, err := nearest(t.Context(), queries, set, k, itself)
			if err != nil {
				t.Fatal(err)
			}
			for i := range queries.Len() {
				var want []neighbour
				for j := range set.Len() {
					if itself && i == j {
						continue
					}
					n := neighbour{j, squaredDistance(queries.Row(i), set.Row(j))}
					at := len(want)
					for at > 0 && want[at-1].squared > n.squared {
						at--
					}
					want = append(want[:at], append([]neighbour{n}, want[at:]...)...)
				}
				if fmt.Sprint(found[i]) != fmt.Sprint(want[:k]) {
					t.Fatalf("%s, itself %v: nearest of %d are %v, want %v", c.name, itself, i, found[i], want[:k])
				}
			}
		}
	}
}

func TestNearestNeighbourAccuracyOfOneLaw(t *testing.T) {
	// 2 × 150 points of one law, 1000 times: the mean is the ideal, and the spread
	// what the standard errors say. With 1000 values the standard deviation is
	// known to 2.2 % (standard error); ±12 % leaves four of them beside the 3 % or
	// so that points with a common nearest add. Four standard errors, also of the
	// mean, fail once in 16,000; points taken as independent would be 21 % off.
	const trials, n = 1000, 150
	rng := rand.New(rand.NewPCG(3, 1))
	var sum, squares, claimed float64
	var ideal float64
	for range trials {
		r, err := NearestNeighbourTest(normals(rng, n, 4), normals(rng, n, 4), rng)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(r.Accuracy-(r.Generated+r.Real)/2) <= 1e-12) {
			t.Fatalf("%+v: the accuracy is not the mean of its sides", r)
		}
		sum, squares = sum+r.Accuracy, squares+r.Accuracy*r.Accuracy
		claimed += r.StandardError / trials
		ideal = r.Ideal
	}
	mean := sum / trials
	spread := math.Sqrt((squares/trials - mean*mean) * trials / (trials - 1))
	if !(math.Abs(ideal-149./299) <= 1e-12) {
		t.Errorf("ideal accuracy %v, want 149/299", ideal)
	}
	if !(math.Abs(mean-ideal) <= 4*claimed/math.Sqrt(trials)) {
		t.Errorf("mean accuracy %v, want %v", mean, ideal)
	}
	if !(math.Abs(spread/claimed-1) <= 0.12) {
		t.Errorf("accuracies spread by %v, their standard errors are %v", spread, claimed)
	}
	t.Logf("mean %.4f, spread %.4f, standard error %.4f", mean, spread, claimed)
}

func TestNearestNeighbourAccuracyOfKnownCases(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	x := normals(rng, 200, 3)
	far := x.Clone()
	for i := range far.Data {
		far.Data[i] += 100
	}
	near := x.Clone()
	for i := range near.Data {
		near.Data[i] += 1e-4
	}
	for name, c := range map[string]struct {
		generated transport.Points
		want      float64
	}{
		"disjoint":    {far, 1},
		"near copies": {near, 0},
		"copies":      {x.Subset(rng.Perm(200)), 0},
	} {
		r, err := NearestNeighbourTest(c.generated, x, rng)
		if err != nil || r.Accuracy != c.want || r.Generated != c.want || r.Real != c.want || r.StandardError != 0 {
			t.Errorf("%s: %+v, %v; want %v", name, r, err, c.want)
		}
	}
	// All points equal: any of the others is the nearest, the own side's share of
	// them is 199/399; four standard deviations of 400 halves.
	r, err := NearestNeighbourTest(transport.NewPoints(200, 3), transport.NewPoints(200, 3), rng)
	if err != nil || !(math.Abs(r.Accuracy-r.Ideal) <= 4*0.5/20) {
		t.Errorf("equal points: %+v, %v", r, err)
	}
	m, err := Registry.Lookup("1-nn")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := m.Measure(far, x, rng); err != nil || v.Value != 1 || v.Note == "" {
		t.Errorf("%+v, %v; want 1", v, err)
	}
	// The smaller side sets the size of both.
	if v, err := (NearestNeighbour{Sample: 150}).Measure(x, far.Subset([]int{1, 2, 3, 4}), rng); err != nil || v.Value != 1 {
		t.Errorf("%+v, %v; want 1", v, err)
	}
}

func TestNeighboursRefuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x, one := normals(rng, 5, 2), normals(rng, 1, 2)
	nan := x.Clone()
	nan.Data[3] = float32(math.NaN())
	labels := []int{0, 1, 0, 1, 2}
	for name, try := range map[string]func() (any, error){
		"no points":          func() (any, error) { return NearestNeighbourTest(transport.Points{Dim: 2}, x, rng) },
		"one point":          func() (any, error) { return NearestNeighbourTest(x, one, rng) },
		"NaN":                func() (any, error) { return NearestNeighbourTest(x, nan, rng) },
		"two dimensions":     func() (any, error) { return NearestNeighbourTest(x, normals(rng, 5, 3), rng) },
		"no sample":          func() (any, error) { return NearestNeighbour{}.Measure(x, x, rng) },
		"copies, dimensions": func() (any, error) { return CheckCopies(t.Context(), x, x, normals(rng, 5, 3)) },
		"copies, no rows":    func() (any, error) { return CheckCopies(t.Context(), x, transport.Points{Dim: 2}, x) },
		"copies, NaN":        func() (any, error) { return CheckCopies(t.Context(), nan, x, x) },
		"labels missing":     func() (any, error) { return KNN{1, x, labels[:4]}.Classify(x) },
		"negative label":     func() (any, error) { return KNN{1, x, []int{0, 1, 2, 3, -1}}.Classify(x) },
		"no voter":           func() (any, error) { return KNN{0, x, labels}.Classify(x) },
		"too many voters":    func() (any, error) { return KNN{6, x, labels}.Classify(x) },
		"no labels":          func() (any, error) { return CompareHistograms(nil, labels, 3) },
		"label too large":    func() (any, error) { return CompareHistograms(labels, labels, 2) },
		"no classes":         func() (any, error) { return CompareHistograms(labels, labels, 0) },
	} {
		if v, err := try(); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestCopiesShow(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	private, heldOut := normals(rng, 400, 6), normals(rng, 400, 6)
	fresh, err := CheckCopies(t.Context(), normals(rng, 1000, 6), private, heldOut)
	if err != nil {
		t.Fatal(err)
	}
	// Of the rows' own law: a half, within five standard errors (and as much
	// again, because all points share the rows); false alarms once in 10⁶.
	if fresh.Expected != 0.5 || !(math.Abs(fresh.NearerPrivate-0.5) <= 10*0.0158 && math.Abs(fresh.MedianRatio-1) <= 0.05) || fresh.Exact != 0 {
		t.Errorf("fresh points: %v of %v nearer, ratio %v, %d exact", fresh.NearerPrivate, fresh.Expected, fresh.MedianRatio, fresh.Exact)
	}
	if want := math.Sqrt(fresh.NearerPrivate * (1 - fresh.NearerPrivate) / 1000); !(math.Abs(fresh.StandardError-want) <= 1e-15) {
		t.Errorf("a standard error of %v, want %v", fresh.StandardError, want)
	}
	// A tenth are copies: 0.1·1 + 0.9·0.5.
	some := normals(rng, 1000, 6)
	for i := range 100 {
		copy(some.Row(i), private.Row(i))
	}
	copied, err := CheckCopies(t.Context(), some, private, heldOut)
	if err != nil || copied.Exact != 100 || copied.ToPrivate[7] != 0 || copied.ToHeldOut[7] == 0 || !(math.Abs(copied.NearerPrivate-0.55) <= 0.1) {
		t.Errorf("a tenth copied: %v nearer, %d exact, %v", copied.NearerPrivate, copied.Exact, err)
	}
	// They are the hundredth that is nearest, and move the median by little.
	few, none := copied.Values(), fresh.Values()
	if few["nearest private row, 1 %"] != 0 || !(none["nearest private row, 1 %"] >= 0.2 && math.Abs(few["nearest private row, median"]/none["nearest private row, median"]-1) <= 0.15) ||
		!(few["nearest held-out row, 1 %"] >= 0.2) {
		t.Errorf("distances of a tenth copied %v, of none %v", few, none)
	}
	noisy := private.Clone()
	for i := range noisy.Data {
		noisy.Data[i] += 0.1 * float32(rng.NormFloat64())
	}
	near, err := CheckCopies(t.Context(), noisy, private, heldOut)
	if err != nil || !(near.NearerPrivate >= 0.95 && near.MedianRatio <= 0.5) || near.Exact != 0 {
		t.Errorf("noisy copies: %v nearer, ratio %v, %d exact, %v", near.NearerPrivate, near.MedianRatio, near.Exact, err)
	}
	// The same rows on both sides tie; copies of held-out rows have no finite ratio.
	same, err := CheckCopies(t.Context(), private, private, private)
	if err != nil || same.NearerPrivate != 0.5 || same.MedianRatio != 1 || same.Exact != 0 {
		t.Errorf("ties: %v nearer, ratio %v, %d exact, %v", same.NearerPrivate, same.MedianRatio, same.Exact, err)
	}
	other, err := CheckCopies(t.Context(), heldOut, private, heldOut)
	if err != nil || other.NearerPrivate != 0 || other.MedianRatio != math.MaxFloat64 {
		t.Errorf("held-out rows: %v nearer, ratio %v, %v", other.NearerPrivate, other.MedianRatio, err)
	}
	if uneven, err := CheckCopies(t.Context(), some, private, heldOut.Subset([]int{0, 1, 2, 3})); err != nil || uneven.Expected != 400./404 {
		t.Errorf("expected share %v, %v; want 400/404", uneven.Expected, err)
	}
}

func BenchmarkNearestNeighbour(b *testing.B) {
	for _, dim := range []int{8, 48, 1024} {
		b.Run(fmt.Sprintf("%d dimensions", dim), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(7, 1))
			x, y := normals(rng, 5000, dim), normals(rng, 5000, dim)
			for b.Loop() {
				if _, err := NearestNeighbourTest(x, y, rng); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The nearest among the smallest numbers there are is the nearest: products of theirs
// round to multiples of 2⁻¹⁴⁹.
func TestNearestAmongTheSmallestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, scale := range []float64{1e-21, 1e-22, 1e-23, 1e-30} {
		x, y := transport.NewPoints(60, 784), transport.NewPoints(90, 784)
		for _, p := range []transport.Points{x, y} {
			for i := range p.Data {
				p.Data[i] = float32(scale * rng.NormFloat64())
			}
		}
		found, err := nearest(t.Context(), x, y, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			least := math.Inf(1)
			for j := range y.Len() {
				least = min(least, squaredDistance(x.Row(i), y.Row(j)))
			}
			if found[i][0].squared != least {
				t.Fatalf("scale %g, query %d: %v away, and the nearest is %v", scale, i, found[i][0].squared, least)
			}
		}
	}
}

// A search of millions of pairs ends when it is told to.
func TestASearchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x := normals(rand.New(rand.NewPCG(1, 1)), 200, 4)
	if _, err := CheckCopies(ctx, x, x, x); !errors.Is(err, context.Canceled) {
		t.Errorf("the search went on: %v", err)
	}
}

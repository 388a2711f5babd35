package assign

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

func normals(rng *rand.Rand, n, dim int) transport.Points {
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = float32(rng.NormFloat64())
	}
	return p
}

func TestWassersteinOnTheLineIsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 31, 200} {
		x, y := normals(rng, n, 1), normals(rng, n, 1)
		a, b := slices.Clone(x.Data), slices.Clone(y.Data)
		slices.Sort(a)
		slices.Sort(b)
		for _, p := range []float64{1, 1.5, 2, 4} {
			got, err := Wasserstein(x, y, p)
			var power float64
			for i := range a {
				power += math.Pow(math.Abs(float64(a[i])-float64(b[i])), p) / float64(n)
			}
			if want := math.Pow(power, 1/p); err != nil || !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("n = %d, p = %v: %v, %v; by sorting %v", n, p, got, err, want)
			}
		}
	}
}

// A permutation costs nothing, a translation by v costs ‖v‖ for every p, and
// the map to a scaling by s > 0, the gradient of a convex function, is the
// scaling itself (Brenier 1991).
func TestWassersteinKnownMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n, dim = 60, 3
	x := normals(rng, n, dim)
	permuted := x.Subset(rng.Perm(n))
	moved, scaled := x.Clone(), x.Clone()
	var squares float64
	for i := range n {
		for c, v := range []float32{2, -1, 0.5} {
			moved.Row(i)[c] += v
			scaled.Row(i)[c] *= 3
			squares += 4 * float64(x.Row(i)[c]) * float64(x.Row(i)[c])
		}
	}
	for _, p := range []float64{1, 2, 3} {
		if d, err := Wasserstein(x, permuted, p); err != nil || d != 0 {
			t.Errorf("p = %v: a permutation costs %v, %v", p, d, err)
		}
		// Rounding of the points to float32 makes 1e-6.
		if d, err := Wasserstein(x, moved, p); err != nil || !(math.Abs(d-math.Sqrt(5.25)) <= 1e-6) {
			t.Errorf("p = %v: a translation costs %v, %v; want %v", p, d, err, math.Sqrt(5.25))
		}
	}
	if d, err := Wasserstein(x, scaled, 2); err != nil || !(math.Abs(d-math.Sqrt(squares/n)) <= 1e-6) {
		t.Errorf("a scaling costs %v, %v; want %v", d, err, math.Sqrt(squares/n))
	}
}

func TestWassersteinTriangleInequality(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for range 50 {
		x, y, z := normals(rng, 8, 2), normals(rng, 8, 2), normals(rng, 8, 2)
		for i := range z.Data { // near the way from x to y, where the inequality is tight
			z.Data[i] = (x.Data[i] + y.Data[i] + z.Data[i]/8) / 2
		}
		for _, p := range []float64{1, 2, 3} {
			var distances [3]float64
			for k, pair := range [][2]transport.Points{{x, y}, {x, z}, {z, y}} {
				d, err := Wasserstein(pair[0], pair[1], p)
				if err != nil {
					t.Fatal(err)
				}
				distances[k] = d
			}
			if !(distances[0] <= distances[1]+distances[2]+1e-12) {
				t.Fatalf("p = %v: %v, and %v + %v the way around", p, distances[0], distances[1], distances[2])
			}
		}
	}
}

func TestMatchTakesAnyCost(t *testing.T) {
	x := transport.Points{Dim: 1, Data: []float32{0, 1, 2}}
	y := transport.Points{Dim: 1, Data: []float32{2, 0, 1}}
	far, err := Match(x, y, func(x, y []float32) float64 { return -math.Abs(float64(x[0] - y[0])) })
	if err != nil || far.Total != -4 {
		t.Errorf("the farthest assignment: %+v, %v; want a total of -4", far, err)
	}
	near, err := Match(x, y, func(x, y []float32) float64 { return math.Abs(float64(x[0] - y[0])) })
	if err != nil || !slices.Equal(near.Column, []int{1, 2, 0}) {
		t.Errorf("the nearest assignment: %+v, %v; want [1 2 0]", near, err)
	}
}

func TestPointsRefuse(t *testing.T) {
	one := transport.Points{Dim: 1, Data: []float32{1}}
	two := transport.Points{Dim: 1, Data: []float32{1, 2}}
	plane := transport.Points{Dim: 2, Data: []float32{1, 2}}
	for _, c := range []struct {
		x, y transport.Points
		p    float64
		says string
	}{
		{one, two, 2, "1 and 2 points"},
		{one, plane, 2, "dimension 1 and 2"},
		{transport.Points{}, one, 2, "no points"},
		{one, transport.Points{Dim: 1}, 2, "no points"},
		{one, transport.Points{Dim: 1, Data: []float32{float32(math.NaN())}}, 2, "NaN"},
		{one, one, 0.5, "p ≥ 1"},
		{one, one, math.NaN(), "p ≥ 1"},
		{one, one, math.Inf(1), "p ≥ 1"},
		{transport.NewPoints(Limit+1, 1), transport.NewPoints(Limit+1, 1), 2, "subsample"},
	} {
		if d, err := Wasserstein(c.x, c.y, c.p); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, %v; want an error that says %q", d, err, c.says)
		}
	}
	if _, err := Match(one, one, nil); err == nil {
		t.Error("no cost was taken")
	}
	// Large points are no reason to fail as long as the costs are numbers.
	far := transport.Points{Dim: 1, Data: []float32{3e38}}
	if d, err := Wasserstein(far, transport.Points{Dim: 1, Data: []float32{-3e38}}, 2); err != nil || !(math.Abs(d-6e38) <= 1e32) {
		t.Errorf("%v, %v; want 6e38", d, err)
	}
}

// W_p scales with the points, tends to the bottleneck as p grows, and does not
// vanish beside pairs that are much farther apart than those of the solution.
func TestWassersteinAtEveryScale(t *testing.T) {
	x := transport.Points{Dim: 1, Data: []float32{0, 1, 4}}
	y := transport.Points{Dim: 1, Data: []float32{0.5, 1.25, 5}} // ½, ¼ and 1 apart
	for _, p := range []float64{3, 20, 50, 1e5} {
		want := math.Pow((math.Pow(0.5, p)+math.Pow(0.25, p)+1)/3, 1/p)
		for _, scale := range []float32{1, 0x1p-70, 0x1p-24, 0x1p50, 0x1p100} {
			sx, sy := x.Clone(), y.Clone()
			for i := range sx.Data {
				sx.Data[i] *= scale
				sy.Data[i] *= scale
			}
			if d, err := Wasserstein(sx, sy, p); err != nil || !(math.Abs(d/float64(scale)-want) <= 1e-9) {
				t.Errorf("p = %v, scale %v: %v, %v; want %v times that", p, scale, d, err, want)
			}
		}
		square := transport.Points{Dim: 2, Data: []float32{0, 0, 0, 1, 1e6, 0}}
		corner := transport.Points{Dim: 2, Data: []float32{1e-4, 0, 0, 1.0001, 1e6, 1e-4}}
		if d, err := Wasserstein(square, corner, p); err != nil || !(math.Abs(d-1e-4) <= 2e-7) {
			t.Errorf("p = %v, with far pairs: %v, %v; want 1e-4", p, d, err)
		}
	}
	// In a row, everyone moving by 1 costs W_1 as much as one moving by 3.
	row := transport.Points{Dim: 1, Data: []float32{0, 1, 2}}
	next := transport.Points{Dim: 1, Data: []float32{3, 2, 1}}
	if d, err := Wasserstein(row, next, 1e4); err != nil || !(math.Abs(d-1) <= 1e-9) {
		t.Errorf("W_10,000 of a row and its next: %v, %v; want 1", d, err)
	}
}

func ExampleWasserstein() {
	x := transport.Points{Dim: 2, Data: []float32{0, 0, 1, 0}}
	y := transport.Points{Dim: 2, Data: []float32{1, 3, 0, 3}}
	d, err := Wasserstein(x, y, 2)
	fmt.Println(d, err)
	// Output: 3 <nil>
}

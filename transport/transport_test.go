package transport

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func normals(rng *rand.Rand, n int, scale float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = scale * float32(rng.NormFloat64())
	}
	return v
}

func TestSortAgreesWithTheStandardLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s Sorter // one for all sizes: its scratch memory is reused
	for _, n := range []int{0, 1, 2, 3, 17, 1000, 70_000, 5} {
		values := normals(rng, n, 3)
		for i := range values {
			switch rng.IntN(10) {
			case 0:
				values[i] = float32(rng.IntN(3) - 1) // ties and both zeros
			case 1:
				values[i] = float32(math.Inf(1 - 2*rng.IntN(2)))
			case 2:
				values[i] *= 1e-40 // subnormal
			}
		}
		order := slices.Clone(s.Argsort(values))
		sorted := slices.Clone(values)
		s.Sort(sorted)
		want := slices.Clone(values)
		slices.Sort(want)
		if !slices.Equal(sorted, want) {
			t.Fatalf("n = %d: Sort differs from slices.Sort", n)
		}
		for rank, i := range order {
			if values[i] != want[rank] {
				t.Fatalf("n = %d: Argsort[%d] = %d gives %v, want %v", n, rank, i, values[i], want[rank])
			}
			if rank > 0 && math.Float32bits(values[order[rank-1]]) == math.Float32bits(values[i]) && order[rank-1] > i {
				t.Fatalf("n = %d: equal values not in the order of their indices", n)
			}
		}
	}
}

func TestQuantileInvertsCDF(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, n := range []int{2, 3, 10, 1000} {
		sorted := normals(rng, n, 1)
		slices.Sort(sorted)
		q := SampleQuantile(sorted)
		for i, v := range sorted {
			if u := CDF(sorted, v); math.Abs(u-float64(i)/float64(n-1)) > 1e-12 {
				t.Errorf("n = %d: F(x_%d) = %v", n, i, u)
			}
		}
		for range 100 {
			z := sorted[0] + rng.Float32()*(sorted[n-1]-sorted[0])
			if back := q.At(CDF(sorted, z)); math.Abs(float64(back-z)) > 1e-5 {
				t.Errorf("n = %d: F⁻¹(F(%v)) = %v", n, z, back)
			}
		}
	}
}

func TestCDFsWalkEqualsCDF(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{1, 2, 7, 500} {
		sorted := normals(rng, n, 1)
		queries := append(normals(rng, 300, 2), sorted...) // inside, outside and exactly on
		sorted = append(sorted, sorted[0])                 // a tie
		slices.Sort(sorted)
		slices.Sort(queries)
		levels := make([]float64, len(queries))
		CDFs(levels, sorted, queries)
		for i, z := range queries {
			if want := CDF(sorted, z); levels[i] != want {
				t.Fatalf("n = %d: CDFs gives %v at %v, CDF %v", n, levels[i], z, want)
			}
			if i > 0 && levels[i] < levels[i-1] {
				t.Fatalf("n = %d: F falls from %v to %v", n, levels[i-1], levels[i])
			}
		}
	}
}

func TestBinQuantileReachesBeyondItsMeans(t *testing.T) {
	// Four bins of the uniform distribution on [0, 1]: means 1/8, 3/8, … and
	// the quantile function u itself, also in the outer half bins.
	q := BinQuantile([]float32{0.125, 0.375, 0.625, 0.875})
	for _, u := range []float64{0, 0.1, 0.125, 0.5, 0.9, 1} {
		if got := q.At(u); math.Abs(float64(got)-u) > 1e-6 {
			t.Errorf("Q(%v) = %v", u, got)
		}
	}
	if got := BinQuantile([]float32{0.3}).At(0.9); got != 0.3 {
		t.Errorf("one bin: Q(0.9) = %v, want its mean", got)
	}
}

func TestCoupleHasBothMarginals(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {4, 6}, {5, 5}, {250, 10_000}, {30_000, 32}} {
		n, m := size[0], size[1]
		left, right := make([]int, n), make([]int, m)
		pairs, lastI, lastJ := 0, 0, 0
		Couple(n, m, func(i, j, mass int) {
			left[i] += mass
			right[j] += mass
			if i < lastI || j < lastJ || mass <= 0 {
				t.Fatalf("%v: pair (%d, %d) of mass %d after (%d, %d) is not monotone", size, i, j, mass, lastI, lastJ)
			}
			pairs, lastI, lastJ = pairs+1, i, j
		})
		for _, mass := range left {
			if mass != m {
				t.Fatalf("%v: a left marginal is %d, want %d", size, mass, m)
			}
		}
		for _, mass := range right {
			if mass != n {
				t.Fatalf("%v: a right marginal is %d, want %d", size, mass, n)
			}
		}
		if pairs > n+m-1 {
			t.Errorf("%v: %d pairs, want at most n+m−1", size, pairs)
		}
	}
}

func TestWassersteinOfDifferentSizesEqualsReplication(t *testing.T) {
	// Known answer: repeating every point changes no measure, so the distance
	// of samples of sizes n and m is that of n·m points each.
	rng := rand.New(rand.NewPCG(4, 1))
	for _, size := range [][2]int{{1, 5}, {3, 4}, {6, 9}, {10, 10}} {
		x, y := normals(rng, size[0], 1), normals(rng, size[1], 2)
		slices.Sort(x)
		slices.Sort(y)
		var xs, ys []float32
		for _, v := range x {
			xs = append(xs, slices.Repeat([]float32{v}, len(y))...)
		}
		for _, v := range y {
			ys = append(ys, slices.Repeat([]float32{v}, len(x))...)
		}
		for _, p := range []float64{1, 1.5, 2, 3} {
			if got, want := Wasserstein(x, y, p), Wasserstein(xs, ys, p); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v, p = %v: %v, replicated %v", size, p, got, want)
			}
		}
		mapped := Map(x, y)
		for i, target := range mapped {
			var mean float64
			for _, v := range ys[i*len(y) : (i+1)*len(y)] {
				mean += float64(v) / float64(len(y))
			}
			if math.Abs(mean-float64(target)) > 1e-5 {
				t.Errorf("%v: T(x_%d) = %v, want %v", size, i, target, mean)
			}
		}
	}
}

func TestWassersteinLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	x, y, z := normals(rng, 40, 1), normals(rng, 60, 1), normals(rng, 50, 3)
	for _, v := range [][]float32{x, y, z} {
		slices.Sort(v)
	}
	shifted := slices.Clone(x)
	for i := range shifted {
		shifted[i] += 2.5
	}
	for _, p := range []float64{1, 2, 4} {
		if d := Wasserstein(x, shifted, p); math.Abs(d-2.5) > 1e-5 {
			t.Errorf("p = %v: a translation by 2.5 is at distance %v", p, d)
		}
		if d := Wasserstein(x, x, p); d != 0 {
			t.Errorf("p = %v: distance to itself is %v", p, d)
		}
		xy, yx := Wasserstein(x, y, p), Wasserstein(y, x, p)
		if math.Abs(xy-yx) > 1e-9 {
			t.Errorf("p = %v: not symmetric: %v and %v", p, xy, yx)
		}
		if xz, zy := Wasserstein(x, z, p), Wasserstein(z, y, p); xy > xz+zy+1e-9 {
			t.Errorf("p = %v: triangle inequality fails: %v > %v + %v", p, xy, xz, zy)
		}
	}
	if d := Wasserstein([]float32{1}, []float32{4}, 3); math.Abs(d-3) > 1e-9 {
		t.Errorf("two Diracs 3 apart are at distance %v", d)
	}
	if d := Wasserstein(nil, x, 2); !math.IsNaN(d) {
		t.Errorf("distance to an empty sample is %v, want NaN", d)
	}
}

func TestPointsCheckNamesTheRow(t *testing.T) {
	good := Points{Dim: 2, Data: []float32{1, 2, 3, 4}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]Points{
		"no points":        {Dim: 2},
		"do not divide":    {Dim: 2, Data: []float32{1, 2, 3}},
		"dimension 0":      {},
		"point 1 has NaN":  {Dim: 2, Data: []float32{1, 2, float32(math.NaN()), 4}},
		"point 0 has +Inf": {Dim: 2, Data: []float32{1, float32(math.Inf(1)), 3, 4}},
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: error %v, want it to say %q", bad, err, name)
		}
	}
}

func TestOnSphereBoundsEveryRow(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := Points{Dim: 2, Data: []float32{3, 4, 0, 0, nan, 1, inf, -1, 1e-30, 1e-30, 3e38, 3e38}}
	p.OnSphere()
	if p.Data[0] != 0.6 || p.Data[1] != 0.8 {
		t.Errorf("(3, 4) became %v", p.Row(0))
	}
	for i := range p.Len() {
		if norm := math.Hypot(float64(p.Row(i)[0]), float64(p.Row(i)[1])); math.Abs(norm-1) > 1e-6 {
			t.Errorf("row %d has norm %v after OnSphere", i, norm)
		}
	}
}

func TestWithinBoundsEveryRow(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := Points{Dim: 2, Data: []float32{0.3, 0.4, 3, 4, nan, 1, inf, 0, 3e38, 3e38, 0, 0}}
	q := p.Within(1)
	for i := range q.Len() {
		if norm := math.Hypot(float64(q.Row(i)[0]), float64(q.Row(i)[1])); !(norm <= 1+1e-6) {
			t.Errorf("row %v became %v", p.Row(i), q.Row(i))
		}
	}
	if !slices.Equal(q.Row(0), p.Row(0)) {
		t.Errorf("a row inside became %v", q.Row(0))
	}
	if p.Data[2] != 3 {
		t.Error("Within changed its receiver")
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 1))
	values := normals(rng, 10_000, 1)
	b.Run("radix", func(b *testing.B) {
		var s Sorter
		buffer := make([]float32, len(values))
		for b.Loop() {
			copy(buffer, values)
			s.Sort(buffer)
		}
	})
	b.Run("slices.Sort", func(b *testing.B) {
		buffer := make([]float32, len(values))
		for b.Loop() {
			copy(buffer, values)
			slices.Sort(buffer)
		}
	})
	b.Run("argsort", func(b *testing.B) {
		var s Sorter
		for b.Loop() {
			s.Argsort(values)
		}
	})
}

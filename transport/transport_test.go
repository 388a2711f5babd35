package transport

import (
	"cmp"
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
	for _, n := range []int{0, 1, 2, 3, 17, few, few + 1, 1000, 70_000, 5} {
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
		if again, ranked := s.Rank(values); !slices.Equal(again, order) || !slices.EqualFunc(again, ranked, func(i int32, v float32) bool { return values[i] == v }) {
			t.Fatalf("n = %d: Rank differs from Argsort", n)
		}
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

// Doubles that single precision makes equal, infinite or 0 are told apart all the same.
func TestArgsortDoublesTellsNeighboursApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var s Sorter
	for name, draw := range map[string]func() float64{
		"normals":    rng.NormFloat64,
		"next to 1":  func() float64 { return 1 + rng.Float64()*1e-12 },
		"next to 0":  func() float64 { return rng.NormFloat64() * 1e-300 },
		"beyond":     func() float64 { return rng.NormFloat64() * 1e300 },
		"ties":       func() float64 { return float64(rng.IntN(3) - 1) },
		"both zeros": func() float64 { return math.Copysign(0, rng.NormFloat64()) },
		"everything": func() float64 { return math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000) },
	} {
		for _, n := range []int{0, 1, 2, few, few + 1, 3000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = draw()
			}
			order := s.ArgsortDoubles(values)
			seen := make([]bool, n)
			for rank, i := range order {
				if seen[i] {
					t.Fatalf("%s: %d twice", name, i)
				}
				seen[i] = true
				if rank == 0 {
					continue
				}
				before := order[rank-1]
				if !(values[before] <= values[i]) || values[before] == values[i] && before > i {
					t.Fatalf("%s, n = %d: %v of %d stands before %v of %d", name, n, values[before], before, values[i], i)
				}
			}
			if len(order) != n {
				t.Fatalf("%s: an order of %d for %d values", name, len(order), n)
			}
		}
	}
}

// cdf is F(z) of the sorted sample by binary search.
func cdf(sorted []float32, z float32) float64 {
	below, _ := slices.BinarySearch(sorted, z)
	notAbove := below
	for notAbove < len(sorted) && sorted[notAbove] == z {
		notAbove++
	}
	return level(sorted, below, notAbove, z)
}

func TestQuantileInvertsCDF(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, n := range []int{2, 3, 10, 1000} {
		sorted := normals(rng, n, 1)
		slices.Sort(sorted)
		q := SampleQuantile(sorted)
		for i, v := range sorted {
			if u := cdf(sorted, v); !(math.Abs(u-float64(i)/float64(n-1)) <= 1e-12) {
				t.Errorf("n = %d: F(x_%d) = %v", n, i, u)
			}
		}
		for range 100 {
			z := sorted[0] + rng.Float32()*(sorted[n-1]-sorted[0])
			if back := q.At(cdf(sorted, z)); !(math.Abs(float64(back-z)) <= 1e-5) {
				t.Errorf("n = %d: F⁻¹(F(%v)) = %v", n, z, back)
			}
		}
	}
}

func TestCDFsWalkFindsWhatASearchDoes(t *testing.T) {
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
			if want := cdf(sorted, z); levels[i] != want {
				t.Fatalf("n = %d: CDFs gives %v at %v, a search %v", n, levels[i], z, want)
			}
			if i > 0 && !(levels[i] >= levels[i-1]) {
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
		if got := q.At(u); !(math.Abs(float64(got)-u) <= 1e-6) {
			t.Errorf("Q(%v) = %v", u, got)
		}
	}
	if got := BinQuantile([]float32{0.3}).At(0.9); got != 0.3 {
		t.Errorf("one bin: Q(0.9) = %v, want its mean", got)
	}
}

func TestPointsCheckNamesTheRow(t *testing.T) {
	good := Points{Dim: 2, Data: []float32{1, 2, 3, 4}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]Points{
		"no points":        {Dim: 2},
		"dimension 0":      {Data: []float32{1}},
		"do not divide":    {Dim: 2, Data: []float32{1, 2, 3}},
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
		if norm := math.Hypot(float64(p.Row(i)[0]), float64(p.Row(i)[1])); !(math.Abs(norm-1) <= 1e-6) {
			t.Errorf("row %d has norm %v after OnSphere", i, norm)
		}
	}
}

// All stand at one point but the first, on the sphere like them and at the angle asked for.
func TestAnOutlierStandsAtItsAngle(t *testing.T) {
	for _, cos := range []float64{-1, -0.5, 0, 0.3, 1} {
		p := WithOutlier(3, 4, cos)
		if p.Len() != 3 || p.Dim != 4 {
			t.Fatalf("%d points of dimension %d", p.Len(), p.Dim)
		}
		for i, want := range []float64{cos, 1, 1} { // inner products with the last
			var norm, inner float64
			for c, v := range p.Row(i) {
				norm, inner = math.Hypot(norm, float64(v)), inner+float64(v)*float64(p.Row(2)[c])
			}
			if !(math.Abs(norm-1) < 1e-7 && math.Abs(inner-want) < 1e-7) {
				t.Errorf("cos %v: point %d has norm %v and inner product %v, want 1 and %v", cos, i, norm, inner, want)
			}
		}
	}
	if none, line := WithOutlier(0, 4, 0.5), WithOutlier(2, 1, -1); none.Len() != 0 || line.Data[0] != -1 || line.Data[1] != 1 {
		t.Errorf("of nobody %v, on the line %v", none, line)
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
	for _, none := range []float64{0, -1, math.NaN()} {
		if q := p.Within(none); slices.ContainsFunc(q.Data, func(v float32) bool { return v != 0 }) {
			t.Errorf("within %v there are %v", none, q.Data)
		}
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
	doubles := widened(values)
	b.Run("argsort of doubles", func(b *testing.B) {
		var s Sorter
		for b.Loop() {
			s.ArgsortDoubles(doubles)
		}
	})
	b.Run("slices.SortFunc of doubles' places", func(b *testing.B) {
		order := make([]int32, len(doubles))
		for b.Loop() {
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortFunc(order, func(a, b int32) int {
				return cmp.Or(cmp.Compare(doubles[a], doubles[b]), cmp.Compare(a, b))
			})
		}
	})
}

// What there is nothing to say about is NaN, and no panic.
func TestQuantilesOfNothingAndOfOne(t *testing.T) {
	nothing := []float64{0}
	CDFs(nothing, nil, []float32{1})
	for name, v := range map[string]float64{
		"Quantile":       float64(Quantile{}.At(0.5)),
		"SampleQuantile": float64(SampleQuantile(nil).At(0.5)),
		"BinQuantile":    float64(BinQuantile(nil).At(0.5)),
		"CDFs":           nothing[0],
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s of nothing: %v", name, v)
		}
	}
	levels := make([]float64, 3)
	CDFs(levels, []float32{0}, []float32{-5, 0, 5})
	if levels[0] != 0 || levels[1] != 0.5 || levels[2] != 1 {
		t.Errorf("F of one value below, at and above it: %v, want 0, 0.5 and 1", levels)
	}
}

package metric

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"molehill/pkg/npy"
	"molehill/transport"
)

// diagonal is a Gaussian with independent coordinates.
func diagonal(mean, variances []float64) *Statistics {
	s := &Statistics{Count: 1000, Mean: mean, Covariance: mat.NewSymDense(len(mean), nil)}
	for i, v := range variances {
		s.Covariance.SetSym(i, i, v)
	}
	return s
}

// turned is the same Gaussian in coordinates turned by the matrix q.
func (s *Statistics) turned(q mat.Matrix) *Statistics {
	var mean mat.VecDense
	mean.MulVec(q, mat.NewVecDense(s.Dim(), append([]float64(nil), s.Mean...)))
	var left, both mat.Dense
	left.Mul(q, s.Covariance)
	both.Mul(&left, q.T())
	out := diagonal(mean.RawVector().Data, make([]float64, s.Dim()))
	for i := range s.Dim() {
		for j := i; j < s.Dim(); j++ {
			out.Covariance.SetSym(i, j, (both.At(i, j)+both.At(j, i))/2)
		}
	}
	return out
}

// rotation is a random orthogonal matrix.
func rotation(dim int, rng *rand.Rand) *mat.Dense {
	m := mat.NewDense(dim, dim, nil)
	for i := range dim {
		for j := range dim {
			m.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(m)
	q := new(mat.Dense)
	qr.QTo(q)
	return q
}

func TestFrechetInClosedForm(t *testing.T) {
	// For covariances that commute it is ‖μ₁−μ₂‖² + Σ (√λ₁ − √λ₂)².
	rng := rand.New(rand.NewPCG(1, 5))
	q := rotation(6, rng)
	for name, c := range map[string]struct {
		meanA, varA, meanB, varB []float64
		want                     float64
	}{
		"one dimension":  {[]float64{1}, []float64{4}, []float64{3}, []float64{9}, 4 + 1},
		"equal":          {[]float64{1, 2}, []float64{4, 5}, []float64{1, 2}, []float64{4, 5}, 0},
		"apart":          {[]float64{0, 0}, []float64{1, 1}, []float64{3, 4}, []float64{1, 1}, 25},
		"commuting":      {[]float64{0, 0, 0}, []float64{1, 4, 9}, []float64{0, 0, 0}, []float64{4, 1, 16}, 1 + 1 + 1},
		"singular":       {[]float64{0, 0, 0}, []float64{1, 0, 0}, []float64{0, 0, 0}, []float64{4, 0, 9}, 1 + 0 + 9},
		"disjoint":       {[]float64{0, 0}, []float64{1, 0}, []float64{0, 0}, []float64{0, 4}, 1 + 4},
		"a point":        {[]float64{1, 1}, []float64{0, 0}, []float64{0, 1}, []float64{2, 3}, 1 + 5},
		"two points":     {[]float64{1, 1}, []float64{0, 0}, []float64{0, 1}, []float64{0, 0}, 1},
		"badly scaled":   {[]float64{0, 0, 0}, []float64{1e8, 1, 1e-8}, []float64{0, 0, 0}, []float64{1e8, 4, 4e-8}, 1 + 1e-8},
		"six dimensions": {make([]float64, 6), []float64{1, 2, 3, 4, 5, 6}, make([]float64, 6), []float64{0, 0, 3, 16, 5, 24}, 1 + 2 + 0 + 4 + 0 + 6},
	} {
		a, b := diagonal(c.meanA, c.varA), diagonal(c.meanB, c.varB)
		// Sums are rounded as the largest variances are, of 1e8 to about 5e-8.
		const tolerance = 1e-6
		for side, pair := range map[string][2]*Statistics{"as it is": {a, b}, "the other way": {b, a}} {
			if d, err := FrechetDistance(pair[0], pair[1]); err != nil || !(math.Abs(d-c.want) <= tolerance) {
				t.Errorf("%s, %s: %v, %v; want %v", name, side, d, err, c.want)
			}
		}
		if len(c.meanA) == 6 { // turned, the factors are no longer diagonal
			if d, err := FrechetDistance(a.turned(q), b.turned(q)); err != nil || !(math.Abs(d-c.want) <= 1e-6) {
				t.Errorf("%s, turned: %v, %v; want %v", name, d, err, c.want)
			}
		}
	}
}

func TestFrechetOfCovariancesThatDoNotCommute(t *testing.T) {
	// tr (Σ₁Σ₂)^½ of 2×2 matrices is √(tr Σ₁Σ₂ + 2 √det Σ₁Σ₂).
	a := &Statistics{Count: 9, Mean: []float64{0, 0}, Covariance: mat.NewSymDense(2, []float64{2, 1, 1, 3})}
	b := &Statistics{Count: 9, Mean: []float64{0, 0}, Covariance: mat.NewSymDense(2, []float64{5, -2, -2, 1})}
	trace, determinant := 2*5-1*2-1*2+3*1., (2.*3-1)*(5*1-4)
	want := 2 + 3 + 5 + 1 - 2*math.Sqrt(trace+2*math.Sqrt(determinant))
	if d, err := FrechetDistance(a, b); err != nil || !(math.Abs(d-want) <= 1e-12) {
		t.Errorf("%v, %v; want %v", d, err, want)
	}
}

// generatedPoints are those of testdata/golden_fid.py.
func generatedPoints(seed uint32, n, dim int, scale, shift float64) transport.Points {
	state := seed
	x := make([]float64, n*dim)
	for i := range x {
		state = 1664525*state + 1013904223
		x[i] = float64(float32(float64((state>>16)%1000) / 1000))
	}
	p := transport.NewPoints(n, dim)
	for i := range n {
		for c := range dim {
			p.Row(i)[c] = float32(x[i*dim+c] + scale*x[i*dim+(c+dim-1)%dim] + shift)
		}
	}
	return p
}

func TestFrechetIsSciPys(t *testing.T) {
	var golden struct {
		Cases []struct {
			N, M, Dim int
			Distance  float64
		}
	}
	text, err := os.ReadFile("testdata/golden_fid.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range golden.Cases {
		x, y := generatedPoints(1, c.N, c.Dim, 0.5, 0), generatedPoints(2, c.M, c.Dim, -0.25, 0.125)
		v, err := Frechet{Features: c.Dim}.Measure(x, y, nil)
		if err != nil || !(math.Abs(v.Value-c.Distance) <= 1e-9*(1+c.Distance)) {
			t.Errorf("%d and %d points of dimension %d: %v, %v; want %v", c.N, c.M, c.Dim, v.Value, err, c.Distance)
		}
	}
}

func TestFrechetWithFewerPointsThanDimensions(t *testing.T) {
	// With X and Y the centred points, tr (Σ₁Σ₂)^½ is the sum of the singular
	// values of XYᵀ over √((n−1)(m−1)), which has no singular matrix in it.
	const n, m, dim = 20, 30, 100
	x, y := generatedPoints(3, n, dim, 0.5, 0), generatedPoints(4, m, dim, 0.25, 0)
	centred := func(p transport.Points) (*mat.Dense, []float64, float64) {
		mean, c := make([]float64, dim), mat.NewDense(p.Len(), dim, nil)
		for i := range p.Len() {
			for k, v := range p.Row(i) {
				mean[k] += float64(v) / float64(p.Len())
			}
		}
		var trace float64
		for i := range p.Len() {
			for k, v := range p.Row(i) {
				c.Set(i, k, float64(v)-mean[k])
				trace += c.At(i, k) * c.At(i, k) / float64(p.Len()-1)
			}
		}
		return c, mean, trace
	}
	a, meanA, traceA := centred(x)
	b, meanB, traceB := centred(y)
	var product mat.Dense
	product.Mul(a, b.T())
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		t.Fatal("no singular values")
	}
	want := traceA + traceB
	for _, v := range svd.Values(nil) {
		want -= 2 * v / math.Sqrt((n-1)*(m-1))
	}
	for k := range meanA {
		want += (meanA[k] - meanB[k]) * (meanA[k] - meanB[k])
	}
	v, err := Frechet{Features: dim}.Measure(x, y, nil)
	if err != nil || !(math.Abs(v.Value-want) <= 1e-6) {
		t.Errorf("%v, %v; want %v", v, err, want)
	}
	if !strings.Contains(v.Note, "20 are too few for 100 features") {
		t.Errorf("the note %q does not tell of too few points", v.Note)
	}
	if v, err := (Frechet{Features: dim}).Measure(x, x, nil); err != nil || !(v.Value <= 1e-6) {
		t.Errorf("%v from the points to themselves, %v", v, err)
	}
}

// Samples of one law are next to each other, one is no distance from itself, and noise
// takes them apart the more there is of it, by as much as the closed form says: the
// covariance's roots grow from √v to √(v + s²).
func TestFrechetGrowsWithNoise(t *testing.T) {
	const n, dim = 4000, 12
	rng := rand.New(rand.NewPCG(3, 7))
	sample := func() transport.Points {
		p := transport.NewPoints(n, dim)
		for i := range p.Data {
			p.Data[i] = float32(rng.NormFloat64() * float64(1+i%dim)) // variances 1, 4 … 144
		}
		return p
	}
	between := func(a, b transport.Points) float64 {
		v, err := Frechet{Features: dim}.Measure(a, b, rng)
		if err != nil {
			t.Fatal(err)
		}
		return v.Value
	}
	real := sample()
	if d := between(real, real); !(math.Abs(d) <= 1e-6) {
		t.Errorf("%v from itself", d)
	}
	last := between(real, sample())
	if !(last < 1.5) { // 2·650/4000 for means, of a sum of variances of 650, and as much again for covariances
		t.Errorf("%v between samples of one law", last)
	}
	for _, noise := range []float64{1, 3, 10} {
		noisy := sample()
		var want float64
		for i := range noisy.Data {
			noisy.Data[i] += float32(noise * rng.NormFloat64())
		}
		for k := range dim {
			deviation := float64(1 + k)
			grown := math.Hypot(deviation, noise) - deviation
			want += grown * grown
		}
		d := between(noisy, real)
		if !(d > last && math.Abs(d-want) <= 1.5+0.1*want) {
			t.Errorf("noise %v: %v, want %v and more than %v", noise, d, want, last)
		}
		last = d
	}
}

func TestFIDsAreNotConfused(t *testing.T) {
	for name, features := range map[string]int{"fid": 2048, "fid-768": 768} {
		m, err := Registry.Lookup(name)
		if err != nil || m.(Frechet).Features != features {
			t.Fatalf("%s: %v, %v", name, m, err)
		}
		for _, other := range []int{8, 768, 2048} {
			if other == features {
				continue
			}
			s := diagonal(make([]float64, other), make([]float64, other))
			if v, err := m.(Frechet).Between(s, s); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %d features is %v, %v", name, other, v, err)
			}
		}
	}
}

func TestFrechetRefuses(t *testing.T) {
	good := diagonal([]float64{0, 0}, []float64{1, 1})
	for name, s := range map[string]*Statistics{
		"nothing":           nil,
		"empty":             {},
		"another dimension": diagonal([]float64{0}, []float64{1}),
		"NaN mean":          diagonal([]float64{math.NaN(), 0}, []float64{1, 1}),
		"infinite variance": diagonal([]float64{0, 0}, []float64{1, math.Inf(1)}),
		"NaN covariance":    {Count: 9, Mean: []float64{0, 0}, Covariance: mat.NewSymDense(2, []float64{1, math.NaN(), math.NaN(), 1})},
		"negative variance": diagonal([]float64{0, 0}, []float64{-1, 1}),
	} {
		if d, err := FrechetDistance(good, s); err == nil {
			t.Errorf("%s: %v", name, d)
		}
		if v, err := (Frechet{Features: 2}).Between(s, good); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
	if _, err := NewStatistics(transport.NewPoints(1, 3)); err == nil {
		t.Error("one point has statistics")
	}
	if _, err := NewStatistics(transport.Points{Dim: 3}); err == nil {
		t.Error("no points have statistics")
	}
}

func TestStatisticsOfManyBlocks(t *testing.T) {
	// More rows and columns than are taken at once, against the definition.
	const n, dim = rowsAtOnce + 37, columnsAtOnce + 11
	p := generatedPoints(5, n, dim, 0.5, 100)
	s, err := NewStatistics(p)
	if err != nil || s.Count != n {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{0, 0}, {0, 1}, {0, dim - 1}, {dim - 1, dim - 1}, {255, 256}, {256, 255}, {256, 257}, {10, 200}} {
		var mean [2]float64
		for i := range n {
			for side, c := range at {
				mean[side] += float64(p.Row(i)[c]) / n
			}
		}
		var sum float64
		for i := range n {
			sum += (float64(p.Row(i)[at[0]]) - mean[0]) * (float64(p.Row(i)[at[1]]) - mean[1])
		}
		if got, want := s.Covariance.At(at[0], at[1]), sum/(n-1); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("covariance of %v is %v, want %v", at, got, want)
		}
		if !(math.Abs(s.Mean[at[0]]-mean[0]) <= 1e-9) {
			t.Errorf("mean %d is %v, want %v", at[0], s.Mean[at[0]], mean[0])
		}
	}
}

func TestStatisticsComeBack(t *testing.T) {
	s, err := NewStatistics(generatedPoints(6, 40, 5, 0.5, 1))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.Save(&b); err != nil {
		t.Fatal(err)
	}
	back, err := LoadStatistics(bytes.NewReader(b.Bytes()))
	if err != nil || back.Count != 40 || !mat.Equal(back.Covariance, s.Covariance) {
		t.Fatalf("%v, %v", back, err)
	}
	for i, v := range s.Mean {
		if back.Mean[i] != v {
			t.Errorf("mean %v became %v", s.Mean, back.Mean)
		}
	}
	for _, damaged := range [][]byte{nil, b.Bytes()[:b.Len()/2], bytes.Replace(b.Bytes(), []byte(`"dim": 5`), []byte(`"dim": 4`), 1)} {
		if _, err := LoadStatistics(bytes.NewReader(damaged)); err == nil {
			t.Error("damaged statistics were loaded")
		}
	}
	// Other programs' archives may hold what no covariance is, or too few points for one.
	for want, c := range map[string]struct {
		count int
		sigma []float64
	}{"": {9, []float64{2, 1, 1, 3}}, "not symmetric: 0.5 and 1 at 1, 0": {9, []float64{2, 1, 0.5, 3}}, "of 1 points": {1, []float64{2, 1, 1, 3}}, "the variance -3": {9, []float64{2, 1, 1, -3}}, "NaN and NaN at 1, 0": {9, []float64{2, math.NaN(), math.NaN(), 3}}} {
		var b bytes.Buffer
		if err := npy.WriteArchive(&b, statisticsMeta{statisticsFormat, c.count, 2}, []npy.Array[float64]{
			{Name: "mu", Shape: []int{2}, Value: []float64{0, 0}}, {Name: "sigma", Shape: []int{2, 2}, Value: c.sigma},
		}); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadStatistics(&b); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d points with %v: %+v, %v; want an error that says %q", c.count, c.sigma, s, err, want)
		}
	}
}

func TestStatisticsAreCached(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	computed := 0
	get := func(key string, seed uint32) *Statistics {
		t.Helper()
		s, err := CachedStatistics(key, func() (*Statistics, error) {
			computed++
			return NewStatistics(generatedPoints(seed, 9, 3, 0.5, 0))
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, again, other := get("a", 1), get("a", 2), get("b", 2)
	if computed != 2 || !mat.Equal(first.Covariance, again.Covariance) || mat.Equal(first.Covariance, other.Covariance) {
		t.Errorf("computed %d times: %v, %v, %v", computed, first, again, other)
	}
	files, err := filepath.Glob(filepath.Join(cache, "molehill", "statistics", "*"))
	if filepath.Base(cache) == "" || err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files { // damage is computed again
		if err := os.WriteFile(f, []byte("damage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if get("a", 1); computed != 3 {
		t.Errorf("computed %d times, want 3", computed)
	}
	wrong := errors.New("wrong")
	if _, err := CachedStatistics("c", func() (*Statistics, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v, want %v", err, wrong)
	}
}

func FuzzLoadStatistics(f *testing.F) {
	var b bytes.Buffer
	if err := diagonal([]float64{1, 2}, []float64{3, 4}).Save(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := LoadStatistics(bytes.NewReader(data)); err == nil && s.check() != nil {
			t.Errorf("%+v was loaded", s)
		}
	})
}

package noise

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// kolmogorov returns √n times the greatest distance between the empirical
// distribution of xs (sorted in place) and N(0, sigma²).
func kolmogorov(xs []float64, sigma float64) float64 {
	slices.Sort(xs)
	n, worst := float64(len(xs)), 0.0
	for i, x := range xs {
		p := math.Erfc(-x/sigma/math.Sqrt2) / 2
		worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
	}
	return math.Sqrt(n) * worst
}

// kolmogorovBound is exceeded with probability 2·exp(−2·2.7²) < 10⁻⁶ by the
// right distribution (Massart's constant of the DKW inequality): the
// false-alarm rate of each test that uses it, over keys.
const kolmogorovBound = 2.7

func correlation(xs, ys []float64) float64 {
	var sum float64
	for i := range xs {
		sum += xs[i] * ys[i]
	}
	return sum / math.Sqrt(float64(len(xs)))
}

func TestNoiseIsGaussianAndTheTestHasPower(t *testing.T) {
	const n, sigma = 1 << 20, 0.7
	draws := map[string]func(dst []float64) error{
		"Normal64": func(dst []float64) error { return Seeded(1).Normal64(dst, sigma, "ks", 0) },
		"Normal": func(dst []float64) error {
			single := make([]float32, len(dst))
			err := Seeded(2).Normal(single, sigma, "ks", 0)
			for i, x := range single {
				dst[i] = float64(x)
			}
			return err
		},
		"Release": func(dst []float64) error { return Seeded(3).Release(dst, make([]float64, len(dst)), sigma, 0, "ks", 0) },
	}
	for name, draw := range draws {
		xs := make([]float64, n)
		if err := draw(xs); err != nil {
			t.Fatal(err)
		}
		if d := kolmogorov(xs, sigma); !(d <= kolmogorovBound) {
			t.Errorf("%s: Kolmogorov–Smirnov %.3g > %v", name, d, kolmogorovBound)
		}
		// Power: noise of the wrong scale must be caught, at a thousandth of the draws.
		for _, wrong := range []float64{2. / 3, 3. / 2} {
			few := make([]float64, 1024)
			for i := range few {
				few[i] = xs[i*1024] * wrong
			}
			if d := kolmogorov(few, sigma); !(d > kolmogorovBound) {
				t.Errorf("%s: %.2f times the scale passes the test (%.3g)", name, wrong, d)
			}
		}
	}
}

func TestTailsHaveTheirMass(t *testing.T) {
	const n = 1 << 23
	xs := make([]float32, n)
	if err := Seeded(4).Normal(xs, 1, "tails", 0); err != nil {
		t.Fatal(err)
	}
	// One boundary inside, one at, and the rest beyond the end of the lowest layer.
	for _, bound := range []float64{3, 3.6541528853610088, 4, 5} {
		var beyond [2]float64
		for _, x := range xs {
			switch {
			case float64(x) > bound:
				beyond[0]++
			case float64(x) < -bound:
				beyond[1]++
			}
		}
		want := n * math.Erfc(bound/math.Sqrt2) / 2
		for side, got := range beyond {
			// 5 standard deviations of a Poisson count, and 5 for skewness: false alarm < 10⁻⁵.
			if !(math.Abs(got-want) <= 5*math.Sqrt(want)+5) {
				t.Errorf("side %d: %v draws beyond %v sigma, want %.1f", side, got, bound, want)
			}
		}
	}
}

// What is drawn beyond the lowest layer has the law of a normal there. Of all draws it is one
// in four thousand, too few for the tests above to see more of it than its mass.
func TestTheTailIsThatOfANormal(t *testing.T) {
	const n = 1 << 18
	src := Seeded(14).chacha("normal", "tail", 0, 0)
	xs, steeper := make([]float64, n), make([]float64, n)
	for i := range xs {
		x := beyondTail(src)
		// −log of the chance to lie farther, given the tail: an exponential.
		xs[i] = math.Log(math.Erfc(tail/math.Sqrt2)) - math.Log(math.Erfc(x/math.Sqrt2))
		steeper[i] = (x - tail) * tail // the exponential that is proposed
	}
	far := func(xs []float64) float64 {
		slices.Sort(xs)
		worst := 0.0
		for i, x := range xs {
			p := -math.Expm1(-x)
			worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
		}
		return math.Sqrt(n) * worst
	}
	if d := far(xs); !(d <= kolmogorovBound) {
		t.Errorf("Kolmogorov–Smirnov %.3g > %v", d, kolmogorovBound)
	}
	if d := far(steeper); !(d > 4*kolmogorovBound) {
		t.Errorf("without rejection it would be an exponential, which passes the test (%.3g)", d)
	}
}

func TestZigguratCloses(t *testing.T) {
	// The constants are right if the top layer ends at the top of the density.
	if top := height[layers-1] + area/edge[layers-1]; !(math.Abs(top-1) <= 1e-12) {
		t.Errorf("the layers reach %v, want 1", top)
	}
	for i := 1; i < layers; i++ {
		if of := edge[i] * (height[i+1] - height[i]); !(math.Abs(of/area-1) <= 1e-11) {
			t.Errorf("layer %d has the area %v, want %v", i, of, area)
		}
	}
	want := tail*math.Exp(-tail*tail/2) + math.Sqrt(math.Pi/2)*math.Erfc(tail/math.Sqrt2)
	if !(math.Abs(area/want-1) <= 1e-12) {
		t.Errorf("area = %v, want %v", area, want)
	}
}

func TestDrawsAreIndependent(t *testing.T) {
	const n = 2 * chunkLength
	draw := func(s Source, label string, step int) []float64 {
		xs := make([]float64, n)
		if err := s.Normal64(xs, 1, label, step); err != nil {
			t.Fatal(err)
		}
		return xs
	}
	base := draw(Seeded(5), "a", 1)
	others := map[string][]float64{
		"another label":  draw(Seeded(5), "b", 1),
		"a longer label": draw(Seeded(5), "a\x00", 1),
		"no label":       draw(Seeded(5), "", 1),
		"another step":   draw(Seeded(5), "a", 2),
		"step -1":        draw(Seeded(5), "a", -1),
		"another key":    draw(Seeded(6), "a", 1),
		"next value":     append(slices.Clone(base[1:]), base[0]),
		"another chunk":  append(slices.Clone(base[chunkLength:]), make([]float64, chunkLength)...),
	}
	release := make([]float64, n)
	if err := Seeded(5).Release(release, make([]float64, n), 1, 0, "a", 1); err != nil {
		t.Fatal(err)
	}
	others["release"] = release
	squares := func(xs []float64) []float64 {
		ys := make([]float64, n)
		for i, x := range xs {
			ys[i] = (x*x - 1) / math.Sqrt2
		}
		return ys
	}
	for name, other := range others {
		// A normal's 5.5 standard deviations: false alarm 4·10⁻⁸ per comparison.
		if z := correlation(base, other); !(math.Abs(z) <= 5.5) {
			t.Errorf("%s: correlation of %.1f standard deviations", name, z)
		}
		if z := correlation(squares(base), squares(other)); !(math.Abs(z) <= 5.5) && name != "another chunk" {
			t.Errorf("%s: correlation of squares of %.1f standard deviations", name, z)
		}
	}
}

func TestNoiseDependsOnKeyLabelStepOnly(t *testing.T) {
	const n = 5*chunkLength + 17
	one, two, part := make([]float64, n), make([]float64, n), make([]float64, n/2)
	single := make([]float32, n)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := Seeded(7)
	for _, err := range []error{s.Normal64(one, 1.5, "x", 3), s.Normal64(part, 1.5, "x", 3), s.Normal(single, 1.5, "x", 3)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.GOMAXPROCS(2)
	resumed := Keyed(s.Key(), true)
	if err := resumed.Normal64(two, 1.5, "x", 3); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, two) || !slices.Equal(one[:n/2], part) {
		t.Error("noise changed with the number of cores, on resuming, or with the length")
	}
	for i := range one {
		if single[i] != float32(one[i]) {
			t.Fatal("Normal is not Normal64 rounded")
		}
	}
	if s.Stream("x", 3).Uint64() != resumed.Stream("x", 3).Uint64() || s.Stream("x", 3).Uint64() == s.Stream("x", 4).Uint64() {
		t.Error("streams are not functions of (key, label, step)")
	}
}

func TestBadScalesAreErrors(t *testing.T) {
	s, dst := Seeded(9), make([]float64, 3)
	for _, sigma := range []float64{-1, math.NaN(), math.Inf(1)} {
		if s.Normal64(dst, sigma, "", 0) == nil || s.Normal(make([]float32, 3), sigma, "", 0) == nil {
			t.Errorf("sigma %v: no error from Normal", sigma)
		}
		if s.Release(dst, dst, sigma, 0, "", 0) == nil {
			t.Errorf("sigma %v: no error from Release", sigma)
		}
	}
	if s.Release(dst, dst, 0, 0, "", 0) == nil {
		t.Error("Release without noise: no error")
	}
	if s.Release(dst, dst[:2], 1, 0, "", 0) == nil {
		t.Error("3 places for 2 values: no error")
	}
	if err := s.Normal64(nil, 1, "", 0); err != nil {
		t.Errorf("nothing to fill: %v", err)
	}
	ahead, err := s.Ahead(3, 1, 0, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if ahead.Release(dst[:2], dst[:2]) == nil || ahead.Release(dst, dst[:2]) == nil {
		t.Error("noise for 3 values was added to 2")
	}
}

func TestSourceHidesItsKey(t *testing.T) {
	s, err := Secure()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := Secure()
	if s.Research() || !strings.HasPrefix(s.Describe(), "secure") || s.Key() == other.Key() || s.Key() == (Source{}).Key() {
		t.Errorf("Secure gives %v", s)
	}
	if !(Source{}).Research() || !Seeded(1).Research() {
		t.Error("a known key does not call itself research")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if printed := fmt.Sprintf(format, s); printed != s.Describe() {
			t.Errorf("%s prints %s", format, printed)
		}
		printed := fmt.Sprintf(format, []any{s, &s, struct{ S Source }{s}, struct{ s Source }{s}})
		key := s.Key()
		for _, k := range []string{fmt.Sprintf("%x", key[:8]), fmt.Sprint(key[0], " ", key[1], " ", key[2])} {
			if strings.Contains(printed, k) {
				t.Errorf("%s prints the key: %s", format, printed)
			}
		}
	}
}

func BenchmarkNormal(b *testing.B) {
	dst := make([]float32, 1<<20)
	b.SetBytes(int64(4 * len(dst)))
	for i := 0; b.Loop(); i++ {
		if err := Seeded(1).Normal(dst, 1, "bench", i); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(dst))/b.Elapsed().Seconds()/1e6, "Mnormals/s")
}

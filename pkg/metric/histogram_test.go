package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/transport"
)

func TestHistogramsOfKnownLabels(t *testing.T) {
	for name, c := range map[string]struct {
		p, q []int
		want float64
	}{
		"equal":    {[]int{0, 1, 2, 2}, []int{2, 0, 1, 2, 2, 0, 1, 2}, 0},
		"disjoint": {[]int{0, 0}, []int{1, 2}, 1},
		// ¾ and ¼ against ¼ and ¾: ½·(½+½).
		"half": {[]int{0, 0, 0, 1}, []int{0, 1, 1, 1}, 0.5},
	} {
		h, err := CompareHistograms(c.p, c.q, 3)
		if err != nil || !(math.Abs(h.TotalVariation-c.want) <= 1e-12) {
			t.Errorf("%s: %+v, %v; want %v", name, h, err, c.want)
		}
	}
}

func TestHistogramFloorIsItsExpectation(t *testing.T) {
	// 400 pairs of samples of one law: the mean total variation is the floor
	// within 3 %, of which its standard error is 1 and the normal approximation's
	// error less than 1.
	rng := rand.New(rand.NewPCG(8, 1))
	labels := func(n int) []int {
		l := make([]int, n)
		for i := range l {
			l[i] = min(9, int(10*rng.Float64()*rng.Float64()*1.5))
		}
		return l
	}
	var total, floor float64
	for range 400 {
		h, err := CompareHistograms(labels(500), labels(800), 10)
		if err != nil {
			t.Fatal(err)
		}
		total, floor = total+h.TotalVariation/400, floor+h.Floor/400
	}
	if !(math.Abs(total/floor-1) <= 0.03) {
		t.Errorf("total variation %v on average, floor %v", total, floor)
	}
}

func TestKNN(t *testing.T) {
	line := func(v ...float32) transport.Points { return transport.Points{Dim: 1, Data: v} }
	c := KNN{K: 3, Points: line(0, 1, 2, 10, 11, 12), Labels: []int{0, 0, 1, 2, 2, 1}}
	if c.Classes() != 3 {
		t.Errorf("%d classes, want 3", c.Classes())
	}
	for k, want := range map[int][]int{
		1: {0, 1, 2, 1},
		3: {0, 0, 2, 2}, // (0 0 1), (1 0 0), (2 2 1), (1 2 2)
		2: {0, 1, 2, 1}, // one vote each: the nearest decides
	} {
		c.K = k
		got, err := c.Classify(line(-1, 2.2, 10.1, 13))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d neighbours: %v, %v; want %v", k, got, err, want)
		}
	}
}

func TestAgreementOfKnownLabels(t *testing.T) {
	// Three of four: √(¾·¼/4).
	if v := Agreement([]int{1, 2, 0, 1}, []int{1, 2, 0, 0}); v.Value != 0.75 || !(math.Abs(v.StandardError-math.Sqrt(3)/8) <= 1e-15) {
		t.Errorf("three of four agree by %+v", v)
	}
	if v := Agreement([]int{0, 1}, []int{1, 0}); v.Value != 0 || v.StandardError != 0 {
		t.Errorf("none of two agree by %+v", v)
	}
	if a, b := Agreement([]int{1, 2}, []int{1}), Agreement([]int{1}, []int{1, 2}); !math.IsNaN(a.Value) || !math.IsNaN(b.Value) {
		t.Errorf("of two labels and one they are %v and %v", a, b)
	}
	if v := Agreement(nil, nil); !math.IsNaN(v.Value) {
		t.Errorf("no labels agree by %+v", v)
	}
}

package circle

import (
	"errors"
	"math"
	"slices"
	"testing"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// steep are parameters whose outputs reach beyond M.
func steep() layer.Params {
	start := layer.Init(layers(), 1)
	for _, p := range start {
		for i := range p.Value {
			p.Value[i] *= 3
		}
	}
	return start
}

// What is spent grows from frame to frame, ends at the budget for the side that is
// protected, and is more for X, a record of which moves the gradient more.
func TestBothSidesAreAccountedFor(t *testing.T) {
	on := open(t)
	for _, both := range []bool{false, true} {
		c := settings("circle")
		c.Both = both
		x, z := normal(c.Records, noise.Seeded(1), "X"), Points(c.Records, noise.Seeded(1), "Z")
		w, claims, err := gradients(c, on, x, z, noise.Seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.close)
		var before [2]privacy.Epsilon
		for _, steps := range []int{0, 1, 3, 6} {
			now, err := w.spent(steps)
			if err != nil {
				t.Fatal(err)
			}
			if steps == 0 && now != before || steps > 0 && (!(now[ofX] > before[ofX] && now[ofZ] > before[ofZ] && now[ofX] > now[ofZ])) {
				t.Errorf("after %d steps %v is spent, and %v before them", steps, now, before)
			}
			before = now
		}
		protected := ofZ
		if both {
			protected = ofX
		}
		if got := float64(before[protected]); !(got <= 1 && got >= 0.999) {
			t.Errorf("both = %v: in the end %v is spent of ε = 1", both, got)
		}
		s, err := w.promise().Statement(noise.Seeded(2), claims)
		if err != nil || s.Epsilon() != before[protected] {
			t.Errorf("the statement proves %v and the last frame says %v: %v", s.Epsilon(), before[protected], err)
		}
	}
}

// One record of X or of Z, whichever it is and wherever it goes, moves the gradient
// by no more than the sensitivity of its side: each in turn is put to places far out
// and near by, and any two of them compared. Those of Z come to a third of
// the bound and more, which that of X would make less of.
func TestSidesByBruteForce(t *testing.T) {
	c := settings("circle")
	const n = 6
	w := &byGradients{config: c, x: normal(n, noise.Seeded(3), "X"), z: Points(n, noise.Seeded(3), "Z")}
	l, err := matching.New(open(t), matching.Model{Input: []int{2}, Outputs: 2, Inner: layers()}, steep(), train.Optimizer{Name: train.SGD})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	directions := sliced.Orthonormal(2, 3, noise.Seeded(4).Stream("directions", 0))
	clipped := c.clipping()
	clipped.Jacobian = 0.5 // so that all of them are clipped, as far as the network allows
	all := []int{0, 1, 2, 3, 4, 5}
	gradient := func(x, z transport.Points) []float64 {
		g, err := l.Gradient(matching.Batch{X: x.Data, Alpha: 1, Directions: directions, Pairs: []matching.Pair{{A: all, Points: z.Data}}}, clipped)
		if err != nil {
			t.Fatal(err)
		}
		return g.Values
	}
	c.Jacobian = clipped.Jacobian
	extremes := [][2]float32{{30, 0}, {-30, 0}, {0, 30}, {0, -30}, {-20, 20}, {0, 0}, {0.6, -0.6}}
	for side, points := range []transport.Points{w.x, w.z} {
		limit, err := c.limits(side).Sensitivity(n)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for i := range n {
			var all [][]float64
			for _, to := range extremes {
				moved := points.Clone()
				copy(moved.Row(i), to[:])
				sides := [2]transport.Points{w.x, w.z}
				sides[side] = moved
				after := gradient(sides[ofX], sides[ofZ])
				for _, other := range all {
					square := 0.0
					for k, v := range after {
						square += math.Pow(float64(v)-float64(other[k]), 2)
					}
					most = max(most, math.Sqrt(square)/limit.Value)
				}
				all = append(all, after)
			}
		}
		t.Logf("side %d: at most %.3f of the sensitivity %.4g", side, most, limit.Value)
		if least := []float64{0.15, 0.3}[side]; !(most <= 1 && most >= least) {
			t.Errorf("side %d: a record moves the gradient by %v of its sensitivity, want %v to 1", side, most, least)
		}
	}
}

// A step follows a gradient with the noise of the plan. Where all points are drawn, that of
// a training without a budget is the same but for the noise, whose root mean square of k
// numbers is off by 1/√(2k) (standard error); six of these fail once in 10⁹.
func TestAStepFollowsItsRelease(t *testing.T) {
	on := open(t)
	step := func(epsilon float64) (plan privacy.Plan, released []float64, moved []float32) {
		c := settings("circle")
		c.Records, c.Batch, c.Epsilon, c.Optimizer, c.Shorten, c.LearningRate = 100, 100, privacy.Epsilon(epsilon), train.SGD, false, 1e-3
		m, _, err := gradients(c, on, normal(c.Records, noise.Seeded(1), "X"), Points(c.Records, noise.Seeded(1), "Z"), noise.Seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.close)
		w := m.(*byGradients)
		release := w.plan.Releaser(noise.Seeded(2))
		release.Keep(func(_ int, values []float64) error { released = slices.Clone(values); return nil })
		if err := w.begin(release); err != nil {
			t.Fatal(err)
		}
		if err := w.step(0); err != nil {
			t.Fatal(err)
		}
		params, err := w.learner.Params()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range params {
			moved = append(moved, p.Value...)
		}
		return w.plan, released, moved
	}
	_, exact, to := step(math.Inf(1))
	plan, noisy, away := step(1)
	if len(exact) != plan.Coordinates || len(noisy) != plan.Coordinates || len(to) != plan.Coordinates {
		t.Fatalf("%d and %d numbers are released of %d", len(exact), len(noisy), plan.Coordinates)
	}
	var squares, walked float64
	for i, v := range noisy {
		squares += math.Pow(v-exact[i], 2)
		walked += math.Pow(float64(away[i]-to[i])/1e-3, 2)
	}
	k := float64(plan.Coordinates)
	for what, std := range map[string]float64{"released": math.Sqrt(squares / k), "followed": math.Sqrt(walked / k)} {
		if !(math.Abs(std/plan.NoiseStd-1) <= 6/math.Sqrt(2*k)+1e-3) || k < 500 {
			t.Errorf("%s is noise of %v in %v numbers, planned is %v", what, std, k, plan.NoiseStd)
		}
	}
}

// A gradient beyond 4ML is cut to that, any other is as it was.
func TestShorten(t *testing.T) {
	c := settings("circle") // 4ML = 8√2
	long, short := []float32{30, 0, 40}, []float32{3, 0, -4}
	for _, g := range [][]float32{long, short} {
		if err := shorten(c, g); err != nil {
			t.Fatal(err)
		}
	}
	if !(math.Abs(math.Hypot(float64(long[0]), float64(long[2]))-8*math.Sqrt2) <= 1e-4 && math.Abs(float64(long[0]*4-long[2]*3)) <= 1e-4) || !slices.Equal(short, []float32{3, 0, -4}) {
		t.Errorf("gradients become %v and %v", long, short)
	}
	if err := shorten(c, []float64{math.NaN()}); !errors.Is(err, train.ErrDiverged) {
		t.Errorf("error %v of NaN", err)
	}
}

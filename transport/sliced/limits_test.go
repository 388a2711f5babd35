package sliced

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"molehill/privacy"
)

// Every sensitivity of 004, and ours, against at least 10,000 neighbours each:
// one and two private sides, one dimension (Theorem 4.1) and several (Theorem
// A.1), the autoencoder of Section 6.2, statistical parity and equality of odds
// (Corollary C.1), private points as they are; random, tied, opposite and degenerate records, single
// records, and a search for the worst pair. Ours must hold, which makes the
// published ones hold, too; in one dimension it must be attained.
func TestGradientSensitivitiesByBruteForce(t *testing.T) {
	random, climbs, steps := 150, 5, 310
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		random, climbs, steps = 1200, 6, 2000
	}
	type bounds func(o Objective) (privacy.Sensitivity, error)
	one := func(o Objective) (privacy.Sensitivity, error) { return o.Limits.Sensitivity(o.Pairs[0].A) }
	both := func(o Objective) (privacy.Sensitivity, error) {
		return o.Limits.BothSensitivity(o.Pairs[0].A, o.Pairs[0].B)
	}
	all := Objective.Sensitivity
	for i, c := range []struct {
		name    string
		bound   bounds
		private int
		dim     int
		alpha   float64
		equal   bool // L₁ = L₂
		fixed   bool // L₂ = 0
		pairs   int
		whole   bool
		reach   float64 // of our bound, by the largest ratio over all shapes
	}{
		{"Theorem 4.1, one side", one, 1, 1, 1, false, false, 1, false, 0.999},
		{"Theorem 4.1, both sides", both, 2, 1, 1, false, false, 1, false, 0.999},
		{"Theorem 4.1, fixed targets", one, 1, 1, 1, false, true, 1, false, 0.999},
		{"Theorem A.1, one side, d = 3", one, 1, 3, 1, false, false, 1, false, 0.7},
		{"Theorem A.1, both sides, d = 2", both, 2, 2, 1, true, false, 1, false, 0.7},
		{"whole Jacobians, d = 2", one, 1, 2, 1, false, true, 1, true, 0.9},
		{"whole Jacobians, d = 3, L₁ = L₂", one, 1, 3, 1, true, false, 1, true, 0.55},
		{"autoencoder, d = 1", all, 1, 1, 0.4, false, true, 1, false, 0.99},
		{"autoencoder, d = 2", all, 1, 2, 0.4, false, true, 1, false, 0.7},
		{"statistical parity, d = 1", all, 2, 1, 0.6, true, false, 1, false, 0.99},
		{"statistical parity, d = 2", all, 2, 2, 0.6, true, false, 1, false, 0.7},
		{"equality of odds, d = 1", all, 2, 1, 0.6, true, false, 3, false, 0.99},
		{"equality of odds, d = 2", all, 2, 2, 0.6, true, false, 2, false, 0.7},
		{"private points, d = 1", all, 2, 1, 0.4, false, true, 1, false, 0.99},
		{"private points, d = 2", all, 2, 2, 0.4, false, true, 1, false, 0.65},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng, adversary := rand.New(rand.NewPCG(5, uint64(i))), rand.New(rand.NewPCG(4, uint64(i)))
			largest, published := 0., 0.
			const shapes = 6
			for shape := range shapes {
				g := game{private: c.private, dim: c.dim, whole: c.whole, u: Uniform(c.dim, 1+rng.IntN(4), rng)}
				if shape%2 == 0 {
					g.u = Orthonormal(c.dim, 1+rng.IntN(2), rng)
				}
				for range c.pairs {
					size := [2]int{1 + rng.IntN(5), 1 + rng.IntN(5)}
					switch {
					case shape == 0:
						size = [2]int{1, 1}
					case c.whole: // a point for each end of each direction
						size = [2]int{2 * c.dim, 2 * c.dim}
					}
					sizes := Sizes{A: size[0], B: size[1], Public: c.private == 1, Fixed: c.private == 2 && c.fixed}
					g.objective.Pairs = append(g.objective.Pairs, sizes)
					g.objective.Records += sizes.A
					if !sizes.Public && !sizes.Fixed {
						g.objective.Records += sizes.B
					}
				}
				l := Limits{Output: 0.5 + rng.Float64(), Source: math.Exp(rng.NormFloat64()), Target: math.Exp(rng.NormFloat64()), Frame: g.u.Frame()}
				if c.equal {
					l.Target = l.Source
				}
				if c.fixed {
					l.Target = 0
				}
				g.objective.Alpha, g.objective.Clip, g.objective.Limits = c.alpha, math.Exp(rng.NormFloat64()), l
				bound, err := c.bound(g.objective)
				if err != nil {
					t.Fatal(err)
				}
				ratio := g.play(t, adversary, bound.Value, random, climbs, steps)
				largest = max(largest, ratio)
				as := g.objective
				as.Limits.AsPublished = true
				loose, err := c.bound(as)
				if err != nil || !(loose.Value >= bound.Value/(1+1e-6)) {
					t.Fatalf("published %v, ours %v, %v; ours must not be larger", loose.Value, bound.Value, err)
				}
				published = max(published, ratio*bound.Value/loose.Value)
			}
			t.Logf("%d neighbours: largest ratio %.4f to ours, %.4f to the published bound", shapes*(random+climbs*steps), largest, published)
			if !(largest >= c.reach) {
				t.Errorf("the adversary reaches only %v of the bound", largest)
			}
		})
	}
}

// The formulas, at n = 600 and M = 1.5, L = √6, C = 1, α = 0.1 as 004 trains its
// autoencoder: published, and ours in one dimension and over stacked directions.
func TestGradientSensitivitiesAsFormulas(t *testing.T) {
	const m, alpha, c = 1.5, 0.1, 1
	l := math.Sqrt(6)
	limits := Limits{Output: m, Source: l, Target: l}
	six := Limits{Output: m, Source: l, Target: l, Frame: 1. / 6}
	published := func(l Limits, pairs ...Sizes) func() (privacy.Sensitivity, error) {
		l.AsPublished = true
		return Objective{Records: 600, Pairs: pairs, Alpha: alpha, Clip: c, Limits: l}.Sensitivity
	}
	classes := []Sizes{{A: 100, B: 200}, {A: 50, B: 80}, {A: 70, B: 100}}
	mean := (1 - alpha) * 2 * c / 600
	for _, x := range []struct {
		name string
		got  func() (privacy.Sensitivity, error)
		want float64
	}{
		{"A.1, one side", func() (privacy.Sensitivity, error) {
			return Limits{Output: m, Source: l, Target: l, AsPublished: true}.Sensitivity(600)
		}, 16 * m * l / 600},
		{"A.1, both sides", func() (privacy.Sensitivity, error) {
			return Limits{Output: m, Source: 1, Target: 5, AsPublished: true}.BothSensitivity(10, 30)
		}, 4 * m * max((3.+5)/10, (1.+15)/30)},
		{"autoencoder", published(limits, Sizes{A: 600, B: 600, Public: true}), mean + alpha*12*m*l/600},
		{"statistical parity", published(limits, Sizes{A: 400, B: 200}), mean + alpha*16*m*l/200},
		{"equality of odds", published(limits, classes...), mean + alpha/3*16*m*l/50},
		{"private points", published(limits, Sizes{A: 600, B: 300, Fixed: true}), mean + alpha*4*m*l*max(3./600, 1./300)},
		{"ours, one side", func() (privacy.Sensitivity, error) { return limits.Sensitivity(600) }, normSlack * 8 * m * l / 600},
		{"ours, steep targets", func() (privacy.Sensitivity, error) { return Limits{Output: m, Source: 1, Target: 5}.Sensitivity(10) }, normSlack * 4 * m * 6 / 10},
		{"ours, six dimensions", func() (privacy.Sensitivity, error) { return six.Sensitivity(600) }, normSlack * 4 * m * l * (1 + 2/math.Sqrt(6)) / 600},
		{"ours, six dimensions, fixed targets", func() (privacy.Sensitivity, error) {
			six.Target = 0
			return six.Sensitivity(600)
		}, normSlack * 4 * m * l * (1 + math.Sqrt(7)/6) / 600},
	} {
		got, err := x.got()
		if err != nil || !(math.Abs(got.Value-x.want) <= 1e-6*x.want) {
			t.Errorf("%s: %v, %v; want %v", x.name, got.Value, err, x.want)
		}
	}
	if f := Orthonormal(6, 3, rand.New(rand.NewPCG(1, 1))).Frame(); !(math.Abs(f-1./6) <= 1e-5) {
		t.Errorf("λ of stacked directions: %v, want 1/6", f)
	}
}

// What statements store of an objective is compared with what is computed anew, letter by
// letter.
func TestObjectiveIsStatedAsItIsStored(t *testing.T) {
	for _, c := range []struct {
		alpha  float64
		public bool
		source string
	}{
		{0, true, "(1−α)·2C/n with n = 13 records a batch"},
		{0.5, true, "(1−α)·2C/n with n = 13 records a batch, plus α/1·(4M·max{2L₁, L₁+L₂}/n, or less by how the directions spread, which sharpens 004 Theorem A.1)"},
		{1, false, "α/1·(4M·max{2L₁, L₁+L₂}/n, or less by how the directions spread, which sharpens 004 Theorem A.1)"},
	} {
		o := Objective{Records: 13, Pairs: []Sizes{{A: 8, B: 5, Public: c.public}}, Alpha: c.alpha, Clip: 1, Limits: Limits{Output: 1, Source: 1, Target: 1}}
		relation := privacy.KEnd
		if c.public {
			relation = privacy.ReplaceOne
		}
		s, err := o.Sensitivity()
		if err != nil || s.Source != c.source || s.Query != "clipped gradient of a loss and of sliced distances between outputs" || s.Relation != relation {
			t.Errorf("α = %v: %+v, %v", c.alpha, s, err)
		}
	}
}

// Directions are unit vectors up to rounding in somebody's float32, and the bounds
// hold for the longest that are taken.
func TestSensitivityHoldsForTheLongestDirections(t *testing.T) {
	u := Directions{Dim: 1, Count: 1, Data: []float32{1.0000499}}
	if err := u.Check(1); err != nil {
		t.Fatal(err) // else the test does not test
	}
	z := Outputs{Dim: 1, Parameters: 1, Values: []float64{-9}, Jacobians: []float64{9}}
	still := Outputs{Dim: 1, Parameters: 1, Values: []float64{-9}}
	record := func(value, jacobian float64) Outputs {
		return Outputs{Dim: 1, Parameters: 1, Values: []float64{value}, Jacobians: []float64{jacobian}}
	}
	for _, c := range []struct {
		l             Limits
		before, after Outputs
		z             Outputs
		relation      privacy.Relation
		attained      float64
	}{
		{Limits{Output: 1, Source: 1}, record(9, 9), record(9, -9), still, privacy.ReplaceOne, 1},
		{Limits{Output: 1, Source: 1}, record(9, 9), record(0, 0), still, privacy.ZeroOut, 2. / 3},
		{Limits{Output: 1, Target: 1}, record(9, 9), record(-9, 9), z, privacy.ReplaceOne, 1},
		{Limits{Output: 1, Target: 1, AsPublished: true}, record(9, 9), record(-9, 9), z, privacy.ReplaceOne, 1},
	} {
		before, err := c.l.Gradient(c.before, c.z, u)
		if err != nil {
			t.Fatal(err)
		}
		after, err := c.l.Gradient(c.after, c.z, u)
		if err != nil {
			t.Fatal(err)
		}
		s, err := before.Sensitivity(c.relation)
		if err != nil {
			t.Fatal(err)
		}
		ratio := math.Abs(before.Gradient[0]-after.Gradient[0]) / s.Value
		if !(ratio <= 1 && ratio >= 0.999*c.attained) {
			t.Errorf("%+v, %v: a record moves the gradient by %.8f of its sensitivity, want up to 1 and about %v", c.l, c.relation, ratio, c.attained)
		}
	}
}

func TestZeroOutIsLabelledAsItIs(t *testing.T) {
	u := Directions{Dim: 1, Count: 1, Data: []float32{1}}
	x := Outputs{Dim: 1, Parameters: 1, Values: []float64{1}, Jacobians: []float64{1}}
	b, err := Limits{Output: 1, Source: 1, AsPublished: true}.Gradient(x, Outputs{Dim: 1, Values: []float64{-1}}, u)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Sensitivity(privacy.ZeroOut)
	if err != nil || s.Value != 12 || !strings.Contains(s.Source, "4M(3L₁+L₂)/n") {
		t.Errorf("%+v, %v; want the published 12", s, err)
	}
}

// Whole bases are within the λ that plans count with, in every dimension that they are
// asked for.
func TestOrthonormalFrameHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for _, d := range []int{1, 2, 3, 6, 8, 19, 20, 48, 128, 300} {
		for stacks := 1; stacks <= 3; stacks++ {
			if found, covered := Orthonormal(d, stacks, rng).Frame(), OrthonormalFrame(d); !(found <= covered) {
				t.Errorf("%d bases of %d: λ = %v above %v", stacks, d, found, covered)
			}
		}
		if most := OrthonormalFrame(d); !(most <= 1 && most >= 1/float64(d)) || !(most <= (1+2e-3)/float64(d)) && d > 1 {
			t.Errorf("d = %d: λ = %v is not about 1/d", d, most)
		}
	}
}

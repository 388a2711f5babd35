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
// (Corollary C.1); random, tied, opposite and degenerate records, single
// records, and a search for the worst pair. Ours must hold, which makes the
// published ones hold, too; in one dimension it must be attained.
func TestGradientSensitivitiesByBruteForce(t *testing.T) {
	random, climbs, steps := 150, 5, 310
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		random, climbs, steps = 1200, 6, 2000
	}
	type bounds func(o Objective, sizes [][2]int) (privacy.Sensitivity, error)
	one := func(o Objective, s [][2]int) (privacy.Sensitivity, error) { return o.Limits.Sensitivity(s[0][0]) }
	both := func(o Objective, s [][2]int) (privacy.Sensitivity, error) {
		return o.Limits.BothSensitivity(s[0][0], s[0][1])
	}
	autoencoder := func(o Objective, s [][2]int) (privacy.Sensitivity, error) { return o.Autoencoder(s[0][0]) }
	parity := func(o Objective, s [][2]int) (privacy.Sensitivity, error) {
		return o.StatisticalParity(s[0][0], s[0][1])
	}
	odds := func(o Objective, s [][2]int) (privacy.Sensitivity, error) { return o.EqualityOfOdds(s) }
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
		{"autoencoder, d = 1", autoencoder, 1, 1, 0.4, false, true, 1, false, 0.99},
		{"autoencoder, d = 2", autoencoder, 1, 2, 0.4, false, true, 1, false, 0.7},
		{"statistical parity, d = 1", parity, 2, 1, 0.6, true, false, 1, false, 0.99},
		{"statistical parity, d = 2", parity, 2, 2, 0.6, true, false, 1, false, 0.7},
		{"equality of odds, d = 1", odds, 2, 1, 0.6, true, false, 3, false, 0.99},
		{"equality of odds, d = 2", odds, 2, 2, 0.6, true, false, 2, false, 0.7},
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
					g.sizes = append(g.sizes, size)
				}
				l := Limits{Output: 0.5 + rng.Float64(), Source: math.Exp(rng.NormFloat64()), Target: math.Exp(rng.NormFloat64()), Frame: g.u.Frame()}
				if c.equal {
					l.Target = l.Source
				}
				if c.fixed {
					l.Target = 0
				}
				g.objective = Objective{Alpha: c.alpha, Clip: math.Exp(rng.NormFloat64()), Limits: l}
				bound, err := c.bound(g.objective, g.sizes)
				if err != nil {
					t.Fatal(err)
				}
				ratio := g.play(t, adversary, bound.Value, random, climbs, steps)
				largest = max(largest, ratio)
				as := g.objective
				as.Limits.AsPublished = true
				loose, err := c.bound(as, g.sizes)
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
	fixed := Limits{Output: m, Source: l}
	six := Limits{Output: m, Source: l, Target: l, Frame: 1. / 6}
	objective := func(l Limits, published bool) Objective {
		l.AsPublished = published
		return Objective{Alpha: alpha, Clip: c, Limits: l}
	}
	sizes := [][2]int{{100, 200}, {50, 80}, {70, 100}}
	mean := (1 - alpha) * 2 * c / 600
	for _, x := range []struct {
		name string
		got  func() (privacy.Sensitivity, error)
		want float64
	}{
		{"A.1, one side", func() (privacy.Sensitivity, error) { return objective(limits, true).Limits.Sensitivity(600) }, 16 * m * l / 600},
		{"A.1, both sides", func() (privacy.Sensitivity, error) {
			return Limits{Output: m, Source: 1, Target: 5, AsPublished: true}.BothSensitivity(10, 30)
		}, 4 * m * max((3.+5)/10, (1.+15)/30)},
		{"autoencoder", func() (privacy.Sensitivity, error) { return objective(fixed, true).Autoencoder(600) }, mean + alpha*12*m*l/600},
		{"statistical parity", func() (privacy.Sensitivity, error) { return objective(limits, true).StatisticalParity(400, 200) }, mean + alpha*16*m*l/200},
		{"equality of odds", func() (privacy.Sensitivity, error) { return objective(limits, true).EqualityOfOdds(sizes) }, mean + alpha/3*16*m*l/50},
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

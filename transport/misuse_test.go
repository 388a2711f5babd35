package transport_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/assign"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
	"molehill/transport/sinkhorn"
	"molehill/transport/sliced"
)

// A slip of the program says what it is: where a function returns no error it panics with
// words of its own, and not with Go's of a slice or a nil.
func TestSlipsPanicInWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	basis, err := harmonic.NewBasis(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	sphere := transport.Points{Dim: 2, Data: []float32{1, 0, 0, 1}}
	labelled, err := harmonic.NewLabelled(sphere, []int{0, 1}, 2, basis)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		slip func()
		want string
	}{
		{func() { transport.NewPoints(-1, 2) }, "transport: expected 0 or more points of 1 or more coordinates, found -1 of 2"},
		{func() { transport.NewPoints(-1, -2) }, "transport: expected 0 or more points of 1 or more coordinates, found -1 of -2"},
		{func() { transport.NewPoints(3, 0) }, "transport: expected 0 or more points of 1 or more coordinates, found 3 of 0"},
		{func() { transport.Levels(nil, -1) }, "transport: expected as many weights as points, or nil for equal ones, found 0 for -1 points"},
		{func() { transport.Levels([]float64{1}, 2) }, "found 1 for 2 points"},
		{func() { transport.Shares([]float64{1, 2}, 1) }, "found 2 for 1 points"},
		{func() { transport.Measure{Points: sphere, Weights: []float64{1}}.Shares() }, "found 1 for 2 points"},
		{func() { (flow.Flow{}).Start(-5, 2) }, "found -5 of 2"},
		{func() { (&flow.Labelled{}).Labels(3) }, "flow: expected a guide of one or more classes, found none"},
		{func() { sliced.Uniform(0, 4, rng) }, "sliced: expected 0 or more directions of 1 or more dimensions, found 4 of 0"},
		{func() { sliced.Orthonormal(2, -1, rng) }, "sliced: expected 0 or more bases of 1 or more dimensions, found -1 of 2"},
		{func() { sliced.Orthonormal(2, 1, nil) }, "sliced: expected a source of random numbers to draw bases from, found nil; give one"},
		{func() { sliced.NewTable(2, -1) }, "sliced: expected a table of 0 or more rows and columns, found 2 and -1"},
		{func() { harmonic.Weights(2, -1) }, "harmonic: expected weights up to degree 0 or more in 2 or more dimensions, found degree -1 in 2"},
		{func() { harmonic.LabelledWeights(1, 3) }, "found degree 3 in 1"},
		{func() { harmonic.Farthest(2, -1) }, "found degree -1 in 2"},
		{func() { basis.UpTo(0) }, "harmonic: harmonics up to degree 0"},
		{func() { labelled.Densities(math.NaN()) }, "harmonic: noise of standard deviation NaN; give that of the release"},
		{func() { assign.Costs(sphere, sphere, nil) }, "assign: no cost; give a function of two points"},
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), c.want) || strings.Contains(fmt.Sprint(v), "0x") {
					t.Errorf("%v, want a panic that says %q", v, c.want)
				}
			}()
			c.slip()
		}()
	}
	if p := transport.NewPoints(0, 0); p.Len() != 0 { // no points of nothing are none
		t.Errorf("%d points", p.Len())
	}
}

// Where a function returns an error, a slip is one.
func TestSlipsAreErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	basis, err := harmonic.NewBasis(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := transport.Points{Dim: 2, Data: []float32{1, 0, 0, 1}}
	sketch, err := harmonic.NewSketch(x, basis)
	if err != nil {
		t.Fatal(err)
	}
	directions := flow.Directions{Count: 2, Random: noise.Seeded(1)}
	stacked := directions
	stacked.Stack = true
	step := func(guide flow.Guide) error { return flow.Flow{StepSize: 1}.Step(x.Clone(), guide, 0) }
	at := func(target flow.Target) error { _, _, err := target.At(0); return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(directions.Draw(0, 0)), "flow: directions of dimension 0"},
		{second(stacked.Draw(0, 0)), "flow: directions of dimension 0"},
		{step(nil), "flow: a step without a guide"},
		{flow.Flow{StepSize: -1, Diffusion: 1}.Step(x.Clone(), flow.Slices{}, 0), "step size h is -1"},
		{flow.Flow{StepSize: 1, Smoothing: math.NaN()}.Step(x.Clone(), flow.Slices{}, 0), "smoothing σ is NaN"},
		{second(flow.Flow{StepSize: math.NaN()}.Drift(x, sliced.Uniform(2, 2, rng), nil, 0)), "step size h is NaN"},
		{step(flow.Slices{}), "flow: slices of no target"},
		{step(flow.Slices{Target: flow.Open{Directions: directions}}), "of dimension 0"},
		{step(&flow.Labelled{Directions: directions}), "flow: a target without densities"},
		{at(&flow.Spherical{Directions: directions}), "flow: a target without densities"},
		{second(noise.Seeded(1).Ahead(-1, 1, 0, "slip", 0)), "noise ahead for -1 values"},
		{at(&flow.Released{}), "taken 0 together; make the target with"},
		{at(&flow.Released{Directions: sliced.Uniform(2, 2, rng), PerStep: 1, Together: 1}), "0 quantile functions on 2 directions"},
		{at(&flow.Normal{Mean: []float64{0, 0}, Directions: directions}), "no covariance"},
		{at(flow.Resampled{Records: x, Directions: directions, Diameter: 2}), "flow: no releaser"},
		{second(flow.NewNormal(x, 1, directions, nil)), "flow: no releaser"},
		{second(flow.NewSketched(x, directions, 1, 2, 2, nil)), "flow: no releaser"},
		{second(harmonic.NewSketch(x, nil)), "harmonic: no basis; make one with NewBasis"},
		{second(harmonic.NewPrior(x, nil)), "harmonic: no basis"},
		{second(sketch.DensityBeside(nil, 1)), "harmonic: no prior"},
		{second(sketch.DensityBeside(&harmonic.Prior{Basis: basis}, -1)), "noise of standard deviation -1"},
		{second(sketch.Density(0, rng).Quantiles(sliced.Directions{Dim: 2, Count: 5}, 4)), "0 numbers are not 5 directions"},
		{second(sinkhorn.Costs(x, x, nil)), "sinkhorn: no cost"},
		{second(sinkhorn.Costs(x, x, sinkhorn.Func{})), "without Value"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want an error that says %q", c.err, c.want)
		}
	}
	if v := (flow.Isotropic{Dim: 2}).TotalVariation(flow.Law{Std: 0}, flow.Law{Std: 1}); !math.IsNaN(v) {
		t.Errorf("a law without spread is %v from another", v)
	}
}

func second[T any](_ T, err error) error { return err }

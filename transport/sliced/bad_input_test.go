package sliced

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/transport"
)

func TestSWRefusesBadInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	good, u := transport.Uniform(gaussian(rng, 4, 2)), Uniform(2, 3, rng)
	change := func(v float32) transport.Measure {
		m := transport.Measure{Points: good.Clone()}
		m.Data[5] = v
		return m
	}
	weigh := func(w ...float64) transport.Measure {
		return transport.Measure{Points: good.Points, Weights: w}
	}
	far := transport.Measure{Points: good.Clone()}
	for i := range far.Data {
		far.Data[i] *= 1e30
	}
	long := Directions{Dim: 2, Count: 1, Data: []float32{1, 1}}
	for _, c := range []struct {
		x    transport.Measure
		p    float64
		u    Directions
		want string
	}{
		{change(float32(math.NaN())), 2, u, "point 2 has NaN"},
		{change(float32(math.Inf(-1))), 2, u, "point 2 has -Inf"},
		{change(2e38), 2, u, "projections overflow"},
		{far, 20, u, "overflow"},
		{transport.Measure{Points: transport.Points{Dim: 2}}, 2, u, "no points"},
		{transport.Measure{Points: transport.Points{Data: []float32{1}}}, 2, u, "dimension 0"},
		{transport.Measure{Points: transport.Points{Dim: 2, Data: []float32{1, 2, 3}}}, 2, u, "do not divide"},
		{weigh(1, 1), 2, u, "2 weights for 4 points"},
		{weigh(1, 1, -1, 1), 2, u, "weight 2 is -1"},
		{weigh(0, 0, 0, 0), 2, u, "all 4 weights are 0"},
		{good, 0.5, u, "p = 0.5"},
		{good, math.NaN(), u, "p = NaN"},
		{good, 2, Uniform(3, 2, rng), "dimension 3"},
		{good, 2, Directions{Dim: 2}, "no directions"},
		{good, 2, Directions{Dim: 2, Count: 2, Data: []float32{1, 0}}, "2 numbers are not 2 directions"},
		{good, 2, long, "norm 1.414"},
	} {
		_, value := SW(c.x, good, c.p, c.u)
		_, _, _, gradient := SWGradient(good, c.x, c.p, c.u)
		_, maximum := MaxSW(c.x, good, c.p, c.u)
		_, sampled := Smoothed{0.1, c.p}.Sampled(c.x, good, c.u, rng)
		_, exact := Smoothed{1e28, c.p}.Exact(c.x, good, c.u)
		for name, err := range map[string]error{"SW": value, "SWGradient": gradient, "MaxSW": maximum, "Sampled": sampled, "Exact": exact} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want it to say %q", name, err, c.want)
			}
		}
	}
	for _, sigma := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, sampled := Smoothed{sigma, 2}.Sampled(good, good, u, rng)
		_, exact := Smoothed{sigma, 2}.Exact(good, good, u)
		if sampled == nil || exact == nil {
			t.Errorf("σ = %v: errors %v, %v", sigma, sampled, exact)
		}
	}
}

// Points may be so far apart that float32 has their distance and not its derivative.
func TestDerivativesThatOverflowAreErrors(t *testing.T) {
	x := transport.Uniform(transport.Points{Dim: 2, Data: []float32{1e30, 0, 0, 1e30}})
	y := transport.Uniform(transport.Points{Dim: 2, Data: []float32{-1e30, 0, 0, -1e30}})
	u := Orthonormal(2, 2, rand.New(rand.NewPCG(2, 1)))
	if d, err := SW(x, y, 4, u); err != nil || !(d.Value > 1e29 && d.Value < 1e31) {
		t.Errorf("%v, %v", d.Value, err)
	}
	if _, _, _, err := SWGradient(x, y, 4, u); err == nil || !strings.Contains(err.Error(), "divide the points by a constant") {
		t.Errorf("the derivative of a distance to the fourth: %v", err)
	}
}

// Whatever the numbers are, there is an error or a finite distance and gradient.
func FuzzSWGradient(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL"), uint8(3), 2.0)
	f.Fuzz(func(t *testing.T, data []byte, split uint8, p float64) {
		var v []float32
		for ; len(data) >= 4; data = data[4:] {
			v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		n := min(2*int(split), len(v))
		x := transport.Uniform(transport.Points{Dim: 2, Data: v[:n]})
		y := transport.Uniform(transport.Points{Dim: 2, Data: v[n:]})
		d, byX, byY, err := SWGradient(x, y, p, Orthonormal(2, 2, rand.New(rand.NewPCG(1, 1))))
		if err != nil {
			return
		}
		if !(d.Value >= 0 && d.Value <= math.MaxFloat64 && d.StandardError <= math.MaxFloat64) {
			t.Errorf("%v, %v: %+v", x, y, d)
		}
		for _, w := range append(byX, byY...) {
			if w-w != 0 {
				t.Errorf("%v, %v: derivative %v", x, y, w)
			}
		}
	})
}

func TestReleasesRefuseBadInput(t *testing.T) {
	u := Orthonormal(2, 1, rand.New(rand.NewPCG(3, 3)))
	nan := float32(math.NaN())
	for _, x := range []transport.Points{{Dim: 2, Data: []float32{1, 2, 3}}, {Dim: 2, Data: []float32{1, nan}}, {Dim: 2}} {
		if _, err := Project(x, u); err == nil {
			t.Errorf("Project took %v", x)
		}
		if _, err := NewSketch(x, u, 1); err == nil {
			t.Errorf("NewSketch took %v", x)
		}
	}
	sketch, err := NewSketch(transport.Points{Dim: 2, Data: []float32{1, 2}}, u, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, diameter := range []float64{-1, 0, math.NaN(), math.Inf(1)} {
		if s, err := SketchSensitivity(u, 10, 2, diameter); err == nil {
			t.Errorf("diameter %v: %+v", diameter, s)
		}
		if s := ProjectionSensitivity(u, diameter); !math.IsInf(s.Value, 1) {
			t.Errorf("diameter %v: %+v", diameter, s)
		}
		if s, err := sketch.Sensitivity(diameter); err == nil {
			t.Errorf("diameter %v: %+v", diameter, s)
		}
	}
	if s, err := new(Sketch).Sensitivity(1); err == nil || !strings.Contains(err.Error(), "NewSketch") {
		t.Errorf("a sketch of nothing: %+v, %v", s, err)
	}
	for _, u := range []Directions{{}, {Dim: 2}, {Dim: 1, Count: 1, Data: []float32{nan}}, {Dim: 2, Count: 2, Data: []float32{1, 0}}, {Dim: 1, Count: 1, Data: []float32{3}}} {
		if s, err := SketchSensitivity(u, 10, 2, 1); err == nil {
			t.Errorf("%v: %+v", u, s)
		}
		if s := ProjectionSensitivity(u, 1); !math.IsInf(s.Value, 1) {
			t.Errorf("%v: %+v", u, s)
		}
		if along, err := u.MostStretched(); err == nil {
			t.Errorf("%v: %v", u, along)
		}
		if norm := u.SpectralNorm(); !math.IsNaN(norm) && norm != 3 {
			t.Errorf("%v: σ_max = %v", u, norm)
		}
		if _, _, _, err := OutputGradients([]float64{1}, []float64{2}, u); err == nil {
			t.Errorf("%v: outputs have gradients", u)
		}
	}
	outputs := Outputs{Dim: 2, Parameters: -1, Values: []float64{1, 2}}
	if _, err := (Limits{Output: 1, Source: 1}).Gradient(outputs, outputs, u); err == nil {
		t.Error("derivatives by −1 parameters")
	}
	if _, _, _, err := OutputGradients([]float64{1, 2, 3}, []float64{1, 2}, u); err == nil {
		t.Error("three numbers were points of two dimensions")
	}
	points := transport.Uniform(transport.NewPoints(1, 2))
	if _, err := (Smoothed{Sigma: 1, P: 2}).Sampled(points, points, u, nil); err == nil {
		t.Error("noise from nowhere")
	}
	for _, failure := range []float64{0, -1, 1, 2, 3, math.NaN()} {
		if v := PublishedBound(70, 8, failure); !math.IsNaN(v) {
			t.Errorf("δ′ = %v: w = %v", failure, v)
		}
	}
}

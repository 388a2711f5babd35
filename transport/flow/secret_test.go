package flow

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// However short the way of a record, rounding moves the particles by no more than
// Rounding besides: near their target, and so far out that velocities in single precision
// exceed it.
func TestRoundingCoversShortWays(t *testing.T) {
	const dim, rows, particles, diameter = 8, 50, 1500, 2.
	for name, c := range map[string]struct {
		f             Flow
		spread, std   float64
		singleExceeds bool
	}{
		"near":         {f: Flow{StepSize: 3, Diffusion: 0.01}, spread: 0.4, std: 1.4},
		"far":          {f: Flow{StepSize: 3, Diffusion: 0.01}, spread: 3e4, std: 1.4, singleExceeds: true},
		"far, smooth":  {f: Flow{StepSize: 3, Diffusion: 0.01, Smoothing: 2}, spread: 3e4, std: 2, singleExceeds: true},
		"far, clean":   {f: Flow{StepSize: 3, Diffusion: 0.01, Smoothing: 2, CleanEvaluation: true}, spread: 3e4, std: 2, singleExceeds: true},
		"little noise": {f: Flow{StepSize: 1, Diffusion: 1}, spread: 3e3, std: 1e-3, singleExceeds: true},
		// Where the grid does not reach far, next to all of the bound is for releases in
		// single precision, without which it would not cover velocities in single precision.
		"little diffusion": {f: Flow{StepSize: 3, Diffusion: 1e-12}, spread: 0.4, std: 1.4},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 1))
			f := c.f
			f.Random = noise.Seeded(2)
			u := sliced.Orthonormal(dim, 9, rng)
			x := f.Start(particles, dim)
			for i := range x.Data {
				x.Data[i] *= float32(c.spread)
			}
			records := transport.NewPoints(rows, dim)
			for i := range records.Data {
				records.Data[i] = float32(rng.NormFloat64())
			}
			records = records.Within(diameter / 2)
			other := records.Clone()
			for k := range dim {
				other.Row(0)[k] = -records.Row(0)[k]
			}
			from, to := doubles(t, records, u), doubles(t, other, u)
			for j := range from {
				for i := range from[j] {
					z := c.std * rng.NormFloat64()
					from[j][i], to[j][i] = from[j][i]+z, to[j][i]+z
				}
			}
			displacement, err := f.Displacement(particles, rows, u, diameter)
			if err != nil {
				t.Fatal(err)
			}
			rounding := f.Rounding(particles, u, diameter/2*(1+1e-6)+noise.Farthest(c.std))
			if !(rounding > 0 && rounding < 0.02*displacement) {
				t.Errorf("a bound of %v beside a displacement of %v", rounding, displacement)
			}
			exceeded := false
			for _, part := range []float64{1e-9, 1e-6, 1e-4, 1e-2, 1} {
				bound := part*displacement*(1+1e-9) + rounding
				way := func(velocity func(q []transport.Quantile) []float64) (norm float64) {
					a, b := velocity(between(from, to, 0)), velocity(between(from, to, part))
					for i, v := range a {
						norm += (b[i] - v) * (b[i] - v)
					}
					return f.StepSize * math.Sqrt(norm)
				}
				if moved := way(func(q []transport.Quantile) []float64 {
					v, err := f.exactDrift(x, u, q, 0)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}); !(moved <= bound) {
					t.Errorf("%v of the way moves particles by %v, above %v", part, moved, bound)
				}
				exceeded = exceeded || way(func(q []transport.Quantile) []float64 {
					v, err := f.Drift(x, u, q, 0)
					if err != nil {
						t.Fatal(err)
					}
					var wide []float64
					for _, v := range v {
						wide = append(wide, float64(v))
					}
					return wide
				}) > bound
			}
			if exceeded != c.singleExceeds {
				t.Errorf("velocities in single precision exceed the bound: %v, want %v", exceeded, c.singleExceeds)
			}
		})
	}
}

// doubles are the projections of points, by direction.
func doubles(t *testing.T, x transport.Points, u sliced.Directions) (rows [][]float64) {
	t.Helper()
	projections, err := sliced.Project(x, u)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range projections {
		var wide []float64
		for _, v := range row {
			wide = append(wide, float64(v))
		}
		rows = append(rows, wide)
	}
	return rows
}

// between are the quantiles of a release, some part of the way from one to another.
func between(from, to [][]float64, part float64) []transport.Quantile {
	rows := make([][]float32, len(from))
	for j := range from {
		for i, v := range from[j] {
			rows[j] = append(rows[j], float32(v+part*(to[j][i]-v)))
		}
	}
	return sampleQuantiles(rows)
}

// Both precisions are the same drift.
func TestVelocitiesOfASecretStepAreTheDrift(t *testing.T) {
	for name, f := range map[string]Flow{
		"ranks":    {StepSize: 1, Random: noise.Seeded(1)},
		"clean":    {StepSize: 1, Smoothing: 0.5, CleanEvaluation: true, Random: noise.Seeded(1)},
		"smoothed": {StepSize: 1, Smoothing: 0.5, Random: noise.Seeded(1)},
	} {
		target := Open{Points: f.Start(300, 3), Directions: Directions{Count: 75, Stack: true, Random: noise.Seeded(3)}}
		x := Flow{Random: noise.Seeded(9)}.Start(1100, 3)
		want, err := Slices{target}.Drift(f, x, 4)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.velocities(x, Slices{target}, 4)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if d := v - float64(want[i]); !(math.Abs(d) <= 1e-5) {
				t.Fatalf("%s: velocity %d is %v, and %v in single precision", name, i, v, want[i])
			}
		}
	}
	x := Flow{Random: noise.Seeded(9)}.Start(10, 3)
	if v, err := (Flow{}).velocities(x, Rest{}, 0); err != nil || len(v) != 30 || v[7] != 0 {
		t.Error(v, err)
	}
	if _, err := (Flow{}).velocities(x, Slices{}, 0); err == nil {
		t.Error("slices of no target have velocities")
	}
}

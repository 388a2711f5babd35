package flow

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Neighbours by brute force: one row is replaced, the noise on the projections
// stays, and the velocities of all particles are compared. The bound must hold for
// random pairs and for pairs made to be bad, and the bad ones must come near it.
func TestDisplacementCoversNeighbours(t *testing.T) {
	const diameter = 2.
	for name, f := range map[string]Flow{
		"ranks":                {StepSize: 1.5, Random: noise.Seeded(1)},
		"smoothed, clean at z": {StepSize: 1.5, Smoothing: 0.5, CleanEvaluation: true, Random: noise.Seeded(1)},
		"smoothed":             {StepSize: 0.5, Smoothing: 0.5, Random: noise.Seeded(1)},
	} {
		crowded := f.Smoothing > 0 && f.CleanEvaluation
		nearest := 0.
		rng := rand.New(rand.NewPCG(7, 0))
		for trial := range 120 {
			dim := 1 + trial%3
			particles, rows := 1+rng.IntN(40), 1+rng.IntN(9)
			u := sliced.Orthonormal(dim, 1+trial%2, rng)
			if trial%4 == 3 {
				u = sliced.Uniform(dim, 3, rng)
			}
			bound, err := f.Displacement(particles, rows, u, diameter)
			if err != nil {
				t.Fatal(err)
			}
			records := transport.NewPoints(rows, dim)
			for i := range records.Data {
				records.Data[i] = float32(rng.NormFloat64())
			}
			records = records.Within(diameter / 2)
			other := records.Clone()
			at := rng.IntN(rows)
			x := f.Start(particles, dim)
			std := 0.3
			if trial%2 == 0 { // bad: along the direction of most stretch
				along, err := u.MostStretched()
				if err != nil {
					t.Fatal(err)
				}
				for i := range rows {
					for c := range dim {
						side := along[c] * float32(1-2*(i%2)) // the others half here, half there
						records.Row(i)[c], other.Row(i)[c] = side, side
					}
				}
				for c := range dim {
					other.Row(at)[c] = -records.Row(at)[c]
				}
				if crowded {
					for i := range x.Data {
						x.Data[i] = -9
					}
				}
				std = 1e-3
			} else {
				for c := range dim {
					other.Row(at)[c] = float32(rng.NormFloat64())
				}
				other = other.Within(diameter / 2)
			}
			z := make([]float32, rows*u.Count)
			for i := range z {
				z[i] = float32(std * rng.NormFloat64())
			}
			velocity := func(y transport.Points) []float32 {
				projections, err := sliced.Project(y, u)
				if err != nil {
					t.Fatal(err)
				}
				for j, row := range projections {
					for i := range row {
						row[i] += z[j*rows+i]
					}
				}
				v, err := f.Drift(x, u, sampleQuantiles(projections), 3)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			a, b := velocity(records), velocity(other)
			moved := 0.
			for i := range a {
				d := f.StepSize * float64(a[i]-b[i])
				moved += d * d
			}
			moved = math.Sqrt(moved)
			if !(moved <= bound*(1+1e-5)) {
				t.Errorf("%s, trial %d: %d particles, %d rows, dimension %d: moved by %v, the bound is %v", name, trial, particles, rows, dim, moved, bound)
			}
			if rows >= 3 && particles > rows {
				nearest = max(nearest, moved/bound)
			}
		}
		// Particles that crowd stand at a level beside a knot, not on it.
		if !(nearest >= 0.99) && !(crowded && nearest > 0.85) {
			t.Errorf("%s: the worst neighbours reach %.3f of the bound; want nearly all of it", name, nearest)
		}
		t.Logf("%s: the worst neighbours reach %.4f of the bound", name, nearest)
	}
}

func TestDisplacementOfManyParticles(t *testing.T) {
	// 2/3·N/n in the limit of many more particles than rows, 1 for one particle or
	// far fewer particles than rows, and all N for one row.
	for _, c := range []struct {
		particles, rows int
		want, tolerance float64
	}{{10_000, 250, math.Sqrt(2. / 3 * 9999 / 249), 1e-3}, {1, 250, 1, 0}, {250, 250, 1, 0}, {10, 250, 1, 0}, {900, 1, 30, 0}} {
		if got := crowd(c.particles, c.rows); !(math.Abs(got/c.want-1) <= c.tolerance) {
			t.Errorf("%d particles, %d rows: κ = %v, want %v", c.particles, c.rows, got, c.want)
		}
	}
	u := sliced.Orthonormal(8, 9, rand.New(rand.NewPCG(1, 0)))
	one, err := Flow{StepSize: 3}.Displacement(1, 250, u, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := 3. / 8 * 2; !(math.Abs(one/want-1) <= 1e-4) { // h/k·(k/d)·diameter, and slack for float32
		t.Errorf("one particle: %v, want h·diameter/d = %v", one, want)
	}
	for _, bad := range []func() (float64, error){
		func() (float64, error) { return Flow{StepSize: 0}.Displacement(1, 1, u, 2) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(0, 1, u, 2) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(1, 0, u, 2) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(1, 1, sliced.Directions{Dim: 2}, 2) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(1, 1, u, math.Inf(1)) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(1, 1, u, math.NaN()) },
		func() (float64, error) { return Flow{StepSize: 1}.Displacement(1, 1, u, 0) },
	} {
		if got, err := bad(); err == nil {
			t.Errorf("displacement %v, no error", got)
		}
	}
}

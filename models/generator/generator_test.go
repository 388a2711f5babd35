package generator

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
)

func noise(rng *rand.Rand, n, dim int) transport.Points {
	z := transport.NewPoints(n, dim)
	for i := range z.Data {
		z.Data[i] = float32(rng.NormFloat64())
	}
	return z
}

// toward is a velocity that draws every point to where (1, −2) stands.
func toward(x transport.Points) ([]float32, error) {
	v := make([]float32, len(x.Data))
	for i := range x.Data {
		v[i] = []float32{1, -2}[i%2] - x.Data[i]
	}
	return v, nil
}

func made(t *testing.T, b *backend.Backend) *Generator {
	t.Helper()
	g, err := New(b, Config{Noise: 3, Output: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// The generator goes where velocities point, and a saved one continues to the
// last bit as if it had not been interrupted.
func TestGeneratorFollowsVelocitiesAndContinues(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const steps = 80
		step := func(g *Generator, k int) {
			if err := g.Step(noise(rand.New(rand.NewPCG(5, uint64(k))), 32, 3), 3e-3, toward); err != nil {
				t.Fatal(err)
			}
		}
		whole, first, second := made(t, b), made(t, b), made(t, b)
		for k := range steps {
			step(whole, k)
		}
		for k := range steps / 2 {
			step(first, k)
		}
		var file bytes.Buffer
		if err := first.Save(&file, steps/2); err != nil {
			t.Fatal(err)
		}
		saved := file.Bytes()
		if err := second.Restore(bytes.NewReader(saved), steps/2+1); err == nil || !strings.Contains(err.Error(), "after 40 steps") {
			t.Errorf("another step: %v", err)
		}
		if err := second.Restore(bytes.NewReader(saved[:len(saved)/2]), steps/2); err == nil {
			t.Error("half a file was restored")
		}
		if err := second.Restore(bytes.NewReader(saved), steps/2); err != nil {
			t.Fatal(err)
		}
		for k := steps / 2; k < steps; k++ {
			step(second, k)
		}
		z := noise(rand.New(rand.NewPCG(6, 0)), 200, 3)
		x, err := whole.Generate(z)
		if err != nil {
			t.Fatal(err)
		}
		again, err := second.Generate(z)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Data, again.Data) {
			t.Error("a training that was interrupted went another way")
		}
		// Whatever it has learned, a generator that is reset is as a new one.
		if err := first.Reset(1); err != nil {
			t.Fatal(err)
		}
		for k := range steps {
			step(first, k)
		}
		if again, err = first.Generate(z); err != nil || !slices.Equal(x.Data, again.Data) {
			t.Errorf("a generator that was reset went another way (%v)", err)
		}
		if err := first.Reset(2); err != nil {
			t.Fatal(err)
		}
		if again, err = first.Generate(z); err != nil || slices.Equal(x.Data, again.Data) {
			t.Errorf("another seed makes the same weights (%v)", err)
		}
		var mean, squares [2]float64
		for i, v := range x.Data {
			d := float64(v) - []float64{1, -2}[i%2]
			mean[i%2] += d / 200
			squares[i%2] += d * d / 200
		}
		for c := range 2 {
			if !(mean[c]*mean[c] < 0.05 && squares[c] < 0.3) {
				t.Errorf("coordinate %d is off by %v in the mean, %v in the mean square", c, mean[c], squares[c])
			}
		}
	})
}

// A restart keeps the parameters and forgets the gradients: Adam's first step moves
// each parameter by the learning rate, where its gradient is not all but 0.
func TestRestartForgetsGradients(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const rate = 0.01
		g := made(t, b)
		step := func(g *Generator, k uint64) {
			if err := g.Step(noise(rand.New(rand.NewPCG(5, k)), 16, 3), rate, toward); err != nil {
				t.Fatal(err)
			}
		}
		for k := range uint64(10) {
			step(g, k)
		}
		again, err := g.Restart(b)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		values := func(g *Generator) (all []float32) {
			params, err := g.Trainer().Params()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range params {
				if !p.Tracked {
					all = append(all, p.Value...)
				}
			}
			return all
		}
		before := values(g)
		if !slices.Equal(values(again), before) {
			t.Fatal("a restart changes parameters")
		}
		byRate := func(g *Generator) float64 {
			step(g, 10)
			count, moved := 0., 0.
			for i, v := range values(g) {
				if d := math.Abs(float64(v - before[i])); d > 1e-6 {
					moved++
					if math.Abs(d-rate) < 0.01*rate {
						count++
					}
				}
			}
			return count / moved
		}
		if fresh, used := byRate(again), byRate(g); !(fresh >= 0.95 && used <= 0.5) {
			t.Errorf("%.2f of the parameters move by the rate after a restart, %.2f without one", fresh, used)
		}
	})
}

func TestBadInput(t *testing.T) {
	found := backend.Found()
	b, err := found[len(found)-1].Open() // Go
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(b, Config{Noise: 0, Output: 2}, 1); err == nil {
		t.Error("no noise was taken")
	}
	g := made(t, b)
	rng := rand.New(rand.NewPCG(7, 0))
	for says, err := range map[string]error{
		"dimension 2":  g.Step(noise(rng, 4, 2), 1e-3, toward),
		"0 rows":       g.Step(transport.NewPoints(0, 3), 1e-3, toward),
		"1 velocities": g.Step(noise(rng, 4, 3), 1e-3, func(transport.Points) ([]float32, error) { return make([]float32, 1), nil }),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want an error that says %q", err, says)
		}
	}
	var file bytes.Buffer
	if err := g.Save(&file, 1); err != nil {
		t.Fatal(err)
	}
	other, err := New(b, Config{Noise: 2, Output: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Restore(&file, 1); err == nil || !strings.Contains(err.Error(), `this one of {"noise":2,"output":2}`) {
		t.Errorf("a state of another design: %v", err)
	}
	if _, err := g.Generate(noise(rng, 4, 2)); err == nil {
		t.Error("noise of another dimension was taken")
	}
}

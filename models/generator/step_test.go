package generator

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/train"
	"molehill/transport"
)

func withOptimizer(t *testing.T, b *backend.Backend, design Design, o train.Optimizer) *Generator {
	t.Helper()
	g, err := NewWith(b, design, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// averaging is an optimiser with all that there is.
var averaging = train.Optimizer{Name: train.SGD, Momentum: 0.8, WeightDecay: 1e-2, Average: 0.9}

// Where the gradient by parameters is left as it is, the step is Step's, statistics of
// batches included.
func TestStepByParametersIsStep(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		designs := []Design{Config{Noise: 3, Output: 2}}
		if b.Name == backend.Go {
			designs = append(designs, small[1])
		}
		for _, design := range designs {
			input, output := design.Size()
			// SGD goes by the gradient's size, too, which Adam takes out of it.
			one, two := withOptimizer(t, b, design, averaging), withOptimizer(t, b, design, averaging)
			velocity := func(x transport.Points) ([]float32, error) {
				v := make([]float32, len(x.Data))
				for i := range v {
					v[i] = float32(i%output)/float32(output) - x.Data[i]
				}
				return v, nil
			}
			calls := 0
			for k := range 3 {
				z := noise(rand.New(rand.NewPCG(5, uint64(k))), 8, input)
				if err := one.Step(z, 0.05, velocity); err != nil {
					t.Fatal(err)
				}
				if err := two.StepByParameters(z, 0.05, velocity, func(gradient []float32) error {
					calls++
					if len(gradient) != two.Parameters() {
						t.Fatalf("a gradient of %d by %d parameters", len(gradient), two.Parameters())
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if calls != 3 {
				t.Errorf("the gradient was handed out %d times", calls)
			}
			want, err := one.Trainer().Params()
			if err != nil {
				t.Fatal(err)
			}
			got, err := two.Trainer().Params()
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range want {
				for k, v := range p.Value {
					if !(math.Abs(float64(got[i].Value[k]-v)) <= 1e-5*(1+math.Abs(float64(v)))) {
						t.Fatalf("%s: value %d is %v; by Step %v", p.Name, k, got[i].Value[k], v)
					}
				}
			}
		}
	})
}

// The gradient is that of ⟨output, G⟩ by the parameters for a velocity of −n·G, and
// nothing but what is left of it moves them.
func TestStepByParametersGoesByWhatIsLeft(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		g := withOptimizer(t, b, Config{Noise: 3, Output: 2}, train.Optimizer{Name: train.SGD})
		const n = 8
		z := noise(rand.New(rand.NewPCG(5, 5)), n, 3)
		velocity := func(x transport.Points) ([]float32, error) {
			v := make([]float32, len(x.Data))
			for i := range v {
				v[i] = -n * float32(1+i%2) // G = 1 and 2
			}
			return v, nil
		}
		params := func() (flat []float32) {
			t.Helper()
			params, err := g.Trainer().Params()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range params {
				if !p.Tracked {
					flat = append(flat, p.Value...)
				}
			}
			return flat
		}
		before := params()
		if len(before) != g.Parameters() {
			t.Fatalf("%d parameters; Parameters says %d", len(before), g.Parameters())
		}
		spent := errors.New("the budget is spent")
		var last []float32 // the gradient by the offsets of the output, which end the network
		err := g.StepByParameters(z, 1, velocity, func(gradient []float32) error {
			last = slices.Clone(gradient[len(gradient)-2:])
			return spent
		})
		if !errors.Is(err, spent) || !slices.Equal(params(), before) {
			t.Errorf("after %v parameters moved", err)
		}
		for c, v := range last {
			if want := float64(n * (1 + c)); !(math.Abs(float64(v)-want) <= 1e-4*want) {
				t.Errorf("the gradient by offset %d is %v; expected %v", c, v, want)
			}
		}
		if err := g.StepByParameters(z, 0.5, velocity, func(gradient []float32) error {
			clear(gradient)
			gradient[1] = 2
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(before)
		want[1]--
		if !slices.Equal(params(), want) {
			t.Error("something else than what was left of the gradient moved parameters")
		}
	})
}

// A generator that averages generates by the average, and continues to the last bit.
func TestGeneratesByAverage(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		g := withOptimizer(t, b, Config{Noise: 3, Output: 2}, averaging)
		run := func(from, to int) {
			for k := from; k < to; k++ {
				if err := g.Step(noise(rand.New(rand.NewPCG(5, uint64(k))), 16, 3), 0.02, toward); err != nil {
					t.Fatal(err)
				}
			}
		}
		z := noise(rand.New(rand.NewPCG(6, 0)), 50, 3)
		generate := func() []float32 {
			x, err := g.Generate(z)
			if err != nil {
				t.Fatal(err)
			}
			return x.Data
		}
		start := generate()
		run(0, 10)
		var file bytes.Buffer
		if err := g.Save(&file, 10); err != nil {
			t.Fatal(err)
		}
		run(10, 20)
		end := generate()

		params, err := g.Trainer().Average()
		if err != nil {
			t.Fatal(err)
		}
		average, err := train.New(b, Config{Noise: 3, Output: 2}.Network(), params)
		if err != nil {
			t.Fatal(err)
		}
		defer average.Close()
		p, err := average.Inference()
		if err != nil {
			t.Fatal(err)
		}
		want, err := g.run(p, z)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(end, want.Data) || slices.Equal(end, start) {
			t.Error("it does not generate by the average")
		}

		other := withOptimizer(t, b, Config{Noise: 3, Output: 2}, train.Optimizer{})
		if err := other.Restore(bytes.NewReader(file.Bytes()), 10); err == nil || !strings.Contains(err.Error(), "trained by {Name:sgd") {
			t.Errorf("a state of another optimiser: %v", err)
		}
		if err := g.Restore(&file, 10); err != nil {
			t.Fatal(err)
		}
		run(10, 20)
		if !slices.Equal(generate(), end) {
			t.Error("a training that was interrupted went another way")
		}
		if _, err := NewWith(b, Config{Noise: 3, Output: 2}, train.Optimizer{Name: "adagrad"}, 1); err == nil {
			t.Error("an optimiser that is not there was taken")
		}
	})
}

// A state from before there was a choice of optimisers is Adam's.
func TestRestoresStatesWithoutOptimizer(t *testing.T) {
	found := backend.Found()
	b, err := found[len(found)-1].Open() // Go
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(b, Config{Noise: 3, Output: 2}, 2) // not what restore begins with
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var file bytes.Buffer
	if err := g.trainer.Save(&file, map[string]any{"config": Config{Noise: 3, Output: 2}, "step": 7}); err != nil {
		t.Fatal(err)
	}
	restore := func(optimizer train.Optimizer) (*Generator, error) {
		g := withOptimizer(t, b, Config{Noise: 3, Output: 2}, optimizer)
		return g, g.Restore(bytes.NewReader(file.Bytes()), 7)
	}
	generate := func(g *Generator) []float32 {
		out, err := g.Generate(noise(rand.New(rand.NewPCG(1, 2)), 8, 3))
		if err != nil {
			t.Fatal(err)
		}
		return out.Data
	}
	if restored, err := restore(train.Optimizer{Name: train.Adam}); err != nil || !slices.Equal(generate(restored), generate(g)) {
		t.Errorf("Adam's state came back as another one, %v", err)
	}
	if _, err := restore(train.Optimizer{Name: train.SGD}); err == nil {
		t.Error("Adam's state was restored for SGD")
	}
}

// ByParameters is the derivative of Σ⟨G, output⟩ by the parameters, and moves nothing.
func TestByParameters(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		g := withOptimizer(t, b, Config{Noise: 3, Output: 2}, averaging)
		z := noise(rand.New(rand.NewPCG(5, 6)), 8, 3)
		byOutput := noise(rand.New(rand.NewPCG(7, 8)), 8, 2).Data
		var before, after bytes.Buffer
		if err := g.Save(&before, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := g.ByParameters(byOutput); err == nil {
			t.Error("a gradient by what nobody has made")
		}
		made, err := g.Forward(z)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.ByParameters(byOutput)
		if err != nil || len(got) != g.Parameters() {
			t.Fatalf("%d numbers, %v", len(got), err)
		}
		if err := g.Save(&after, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before.Bytes(), after.Bytes()) {
			t.Error("looking at the gradient has moved something")
		}
		var want []float32
		err = g.StepByParameters(z, 0.1, func(x transport.Points) ([]float32, error) {
			if !slices.Equal(made.Data, x.Data) {
				t.Error("Forward makes something else than a step sees")
			}
			v := make([]float32, len(byOutput))
			for i := range v {
				v[i] = -8 * byOutput[i]
			}
			return v, nil
		}, func(gradient []float32) error {
			want = slices.Clone(gradient)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("another gradient than that of a step: %v", err)
		}
		if err := g.Step(z, 0.1, func(x transport.Points) ([]float32, error) {
			_, err := g.Forward(noise(rand.New(rand.NewPCG(9, 9)), 8, 3))
			return x.Data, err
		}); err == nil {
			t.Error("a step went back from another way forward")
		}
		if _, err := g.ByParameters(byOutput[1:]); err == nil || !strings.Contains(err.Error(), "give one for each number that Forward has made") {
			t.Error("a gradient of another shape was taken")
		}
	})
}

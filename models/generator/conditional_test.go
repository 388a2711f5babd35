package generator

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/transport"
)

func TestConditionalInput(t *testing.T) {
	z := transport.Points{Dim: 2, Data: []float32{1, 2, 3, 4}}
	got, err := Conditional(z, []int{2, 0}, 3)
	if err != nil || got.Dim != 5 || !slices.Equal(got.Data, []float32{1, 2, 0, 0, 1, 3, 4, 1, 0, 0}) {
		t.Errorf("%+v, %v", got, err)
	}
	for says, labels := range map[string][]int{"1 labels of 2": {0}, "row 1 has the label 3": {0, 3}, "row 0 has the label -1": {-1, 0}} {
		if _, err := Conditional(z, labels, 3); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("labels %v: %v; want an error that says %q", labels, err, says)
		}
	}
}

// A generator sends each class where its velocities point.
func TestGeneratorTellsClassesApart(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		g, err := New(b, Config{Noise: 4, Output: 2}, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		places := [][]float32{{1, -2}, {-1, 0.5}}
		labels := make([]int, 64)
		for i := range labels {
			labels[i] = i % 2
		}
		input := func(seed uint64) transport.Points {
			z, err := Conditional(noise(rand.New(rand.NewPCG(7, seed)), len(labels), 2), labels, 2)
			if err != nil {
				t.Fatal(err)
			}
			return z
		}
		for k := range 120 {
			if err := g.Step(input(uint64(k)), 3e-3, func(x transport.Points) ([]float32, error) {
				v := make([]float32, len(x.Data))
				for i := range x.Len() {
					for c, at := range places[labels[i]] {
						v[2*i+c] = at - x.Row(i)[c]
					}
				}
				return v, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		x, err := g.Generate(input(1000))
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			for c, at := range places[labels[i]] {
				if !(math.Abs(float64(x.Row(i)[c]-at)) <= 0.4) {
					t.Fatalf("a point of class %d is at %v, want %v", labels[i], x.Row(i), places[labels[i]])
				}
			}
		}
	})
}

package matching_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
	"molehill/models/matching"
)

// Memory grows with the batch times activations, and not with the batch times parameters.
// It is counted in the graphs, so that nothing else on a machine has a say: for each
// record that a batch has more, all nodes of the graphs of outputs, norms and the clipped
// sum together have so many numbers more, whatever a backend keeps of them. Layers four
// times as wide have 16 times the parameters and four times the activations. Each record's
// gradient written down would be the parameters at least, in a single node.
func TestMemoryGrowsWithActivations(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, exact := range []bool{false, true} {
			narrow, _ := numbersPerRecord(t, b, 100, exact)
			wide, parameters := numbersPerRecord(t, b, 400, exact)
			t.Logf("exact %v: %d and %d numbers a record, of %d parameters", exact, narrow, wide, parameters)
			if wide > 5*narrow {
				t.Errorf("exact %v: %d numbers a record at a width of 100, and %d at 400: more than in proportion", exact, narrow, wide)
			}
			if wide > parameters/3 {
				t.Errorf("exact %v: a record has %d numbers, of a network of %d parameters", exact, wide, parameters)
			}
		}
	})
}

// numbersPerRecord counts those of a gradient's graphs, of a network whose layers are so
// wide, and its parameters.
func numbersPerRecord(t *testing.T, b *backend.Backend, width int, exact bool) (count, parameters int) {
	t.Helper()
	var graphs []*graph.Graph
	m := matching.Model{
		Input: []int{width}, Outputs: 2, Target: []int{width},
		Inner: layer.Sequence{layer.Dense{Name: "a", In: width, Out: width}, layer.ReLU, layer.Dense{Name: "b", In: width, Out: 2}},
		Outer: layer.Sequence{layer.Dense{Name: "c", In: 2, Out: width}, layer.ReLU, layer.Dense{Name: "d", In: width, Out: width}},
		Loss: func(output, target *graph.Node) *graph.Node {
			if !slices.Contains(graphs, output.Graph()) {
				graphs = append(graphs, output.Graph())
			}
			return graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1)
		},
	}
	l := learner(t, b, m)
	total := func(n int) (sum int) {
		rng := rand.New(rand.NewPCG(3, 3))
		of := matching.Batch{X: normals(rng, n*width, 1), Target: normals(rng, n*width, 1), Alpha: 0.5, Directions: directions(2),
			Pairs: []matching.Pair{{A: []int{0, 2}, B: []int{1, 3}}}}
		graphs = nil
		if _, err := l.Gradient(of, matching.Clipping{Output: 1, Jacobian: 1, Loss: 1, Exact: exact}); err != nil {
			t.Fatal(err)
		}
		if len(graphs) != 2 {
			t.Fatalf("%d graphs; want that of norms and that of the sum", len(graphs))
		}
		for _, g := range graphs {
			for _, node := range g.Nodes() {
				if node.NumOutputs() != 1 {
					continue
				}
				size := node.Shape().Size()
				if size >= n*l.Parameters() {
					t.Errorf("%v has %d numbers: %d records times %d parameters and more", node, size, n, l.Parameters())
				}
				sum += size
			}
		}
		return sum
	}
	const few, more = 8, 16
	return (total(more) - total(few)) / (more - few), l.Parameters()
}

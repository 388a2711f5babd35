package matching

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/ghost"
	"molehill/models/layer"
	"molehill/models/train"
)

// Memory grows with the batch times activations, and not with the batch times parameters.
// It is counted in the graphs, so that nothing else on a machine has a say: for each
// record that a batch has more, all nodes of the three graphs together have so many numbers
// more, whatever a backend keeps of them. Layers four times as wide have 16 times the
// parameters and four times the activations. Each record's gradient written down would be
// the parameters at least, in a single node.
func TestMemoryGrowsWithActivations(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, of := range []struct {
			name    string
			network func(width int) Model
			width   int // at which parameters are many beside activations, which convolutions have nine times
		}{{"dense", dense, 100}, {"convolutions", convolutions, 200}} {
			for _, exact := range []bool{false, true} {
				narrow, _ := numbersPerRecord(t, b, of.network(of.width), exact)
				wide, parameters := numbersPerRecord(t, b, of.network(4*of.width), exact)
				t.Logf("%s, exact %v: %d and %d numbers a record, of %d parameters", of.name, exact, narrow, wide, parameters)
				if wide > 5*narrow {
					t.Errorf("%s, exact %v: %d numbers a record, and %d at four times the width: more than in proportion", of.name, exact, narrow, wide)
				}
				if wide > parameters/2 {
					t.Errorf("%s, exact %v: a record has %d numbers, of a network of %d parameters", of.name, exact, wide, parameters)
				}
			}
		}
	})
}

// Blocks follow one another through all records, and none has more of them than what norms
// say of rounding holds for, however small a record's gradients are.
func TestBlocksHoldNoMoreThanNormsAllow(t *testing.T) {
	b, err := backend.Candidate{Name: backend.Go}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		model     Model
		jacobians bool
		together  int // how many records all blocks times one may have, 0 for any
	}{{dense(1), true, 0}, {convolutions(20), false, 0}, {convolutions(20), true, ghost.Most * ghost.Most}} {
		l, err := New(b, of.model, layer.Init(of.model.Network(), 1), train.Optimizer{Name: train.SGD})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 7, ghost.Most, ghost.Most + 1, 2*ghost.Most - 1, 3*ghost.Most + 2, 50_000} {
			most := ghost.Most
			if of.together > 0 {
				most = min(most, of.together/n)
			}
			blocks, err := l.cut(n, of.jacobians)
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			for _, at := range blocks {
				if at.first != next || at.last <= at.first || at.last-at.first > most {
					t.Errorf("%d records: a block of records %d to %d, after those up to %d; at most %d together", n, at.first, at.last-1, next-1, most)
				}
				next = at.last
			}
			if next != n {
				t.Errorf("blocks end at record %d of %d", next, n)
			}
		}
		l.Close()
	}
}

// dense is an autoencoder whose layers are so wide.
func dense(width int) Model {
	const d = 2
	return Model{
		Input: []int{width}, Outputs: d, Target: []int{width},
		Inner: layer.Sequence{layer.Dense{Name: "a", In: width, Out: width}, layer.ReLU, layer.Dense{Name: "b", In: width, Out: d}},
		Outer: layer.Sequence{layer.Dense{Name: "c", In: d, Out: width}, layer.ReLU, layer.Dense{Name: "d", In: width, Out: width}},
		Loss: func(output, target *graph.Node) *graph.Node {
			return graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1)
		},
	}
}

// convolutions is one of convolutions with so many channels, of so few places that the
// factors of a record's gradient are fewer numbers than their product.
func convolutions(channels int) Model {
	const d, side = 2, 2
	all := side * side * channels
	return Model{
		Input: []int{side, side, channels}, Outputs: d, Target: []int{side, side, channels},
		Inner: layer.Sequence{layer.Conv2D{Name: "a", In: channels, Out: channels, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU, layer.Flatten, layer.Dense{Name: "b", In: all, Out: d}},
		Outer: layer.Sequence{layer.Dense{Name: "c", In: d, Out: all}, layer.Fold(side, side, channels), layer.ReLU, layer.ConvTranspose2D{Name: "d", In: channels, Out: channels, Kernel: 3, Stride: 1, Padding: 1}},
		Loss: func(output, target *graph.Node) *graph.Node {
			return graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1, 2, 3)
		},
	}
}

// numbersPerRecord counts those of a gradient's graphs, and a network's parameters.
func numbersPerRecord(t *testing.T, b *backend.Backend, m Model, exact bool) (count, parameters int) {
	t.Helper()
	for _, spec := range m.Network().Params() {
		parameters += spec.Size()
	}
	total := func(n int) (sum int) {
		var held []shapes.Shape
		build := func(name string, inputs []shapes.Shape, of func(in []*graph.Node) []*graph.Node) (outputs []shapes.Shape) {
			g := graph.NewGraph(b.Engine, name)
			defer g.Finalize()
			in := make([]*graph.Node, len(inputs))
			for i, shape := range inputs {
				in[i] = graph.Parameter(g, string(rune('a'+i)), shape)
			}
			for _, out := range of(in) {
				outputs = append(outputs, out.Shape())
			}
			for _, node := range g.Nodes() {
				if node.NumOutputs() != 1 {
					continue
				}
				size := node.Shape().Size()
				if size >= n*parameters {
					t.Errorf("%s: %v has %d numbers: %d records times %d parameters and more", name, node, size, n, parameters)
				}
				sum += size * node.DType().Size() / 4 // of single precision
			}
			return outputs
		}
		of := func(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }
		inputs := []shapes.Shape{of(append([]int{n}, m.Input...)...), of(append([]int{n}, m.Target...)...)}
		for _, spec := range m.Network().Params() {
			inputs = append(inputs, of(spec.Shape...))
		}
		held = build("look", inputs, func(in []*graph.Node) []*graph.Node { return m.records(in[2:], in[:2], true) })[2:]
		build("norms", held, func(in []*graph.Node) []*graph.Node { return m.norms(in, exact) })
		build("sum", append(held, shapes.Make(dtypes.Float64, n, m.Outputs), shapes.Make(dtypes.Float64, n, 1)), func(in []*graph.Node) []*graph.Node { return []*graph.Node{m.sum(in)} })
		return sum
	}
	const few, more = 8, 16
	return (total(more) - total(few)) / (more - few), parameters
}

package matching_test

import (
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
)

// A model whose records are not treated each by itself is refused, by the name of what
// couples them: with a mean over the batch one record moves the gradient n times as far as
// its sensitivity says.
func TestModelsThatCoupleRecordsAreRefused(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	mean := func(x *graph.Node) *graph.Node {
		return graph.BroadcastToShape(graph.ReduceAndKeep(x, graph.ReduceMean, 0), x.Shape())
	}
	// beside has each record be the one before it, or behind it.
	beside := func(x *graph.Node, before bool) *graph.Node {
		n := x.Shape().Dimensions[0]
		rows := func(from, to int) *graph.Node { return graph.SliceAxis(x, 0, graph.AxisRange(from, to)) }
		if before {
			return graph.Concatenate([]*graph.Node{rows(0, 1), rows(0, n-1)}, 0)
		}
		return graph.Concatenate([]*graph.Node{rows(1, n), rows(n-1, n)}, 0)
	}
	squares := func(output, _ *graph.Node) *graph.Node { return graph.ReduceSum(graph.Square(output), 1) }
	model := func() matching.Model {
		return matching.Model{
			Input: []int{3}, Outputs: 2, Loss: squares,
			Inner: layer.Sequence{layer.Dense{Name: "in", In: 3, Out: 4}, layer.ReLU, layer.Dense{Name: "out", In: 4, Out: 2}},
		}
	}
	for want, change := range map[string]func(*matching.Model){
		"": func(*matching.Model) {},
		"what layer 2 (layer.Func) makes of a record depends on the other records": func(m *matching.Model) {
			m.Inner[1] = layer.Func(func(x *graph.Node) *graph.Node { return graph.Sub(x, mean(x)) })
		},
		"layer 1 (layer.Func) makes of a record depends on the other records": func(m *matching.Model) {
			m.Inner = append(layer.Sequence{layer.Func(func(x *graph.Node) *graph.Node { return graph.Sub(x, beside(x, true)) })}, m.Inner...)
		},
		"layer 3 (layer.Func) makes of a record depends on the other records": func(m *matching.Model) {
			m.Inner[2] = layer.Func(func(x *graph.Node) *graph.Node { return graph.Add(x, beside(x, false)) })
		},
		"what layer 4 (layer.Func) makes": func(m *matching.Model) {
			m.Outer = layer.Sequence{layer.Func(func(x *graph.Node) *graph.Node { return graph.Mul(x, graph.Exp(mean(x))) })}
		},
		"the loss of a record depends": func(m *matching.Model) {
			m.Loss = func(output, _ *graph.Node) *graph.Node { return squares(graph.Sub(output, mean(output)), nil) }
		},
		"the gradient of a record depends": func(m *matching.Model) { // the value is each record's own, its gradient is not
			m.Loss = func(output, _ *graph.Node) *graph.Node {
				own, all := squares(output, nil), squares(mean(output), nil)
				return graph.Add(own, graph.Sub(all, graph.StopGradient(all)))
			}
		},
		"the loss of 3 records has the shape [1]": func(m *matching.Model) {
			m.Loss = func(output, _ *graph.Node) *graph.Node { return graph.Reshape(graph.ReduceAllMean(output), 1) }
		},
		"what layer 4 (layer.Func) makes of 3 records is 2 numbers": func(m *matching.Model) {
			m.Outer = layer.Sequence{layer.Func(func(x *graph.Node) *graph.Node { return graph.ReduceMean(x, 0) })}
			m.Loss = func(output, _ *graph.Node) *graph.Node { return graph.BroadcastToDims(graph.ReduceAllSum(output), 3) }
		},
	} {
		m := model()
		change(&m)
		l, err := matching.New(b, m, layer.Init(m.Network(), 1), train.Optimizer{Name: train.SGD})
		switch {
		case err == nil:
			l.Close()
			if want != "" {
				t.Errorf("accepted; want an error with %q", want)
			}
		case want == "" || !strings.Contains(err.Error(), want):
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

package layer_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// TestPadHasAGradient compares with what is written down by hand: [2, 3] with a row
// before, a column after, and one between columns.
func TestPadHasAGradient(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		exec, err := NewExec(b.Engine, func(x, filling, weight *Node) []*Node {
			y := Pad(x, filling, PadAxis{Start: 1}, PadAxis{End: 1, Interior: 1})
			return append([]*Node{y}, Gradient(ReduceAllSum(Mul(y, weight)), x, filling)...)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(exec.Finalize)
		weight := tensors.FromFlatDataAndDimensions([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, 3, 6)
		outputs, err := exec.Call([][]float32{{1, 2, 3}, {4, 5, 6}}, float32(-1), weight)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range [][]float32{
			{-1, -1, -1, -1, -1, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1},
			{7, 9, 11, 13, 15, 17},
			{1 + 2 + 3 + 4 + 5 + 6 + 8 + 10 + 12 + 14 + 16 + 18},
		} {
			if got := tensors.MustCopyFlatData[float32](outputs[i]); !slices.Equal(got, want) {
				t.Errorf("output %d: %v, want %v", i, got, want)
			}
		}
	})
}

// A gradient that there is none of is an error of whoever compiles the graph.
func TestPadThatCutsOffHasNoGradient(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		_, err := CallOnce(b.Engine, func(x *Node) *Node {
			return Gradient(ReduceAllSum(Pad(x, ScalarZero(x.Graph(), x.DType()), PadAxis{Start: -1})), x)[0]
		}, []float32{1, 2, 3})
		if err == nil || !strings.Contains(err.Error(), "no gradient of a Pad that cuts off") {
			t.Errorf("found %v", err)
		}
	})
}

package layer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
)

// The value and the gradients of the autoencoders' heavy layers, by both
// methods on each backend.
func BenchmarkConvolution(b *testing.B) {
	methods := map[string]layer.Method{"native": layer.Native, "products": layer.Products}
	for _, shape := range []struct {
		name    string
		side, n int
		in      int
		layer   func(layer.Method) layer.Layer
	}{
		{"3x3 15 32-32", 15, 250, 32, func(m layer.Method) layer.Layer {
			return layer.Conv2D{Name: "conv", In: 32, Out: 32, Kernel: 3, Stride: 1, Padding: 1, Method: m}
		}},
		{"4x4 64 16-32", 64, 50, 16, func(m layer.Method) layer.Layer {
			return layer.Conv2D{Name: "conv", In: 16, Out: 32, Kernel: 4, Stride: 2, Padding: 1, Method: m}
		}},
		{"4x4 16 64-128", 16, 50, 64, func(m layer.Method) layer.Layer {
			return layer.Conv2D{Name: "conv", In: 64, Out: 128, Kernel: 4, Stride: 2, Padding: 1, Method: m}
		}},
		{"up 4 128-64", 4, 50, 128, func(m layer.Method) layer.Layer {
			return layer.ConvTranspose2D{Name: "up", In: 128, Out: 64, Kernel: 4, Stride: 2, Padding: 1, Method: m}
		}},
		{"up 32 16-3", 32, 50, 16, func(m layer.Method) layer.Layer {
			return layer.ConvTranspose2D{Name: "up", In: 16, Out: 3, Kernel: 4, Stride: 2, Padding: 1, Method: m}
		}},
	} {
		for _, candidate := range backend.Found() {
			for name, method := range methods {
				if candidate.Name == backend.Go && method == layer.Native {
					continue // seconds per call
				}
				b.Run(fmt.Sprintf("%s/%s/%s", shape.name, candidate.Kind, name), func(b *testing.B) {
					benchmark(b, candidate, shape.layer(method), shape.n, shape.side, shape.in)
				})
			}
		}
	}
}

func benchmark(b *testing.B, candidate backend.Candidate, l layer.Layer, n, side, in int) {
	open, err := candidate.Open()
	if err != nil {
		b.Fatal(err)
	}
	exec, err := NewExec(open.Engine, func(x, w, bias *Node) []*Node {
		y := l.Apply(x, []*Node{w, bias})
		return append([]*Node{ReduceAllSum(y)}, Gradient(ReduceAllSum(Square(y)), x, w, bias)...)
	})
	if err != nil {
		b.Fatal(err)
	}
	defer exec.Finalize()
	args := []any{random(rand.New(rand.NewPCG(1, 1)), n, side, side, in)}
	for _, p := range layer.Init(l, 1) {
		args = append(args, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
	}
	if _, err := exec.Call(args...); err != nil { // compiles
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := exec.Call(args...); err != nil {
			b.Fatal(err)
		}
	}
}

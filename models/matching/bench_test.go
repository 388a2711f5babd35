package matching_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	transportgraph "molehill/transport/graph"
	"molehill/transport/sliced"
)

// BenchmarkGradient is Table 5 of 004: SW²₂ between what a hidden layer of some width,
// without biases, makes of n = 4096 points in the plane, and as many others, on 30
// directions; its gradient by all parameters, clipped inside by either rule, and beside
// it the plain one by automatic differentiation. Where there is a Python that has JAX
// (MOLEHILL_PEERS_PYTHON, or that of make bench PEERS=1), testdata/table5.py does the same
// in the paper's ways first.
func BenchmarkGradient(b *testing.B) {
	jax := map[int][3]float64{} // milliseconds of grad, loop and vmap, by width
	python := cmp.Or(os.Getenv("MOLEHILL_PEERS_PYTHON"), filepath.Join("..", "..", ".molehill", "peers", "bin", "python"))
	if _, err := os.Stat(python); err == nil {
		text, err := exec.Command(python, filepath.Join("testdata", "table5.py")).Output()
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var width int
			var ms [3]float64
			if _, err := fmt.Sscan(line, &width, &ms[0], &ms[1], &ms[2]); err == nil {
				jax[width] = ms
			}
		}
	}
	const n, k, d = 4096, 30, 2
	on, err := backend.Open()
	if err != nil {
		b.Fatal(err)
	}
	for _, width := range []int{8, 16, 32, 128, 512, 2048, 8192} {
		m := matching.Model{Input: []int{2}, Outputs: d, Inner: layer.Sequence{
			layer.Unbiased{Layer: layer.Dense{Name: "a", In: 2, Out: width}}, layer.Func(graph.Tanh),
			layer.Unbiased{Layer: layer.Dense{Name: "b", In: width, Out: d}},
		}}
		rng := rand.New(rand.NewPCG(1, 1))
		of := matching.Batch{X: normals(rng, n*2, 1), Alpha: 1, Directions: sliced.Uniform(d, k, rng)}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		of.Pairs = []matching.Pair{{A: all, Points: normals(rng, n*d, 0.3)}}
		params := layer.Init(m.Network(), 1)
		l, err := matching.New(on, m, params, train.Optimizer{})
		if err != nil {
			b.Fatal(err)
		}
		for _, exact := range []bool{false, true} {
			b.Run(fmt.Sprintf("width=%d/clipped/exact=%t", width, exact), func(b *testing.B) {
				c := matching.Clipping{Output: 1, Jacobian: 1, Loss: 1, Exact: exact}
				if _, err := l.Gradient(of, c); err != nil { // compiles
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := l.Gradient(of, c); err != nil {
						b.Fatal(err)
					}
				}
				if ms, ok := jax[width]; ok && !exact {
					for i, name := range []string{"grad", "loop", "vmap"} {
						b.ReportMetric(ms[i], "jax-"+name+"-ms")
					}
				}
			})
		}
		l.Close()
		b.Run(fmt.Sprintf("width=%d/plain", width), func(b *testing.B) {
			if on.Name == backend.Go {
				b.Skip("the Go backend sorts slowly")
			}
			exec := graph.MustNewExec(on.Engine, func(in []*graph.Node) *graph.Node {
				loss := transportgraph.SW(m.Inner.Apply(in[0], in[3:]), in[1], in[2], 2)
				var flat []*graph.Node
				for _, g := range graph.Gradient(loss, in[3:]...) {
					flat = append(flat, graph.Reshape(g, -1))
				}
				return graph.Concatenate(flat, 0)
			})
			defer exec.Finalize()
			in := []any{tensors.FromFlatDataAndDimensions(of.X, n, 2), tensors.FromFlatDataAndDimensions(of.Pairs[0].Points, n, d),
				tensors.FromFlatDataAndDimensions(of.Directions.Data, k, d)}
			for _, p := range params {
				in = append(in, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
			}
			exec.MustCall(in...) // compiles
			for b.Loop() {
				tensors.MustCopyFlatData[float32](exec.MustCall(in...)[0])
			}
		})
	}
}

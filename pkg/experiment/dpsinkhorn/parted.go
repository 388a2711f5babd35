package dpsinkhorn

import (
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport/graph"
	"molehill/transport/sinkhorn"
)

// parted makes the program of two graphs, between which the host solves: the costs, and
// what potentials make of them. An iteration takes some ten kernels, each of less than a
// microsecond's work for batches of a few dozen rows, and a device that is told of each by
// itself takes longer for all of them than a core of the host does, which holds such
// costs in its cache. The rows themselves stay on the device.
func (p *Program) parted(b *backend.Backend) error {
	costs, err := p.exec(b, func(in []*Node) []*Node {
		x, y := p.loss.measures(in)
		first, second := graph.Mixed(x, p.loss.Debiasing)
		cost := func(x, y graph.Measure) *Node {
			return p.loss.solver().Cost(InsertAxes(x.Points, 0), InsertAxes(y.Points, 0))
		}
		return []*Node{cost(first, y), cost(first, second)}
	})
	if err != nil {
		return err
	}
	ending, err := p.exec(b, func(in []*Node) []*Node {
		x, y := p.loss.measures(in)
		f, g := [2]*Node{in[5], in[7]}, [2]*Node{in[6], in[8]}
		return pull(p.loss.solver().SemiDebiasedAt(x, y, p.loss.Debiasing, f, g), in)
	})
	p.solve = func(in []*tensors.Tensor, weights []float32) ([]*tensors.Tensor, error) {
		out, err := costs.Call(arguments(in)...)
		if err != nil {
			return nil, err
		}
		defer free(out)
		var matrices [2][]float32
		for k := range matrices {
			if matrices[k], err = tensors.CopyFlatData[float32](out[k]); err != nil {
				return nil, err
			}
		}
		potentials := p.potentials(matrices, weights)
		defer free(potentials)
		return ending.Call(append(arguments(in), arguments(potentials)...)...)
	}
	return err
}

// potentials are f and g of the loss's two terms, the second of which weighs all alike.
// A term without a solution has none that are finite, and so no gradient that is.
func (p *Program) potentials(costs [2][]float32, weights []float32) []*tensors.Tensor {
	solver := sinkhorn.Solver{Epsilon: p.loss.Entropy, Tolerance: p.loss.Tolerance, MaxIterations: p.loss.Iterations}
	alike := make([]float64, p.n)
	for i := range alike {
		alike[i] = 1
	}
	out := make([]*tensors.Tensor, 4)
	var both sync.WaitGroup
	for k, masses := range [2][]float64{wide(weights), alike} {
		both.Go(func() {
			f, g := make([]float32, p.n), make([]float32, len(masses))
			if found, err := solver.Scale(wide(costs[k]), alike, masses); err != nil {
				f[0] = float32(math.NaN())
			} else {
				narrow(f, found.F)
				narrow(g, found.G)
			}
			out[2*k], out[2*k+1] = tensors.FromFlatDataAndDimensions(f, len(f)), tensors.FromFlatDataAndDimensions(g, len(g))
		})
	}
	both.Wait()
	return out
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

func narrow(dst []float32, values []float64) {
	for i, v := range values {
		dst[i] = float32(v)
	}
}

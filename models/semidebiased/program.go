package semidebiased

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport/graph"
)

// Program computes the gradient of a Loss on a backend, for batches of fixed
// shapes: as many generated rows as Split says of n, and at most room real ones.
// It is for one goroutine.
type Program struct {
	sizes
	on   *backend.Backend
	how  solving
	exec *Exec
}

// Compile builds the program for n generated rows beside real ones of the same
// dimension, of which at most room are looked at: a public number.
func (l Loss) Compile(b *backend.Backend, n, room, dim int) (*Program, error) {
	_, extra := l.Split(n)
	away := !b.OnCPU()
	return l.compile(b, n, room, dim, solving{
		atOnce: away && extra > 0, // without, the second term is symmetric
		fixed:  away && l.Iterations <= 300,
	})
}

// solving is how the terms of a loss are computed.
type solving struct {
	atOnce bool // in one loop (graph.SemiDebiasedAtOnce), not one by one
	fixed  bool // with all iterations (graph.Sinkhorn.Fixed)
}

// compile builds a program that solves the loss's terms in one way or another.
func (l Loss) compile(b *backend.Backend, n, room, dim int, how solving) (*Program, error) {
	of, err := l.sized(n, room, dim)
	if err != nil {
		return nil, err
	}
	p := &Program{sizes: of, on: b, how: how}
	p.exec, err = NewExec(b.Engine, func(x, labels, y, labelsY, weights *Node) []*Node {
		d := p.divergence(x, labels, y, labelsY, weights)
		return []*Node{Gradient(d.Value, x)[0], d.Value, d.MarginalError}
	})
	if err != nil {
		return nil, fmt.Errorf("semidebiased: on %s: %w", b, err)
	}
	return p, nil
}

// divergence builds the loss of generated rows x, [n+n′, dim], with labels against real
// ones y, [room, dim], with theirs and with weights, 0 for those that are not there.
func (p *Program) divergence(x, labels, y, labelsY, weights *Node) *graph.Divergence {
	l, s := p.loss, p.loss.solver()
	s.Fixed = p.how.fixed
	xs := graph.Labelled(x, labels, l.Classes, l.LabelScale)
	ys := graph.Measure{Points: graph.Labelled(y, labelsY, l.Classes, l.LabelScale), Weights: weights}
	if p.how.atOnce {
		return s.SemiDebiasedAtOnce(xs, ys, l.Debiasing)
	}
	return s.SemiDebiased(xs, ys, l.Debiasing)
}

// Head is the loss as the head of a generator's graph (train.Head): of what the generator
// makes, and of Fed.Tensors. Its one result is what Pull has, and 1 where all that was
// generated is finite, else 0: of small results each by itself would take as long to fetch.
func (p *Program) Head(x *Node, more []*Node) []*Node {
	d := p.divergence(x, more[0], more[1], more[2], more[3])
	return []*Node{packed(x, Gradient(d.Value, x)[0], d.Value, d.MarginalError)}
}

// Unpack reads what Head has made, but for its last number.
func (p *Program) Unpack(packed []float32, _ func() ([]float32, error), in Fed) (Pull, error) {
	numbers := len(packed) - 2
	pull := Pull{ByX: packed[:numbers:numbers], Loss: float64(packed[numbers]), MarginalError: float64(packed[numbers+1])}
	if in.empty {
		pull = p.without(pull)
	}
	return pull, nil
}

// Close releases the program.
func (p *Program) Close() { p.exec.Finalize() }

// Gradient returns the gradient at generated rows x. How many real rows there are
// is left to chance by a Poisson sample, and private: of more than there is room
// for the first ones are looked at, and where there are none the rows that would
// have met them get no pull, while the others get theirs, as always. Real rows
// count nothing unless all their numbers are finite, and labels out of range are
// of no class. Loss and MarginalError tell of the real rows, too: they are for
// nobody but those who may see these.
func (p *Program) Gradient(x, real Batch) (Pull, error) {
	if err := p.checkMade(x); err != nil {
		return Pull{}, err
	}
	fed, err := p.Feed(p.on, x.Labels, real)
	if err != nil {
		return Pull{}, err
	}
	defer fed.Free()
	made := tensors.FromFlatDataAndDimensions(x.Data, x.Len(), p.dim)
	defer made.MustFinalizeAll()
	in := []any{made}
	for _, t := range fed.Tensors {
		in = append(in, t)
	}
	out, err := p.exec.Call(in...)
	if err != nil {
		return Pull{}, fmt.Errorf("semidebiased: %w", err)
	}
	defer backend.Free(out)
	byX, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return Pull{}, fmt.Errorf("semidebiased: %w", err)
	}
	pull := Pull{byX, float64(tensors.ToScalar[float32](out[1])), float64(tensors.ToScalar[float32](out[2]))}
	if fed.empty {
		pull = p.without(pull)
	}
	return pull, nil
}

package dpsinkhorn

import (
	"cmp"
	"fmt"
	"sync"

	"molehill/transport"
	"molehill/transport/newton"
	"molehill/transport/sinkhorn"
)

// Exact computes the gradient of a Loss on the host, from plans that meet their marginals to
// its Tolerance: by Newton's method from exact transport (package newton), where Iterations
// of Sinkhorn's leave a λ as small as 001's far off. It is for batches of up to hundreds of
// rows.
type Exact struct{ sizes }

// Exact returns the loss of n generated rows beside real ones of the same dimension, of
// which at most room are looked at.
func (l Loss) Exact(n, room, dim int) (*Exact, error) {
	of, err := l.sized(n, room, dim)
	return &Exact{of}, err
}

// Close has nothing to release.
func (e *Exact) Close() {}

// term is one of the loss's: W between rows of generated points from the first on, and
// others.
type term struct {
	cost     sinkhorn.Cost
	x, y     transport.Points // labelled
	solution *newton.Solution
	err      error
}

// plan is that of the term, nothing where there is an error.
func (t *term) plan(l Loss) []newton.Entry {
	costs, err := sinkhorn.Costs(t.x, t.y, t.cost)
	if err == nil {
		t.solution, err = newton.Problem{Cost: costs, N: t.x.Len(), M: t.y.Len(), Epsilon: l.Entropy}.Solve(l.tolerance())
	}
	if t.err = err; err != nil {
		return nil
	}
	return t.solution.Plan
}

// Gradient returns what Program.Gradient does. Real rows to which double precision finds no
// plan give no pull, as none do: whether there is one is private.
func (e *Exact) Gradient(x, real Batch) (Pull, error) {
	if err := cmp.Or(e.checkMade(x), e.checkReal(real)); err != nil {
		return Pull{}, err
	}
	total, extra := e.loss.Split(e.n)
	cost := sinkhorn.Mixture{Squared: 1, Absolute: e.loss.Absolute}
	if e.loss.Unsquared {
		cost.Squared = 0
	}
	points := e.loss.labelled(x, false)
	part := func(from, to int) transport.Points {
		return transport.Points{Dim: points.Dim, Data: points.Data[from*points.Dim : to*points.Dim]}
	}
	first := part(0, e.n)
	apart := &term{cost: cost, x: first, y: part(extra, extra+e.n)}
	var metPlan, apartPlan []newton.Entry
	var both sync.WaitGroup
	both.Go(func() { apartPlan = apart.plan(e.loss) })
	met := &term{cost: cost, x: first, y: e.loss.labelled(real.first(e.room), true)}
	if met.y.Len() > 0 {
		metPlan = met.plan(e.loss)
	}
	both.Wait()
	if apart.err != nil {
		return Pull{}, fmt.Errorf("dpsinkhorn: generated rows: %w", apart.err)
	}
	pull := Pull{ByX: make([]float32, total*e.dim), MarginalError: apart.solution.MarginalError}
	transport.Parallel(total, func() []float64 { return make([]float64, 2*e.dim) }, func(sums []float64, i int) { // each row's own
		clear(sums)
		x, toMade, toReal := points.Row(i)[:e.dim], sums[:e.dim], sums[e.dim:]
		for _, p := range apartPlan {
			if p.I == i {
				cost.ByX(toMade, x, apart.y.Row(p.J)[:e.dim], -p.Mass)
			}
			if extra+p.J == i {
				cost.ByY(toMade, first.Row(p.I)[:e.dim], x, -p.Mass)
			}
		}
		for _, p := range metPlan {
			if p.I == i {
				cost.ByX(toReal, x, met.y.Row(p.J)[:e.dim], 2*p.Mass)
			}
		}
		by := pull.ByX[i*e.dim:][:e.dim]
		for k, v := range toMade {
			by[k] = float32(v + toReal[k])
		}
	})
	if met.solution == nil {
		return e.without(pull), nil
	}
	pull.Loss = 2*met.solution.Value - apart.solution.Value
	pull.MarginalError = max(pull.MarginalError, met.solution.MarginalError)
	return pull, nil
}

// first are the first rows, up to so many.
func (b Batch) first(most int) Batch {
	if b.Len() <= most {
		return b
	}
	return Batch{transport.Points{Dim: b.Dim, Data: b.Data[:most*b.Dim]}, b.Labels[:most]}
}

// labelled returns rows with their one-hot labels times α_c behind them, and leaves out those
// that are not finite, if asked to.
func (l Loss) labelled(b Batch, finiteOnly bool) transport.Points {
	p := transport.Points{Dim: b.Dim + l.Classes}
	p.Data = make([]float32, 0, b.Len()*p.Dim)
	for i := range b.Len() {
		if finiteOnly && !finite(b.Row(i)) {
			continue
		}
		from := len(p.Data)
		p.Data = append(p.Data, b.Row(i)...)[:from+p.Dim]
		if label := b.Labels[i]; label >= 0 && label < l.Classes {
			p.Data[from+b.Dim+label] = float32(l.LabelScale)
		}
	}
	return p
}

func (l Loss) tolerance() float64 {
	if l.Tolerance == 0 {
		return 1e-4
	}
	return l.Tolerance
}

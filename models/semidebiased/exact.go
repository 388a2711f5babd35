package semidebiased

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"molehill/transport"
	"molehill/transport/graph"
	"molehill/transport/newton"
	"molehill/transport/sinkhorn"
)

// Exact computes the gradient of a Loss on the host, from plans that meet their marginals to
// its Tolerance: by Newton's method from exact transport (package newton), where Iterations
// of Sinkhorn's leave a λ as small as 001's far off. It is for batches of up to hundreds of
// rows.
type Exact struct {
	sizes
	sums [2][]float64 // of both terms, for the next gradient
}

// Exact returns the loss of n generated rows beside real ones of the same dimension, of
// which at most room are looked at. It is for one goroutine.
func (l Loss) Exact(n, room, dim int) (*Exact, error) {
	of, err := l.sized(n, room, dim)
	return &Exact{sizes: of}, err
}

// Close has nothing to release.
func (e *Exact) Close() {}

// term is one of the loss's: so many times W between the generated rows that met real ones
// and others.
type term struct {
	times  float64
	costs  func() ([]float64, error) // [n, m]
	others transport.Points          // [m, dim]
	after  int                       // others are generated rows after so many; −1: real ones

	byX      []float64 // of the generated rows that it has to do with, [n or n+n′, dim]
	solution *newton.Solution
}

// Gradient returns what Program.Gradient does. Real rows to which double precision finds no
// plan give no pull, as none do: whether there is one is private.
func (e *Exact) Gradient(x, real Batch) (Pull, error) {
	if err := cmp.Or(e.checkMade(x), e.checkReal(real)); err != nil {
		return Pull{}, err
	}
	real = e.counting(real)
	points := e.loss.labelled(x)
	_, extra := e.loss.Split(e.n)
	return e.pull(func() (transport.Points, error) { return x.Points, nil }, real,
		func() ([]float64, error) { return sinkhorn.Costs(e.part(points, 0), e.loss.labelled(real), e.cost()) },
		func() ([]float64, error) { return sinkhorn.Costs(e.part(points, 0), e.part(points, extra), e.cost()) })
}

// part are n rows of points from the first on.
func (e *Exact) part(points transport.Points, first int) transport.Points {
	return transport.Points{Dim: points.Dim, Data: points.Data[first*points.Dim : (first+e.n)*points.Dim]}
}

// cost is the loss's, on the host.
func (e *Exact) cost() sinkhorn.Mixture {
	if e.loss.Unsquared {
		return sinkhorn.Mixture{Absolute: e.loss.Absolute}
	}
	return sinkhorn.Mixture{Squared: 1, Absolute: e.loss.Absolute}
}

// pull is the gradient by generated rows, [n+n′, dim], of both terms, whose costs are with
// real rows and with each other.
func (e *Exact) pull(x func() (transport.Points, error), real Batch, met, apart func() ([]float64, error)) (Pull, error) {
	total, extra := e.loss.Split(e.n)
	terms := []*term{{times: -1, costs: apart, after: extra}, {times: 2, costs: met, others: real.Points, after: -1}}
	rows := []int{total, e.n}
	var errs [2]error
	work := func(k int) {
		if e.sums[k] == nil {
			e.sums[k] = make([]float64, rows[k]*e.dim)
		}
		clear(e.sums[k])
		terms[k].byX = e.sums[k]
		errs[k] = e.solve(terms[k], x)
	}
	var other sync.WaitGroup
	other.Go(func() { work(0) })
	if real.Len() > 0 {
		work(1)
	}
	other.Wait()
	if errs[0] != nil {
		return Pull{}, fmt.Errorf("semidebiased: generated rows: %w", errs[0])
	}
	toMade, toReal := terms[0], terms[1]
	pull := Pull{ByX: make([]float32, total*e.dim), MarginalError: toMade.solution.MarginalError}
	for i, v := range toMade.byX {
		if i < len(toReal.byX) {
			v += toReal.byX[i]
		}
		pull.ByX[i] = float32(v)
	}
	if toReal.solution == nil {
		return e.without(pull), nil
	}
	pull.Loss = 2*toReal.solution.Value - toMade.solution.Value
	pull.MarginalError = max(pull.MarginalError, toReal.solution.MarginalError)
	return pull, nil
}

// solve finds a term's plan and adds up how its rows are pulled along that.
func (e *Exact) solve(t *term, x func() (transport.Points, error)) error {
	costs, err := t.costs()
	if err != nil {
		return err
	}
	solution, err := newton.Problem{Cost: costs, N: e.n, M: len(costs) / e.n, Epsilon: e.loss.Entropy}.Solve(e.loss.tolerance())
	if err != nil {
		return err
	}
	made, err := x()
	if err != nil {
		return err
	}
	cost, row := e.cost(), func(i int) []float64 { return t.byX[i*e.dim:][:e.dim] }
	for _, p := range solution.Plan {
		if t.after < 0 {
			cost.ByX(row(p.I), made.Row(p.I), t.others.Row(p.J), t.times*p.Mass)
			continue
		}
		other := t.after + p.J
		cost.ByX(row(p.I), made.Row(p.I), made.Row(other), t.times*p.Mass)
		cost.ByY(row(other), made.Row(p.I), made.Row(other), t.times*p.Mass)
	}
	t.solution = solution
	return nil
}

// Head is the part of the gradient for which a device is better, as the head of a generator's
// graph (train.Head): costs in double precision, [n, room] and [n, n], and what the generator
// has made. The plans of a small λ tell costs apart by less than single precision does.
func (e *Exact) Head(x *Node, more []*Node) []*Node {
	labelled := func(points, labels *Node) *Node {
		return ConvertDType(graph.Labelled(points, labels, e.loss.Classes, e.loss.LabelScale), dtypes.Float64)
	}
	_, extra := e.loss.Split(e.n)
	made, cost := labelled(x, more[0]), e.loss.solver().Cost
	first, others := Slice(made, AxisRange(0, e.n)), Slice(made, AxisRange(extra, extra+e.n))
	halves := func(costs *Node) *Node { return Bitcast(costs, x.DType()) } // to go with what has 32 bits
	return []*Node{packed(x, halves(cost(first, labelled(more[1], more[2]))), halves(cost(first, others))), x}
}

// Unpack computes the gradient from what Head has made: plans while generated rows are on
// their way.
func (e *Exact) Unpack(packed []float32, rest func() ([]float32, error), in Fed) (Pull, error) {
	read := func(from, m, stride int) func() ([]float64, error) { // m columns of so many
		return func() ([]float64, error) {
			c := make([]float64, 0, e.n*m)
			for i := range e.n {
				for at := from + i*stride; len(c) < (i+1)*m; at++ {
					low, high := math.Float32bits(packed[2*at]), math.Float32bits(packed[2*at+1])
					c = append(c, math.Float64frombits(uint64(high)<<32|uint64(low)))
				}
			}
			return c, nil
		}
	}
	x := func() (transport.Points, error) {
		data, err := rest()
		return transport.Points{Dim: e.dim, Data: data}, err
	}
	return e.pull(x, in.real, read(0, in.real.Len(), e.room), read(e.n*e.room, e.n, e.n))
}

// labelled returns rows with their one-hot labels times α_c behind them.
func (l Loss) labelled(b Batch) transport.Points {
	p := transport.NewPoints(b.Len(), b.Dim+l.Classes)
	for i, label := range b.Labels {
		copy(p.Row(i), b.Row(i))
		if label >= 0 && label < l.Classes {
			p.Row(i)[b.Dim+label] = float32(l.LabelScale)
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

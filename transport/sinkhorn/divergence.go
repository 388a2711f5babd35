package sinkhorn

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
)

// Divergence is a Sinkhorn loss of generated points X against real ones, of
// 001. Its terms are transport costs with entropy, W_λ = OT_ε with ε = λ.
type Divergence struct {
	Value     float64   // of the terms' duals (Biased: and masses)
	ByX       []float64 // its derivative by X, [n, dim], by the envelope theorem
	Terms     []*Result // of the transports, in the order of the formula
	Converged bool      // all of them
}

// Biased returns the empirical Sinkhorn divergence (001 Eqs. 2 and 4),
//
//	2·W(X, Y) − W(X, X) − W(Y, Y),
//
// which is 0 for X = Y, and at least 0 for a cost C ≥ 0 of which exp(−C/ε) is a positive
// kernel, as it is of distances and their squares. Half of it is the divergence of Feydy
// et al. 2019; of unbalanced transport, where masses differ, it is with their
// ε·(Σa − Σb)² (Séjourné et al. 2019). With a finite sample its gradient is biased.
func (s Solver) Biased(x, y transport.Measure, c Cost) (*Divergence, error) {
	d, err := s.divergence([]term{
		{Problem{x, y, c}, 2, 0, none},
		{Problem{x, x, c}, -1, 0, 0},
		{Problem{y, y, c}, -1, none, none},
	}, x)
	if err == nil && s.Reach != 0 {
		more := mass(x) - mass(y)
		d.Value += s.Epsilon * more * more
	}
	return d, err
}

// mass is the sum of a measure's weights, as unbalanced transport takes them.
func mass(m transport.Measure) float64 {
	if m.Weights == nil {
		return 1
	}
	return floats.Sum(m.Weights)
}

// Debiased returns the loss with samples X′ and Y′ drawn anew (001 Eq. 5),
//
//	2·W(X, Y) − W(X, X′) − W(Y, Y′),
//
// whose gradient is unbiased. ByX is by X alone; X′ is a sample of its own.
func (s Solver) Debiased(x, y, x2, y2 transport.Measure, c Cost) (*Divergence, error) {
	return s.divergence([]term{
		{Problem{x, y, c}, 2, 0, none},
		{Problem{x, x2, c}, -1, 0, none},
		{Problem{y, y2, c}, -1, none, none},
	}, x)
}

// SemiDebiased returns the loss that mixes the two (001 Eq. 6). X holds n + n′
// generated points, n′ = ⌊n·p⌋ for the mixture fraction p in [0, 1], and
//
//	2·W(X[0:n], Y) − W(X[0:n], X[n′:n+n′]),
//
// in Go's notation for ranges. p = 0 has the gradient of Biased and p = 1 that
// of Debiased by X and X′; W(Y, ·) does not depend on X and is left out. ByX is
// by all n + n′ points.
func (s Solver) SemiDebiased(x transport.Points, y transport.Measure, p float64, c Cost) (*Divergence, error) {
	if err := x.Check(); err != nil {
		return nil, fmt.Errorf("sinkhorn: x: %w", err)
	}
	n, extra, err := Mixed(x.Len(), p)
	if err != nil {
		return nil, err
	}
	part := func(from, to int) transport.Measure {
		return transport.Uniform(transport.Points{Dim: x.Dim, Data: x.Data[from*x.Dim : to*x.Dim]})
	}
	return s.divergence([]term{
		{Problem{part(0, n), y, c}, 2, 0, none},
		{Problem{part(0, n), part(extra, n+extra), c}, -1, 0, extra},
	}, transport.Uniform(x))
}

// Mixed returns n and n′ = ⌊n·p⌋ of a semi-debiased loss with mixture fraction p
// on total = n + n′ points. Not every total is such a sum: with p = 1 it is even.
func Mixed(total int, p float64) (n, extra int, err error) {
	if !(p >= 0 && p <= 1) {
		return 0, 0, fmt.Errorf("sinkhorn: mixture fraction p = %v; it must lie from 0 to 1", p)
	}
	for n = total / 2; n <= total; n++ {
		if n > 0 && n+int(float64(n)*p) == total {
			return n, total - n, nil
		}
	}
	return 0, 0, fmt.Errorf("sinkhorn: %d points are not n + ⌊n·%v⌋ for any n; choose n, and give that many", total, p)
}

// term is factor·W of a problem whose sides hold the rows of X from fromX and
// fromY on, or none of them.
type term struct {
	problem      Problem
	factor       float64
	fromX, fromY int
}

const none = -1

func (s Solver) divergence(terms []term, x transport.Measure) (*Divergence, error) {
	d := &Divergence{ByX: make([]float64, len(x.Data)), Converged: true}
	for _, t := range terms {
		r, err := s.Solve(t.problem)
		if err != nil {
			return nil, err
		}
		d.Terms = append(d.Terms, r)
		d.Value += t.factor * r.Dual
		d.Converged = d.Converged && r.Converged
		if t.fromX == none && t.fromY == none {
			continue
		}
		byX, byY, err := r.Gradient()
		if err != nil {
			return nil, err
		}
		for _, side := range []struct {
			by   []float64
			from int
		}{{byX, t.fromX}, {byY, t.fromY}} {
			if side.from == none {
				continue
			}
			for k, v := range side.by {
				d.ByX[side.from*x.Dim+k] += t.factor * v
			}
		}
	}
	return d, nil
}

// Labelled returns points with alpha times the one-hot vector of their label
// appended, [n, dim+classes]: what makes any cost one that tells classes apart
// (001 Sections 4.4 and Appendix, with α_c = 15).
func Labelled(p transport.Points, labels []int, classes int, alpha float64) (transport.Points, error) {
	if err := p.Check(); err != nil {
		return transport.Points{}, fmt.Errorf("sinkhorn: %w", err)
	}
	if bytes := 4 * float64(p.Len()) * (float64(p.Dim) + float64(classes)); classes < 1 || bytes > float64(MemoryLimit) {
		return transport.Points{}, fmt.Errorf("sinkhorn: labels of %d classes for %d points; want at least 1 class, and points that fit into %.1f GiB (MemoryLimit)", classes, p.Len(), float64(MemoryLimit)/(1<<30))
	}
	if !(math.Abs(alpha) <= math.MaxFloat32) {
		return transport.Points{}, fmt.Errorf("sinkhorn: labels weigh α = %v; take a finite number", alpha)
	}
	if len(labels) != p.Len() {
		return transport.Points{}, fmt.Errorf("sinkhorn: %d labels for %d points; give one a point", len(labels), p.Len())
	}
	labelled := transport.NewPoints(p.Len(), p.Dim+classes)
	for i, label := range labels {
		if label < 0 || label >= classes {
			return transport.Points{}, fmt.Errorf("sinkhorn: label %d of point %d; labels are 0 to %d", label, i, classes-1)
		}
		row := labelled.Row(i)
		copy(row, p.Row(i))
		row[p.Dim+label] = float32(alpha)
	}
	return labelled, nil
}

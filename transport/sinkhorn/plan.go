package sinkhorn

import (
	"fmt"

	"molehill/transport"
	"molehill/transport/sinkhorn/internal/kernel"
)

// Plan returns the plan P of the potentials, [n, m].
func (r *Result) Plan() ([]float64, error) {
	n, m := r.kept.n, r.kept.m
	if bytes := int64(n) * int64(m) * 8; bytes > MemoryLimit {
		return nil, fmt.Errorf("sinkhorn: the plan of %d and %d points takes %.1f GiB, more than the %.1f GiB allowed (MemoryLimit); Gradient and Map do without it",
			n, m, float64(bytes)/(1<<30), float64(MemoryLimit)/(1<<30))
	}
	plan := make([]float64, n*m)
	s := r.solution
	s.planRows(func(int) {}, func(w scratch, _, i int, _ []float64, _ float64) {
		place(plan[index(r.kept.x, i)*m:][:m], w.plan, r.kept.y, 1, 0)
	})
	return plan, nil
}

func index(indices []int, i int) int {
	if indices == nil {
		return i
	}
	return indices[i]
}

// Map returns the barycentric projection of the plan, [n, dim]: to each point of
// x the mean of what it is coupled with, Σ_j P_ij·y_j / Σ_j P_ij. As ε falls it
// tends to Brenier's map, if there is one. A point of no weight stays where it
// is.
func (r *Result) Map() []float64 {
	s := r.solution
	dim := s.rows.x.Dim
	mapped := make([]float64, r.kept.n*dim)
	for _, i := range dropped(r.kept.x, r.kept.n) {
		for k, v := range r.kept.from.Row(i) {
			mapped[i*dim+k] = float64(v)
		}
	}
	r.eachRow(func(i int, plan []float64, sum float64) {
		target := mapped[i*dim : (i+1)*dim]
		for j, p := range plan {
			for k, v := range s.rows.y.Row(j) {
				target[k] += p / sum * float64(v)
			}
		}
	})
	return mapped
}

// eachRow calls visit with the rows of the plan of points that weigh something,
// under their indices in the problem, on all cores.
func (r *Result) eachRow(visit func(i int, plan []float64, sum float64)) {
	r.solution.planRows(func(int) {}, func(w scratch, _, i int, _ []float64, sum float64) {
		visit(index(r.kept.x, i), w.plan, sum)
	})
}

// Gradient returns the derivatives of OT_ε by the points of x and y, [n, dim]
// and [m, dim]:
//
//	∂OT_ε/∂x_i = Σ_j P_ij·∂c/∂x(x_i, y_j)
//
// By the envelope theorem the plan counts as a constant, since it is optimal
// (Feydy et al. 2019, Proposition 2); that is exact at convergence and off by
// the order of MarginalError before. Where x and y are one measure its points
// move on both sides, and their derivative is the sum of the two.
func (r *Result) Gradient() (byX, byY []float64, err error) {
	s := r.solution
	if c, own := s.rows.cost.(Func); own && c.Slopes == nil {
		return nil, nil, fmt.Errorf("sinkhorn: this cost has no slopes, so there is no gradient by points; give Func its Slopes")
	}
	dim := s.rows.x.Dim
	byX, byY = make([]float64, r.kept.n*dim), make([]float64, r.kept.m*dim)
	s.pull(byX, r.kept.x)
	if s.same {
		copy(byY, byX)
		return byX, byY, nil
	}
	s.transposed().pull(byY, r.kept.y)
	return byX, byY, nil
}

// transposed is the same solution with x and y in each other's place. Its costs
// are computed as they are needed.
func (s *state) transposed() *state {
	t := newState(newRows(s.rows.y, s.rows.x, transposedCost(s.rows.cost), s.rows.workers), s.b, s.a, s.reach, false)
	t.f, t.g, t.epsilon = s.g, s.f, s.epsilon
	t.rows.offset = s.rows.offset
	t.loadColumns()
	return t
}

// swapped is a cost with its arguments exchanged.
type swapped struct{ Cost }

func (c swapped) At(x, y []float32) float64 { return c.Cost.At(y, x) }
func (c swapped) ByX(dst []float64, x, y []float32, weight float64) {
	c.Cost.ByY(dst, y, x, weight)
}

func transposedCost(c Cost) Cost {
	if symmetric(c) {
		return c
	}
	return swapped{c}
}

// pull adds Σ_j P_ij·∂c/∂x(x_i, y_j) to by, [·, dim], at the indices.
func (s *state) pull(by []float64, indices []int) {
	x, y := s.rows.x, s.rows.y
	dim, m := x.Dim, y.Len()
	if !squares(s.rows.cost) {
		mixture, isMixture := s.rows.cost.(Mixture)
		s.planRows(func(int) {}, func(w scratch, _, i int, _ []float64, _ float64) {
			dst := by[index(indices, i)*dim:][:dim]
			if isMixture {
				wide := widened(x.Row(i))
				kernel.PullRow(dst, w.plan, wide, s.rows.columns, m, kernel.Mixture(mixture))
				kernel.Discard(wide)
				return
			}
			for j, p := range w.plan {
				s.rows.cost.ByX(dst, x.Row(i), y.Row(j), p)
			}
		})
		return
	}
	// Σ_j w_ij·(x_i−y_j) = (Σ_j w_ij)·x_i − (W·Y)_i, a product again, with W = 2P
	// for squares and P/‖x−y‖ for distances. Near pairs, whose w is large, would
	// cancel in it.
	transposed := make([]float64, dim*m)
	for j := range m {
		for k, v := range y.Row(j) {
			transposed[k*m+j] = float64(v)
		}
	}
	targets := kernel.NewPanels(m, dim, transposed)
	s.planBlocks(func(block []float64, from, to int, costs []float64) {
		pulled, sums := make([]float64, rowsAtOnce*dim), make([]float64, rowsAtOnce)
		for i := range to - from {
			row := block[i*m : (i+1)*m]
			dst := by[index(indices, from+i)*dim:][:dim]
			switch c := s.rows.cost.(type) {
			case Mixture:
				scale(row, 2*c.Squared)
			case Euclidean:
				for j, distance := range costs[i*m : (i+1)*m] {
					distance += s.rows.offset
					if s.rows.near(from+i, j, distance*distance) || distance == 0 {
						c.ByX(dst, x.Row(from+i), y.Row(j), row[j])
						row[j] = 0
					} else {
						row[j] /= distance
					}
				}
			}
			for _, w := range row {
				sums[i] += w
			}
		}
		targets.Product(pulled, block, to-from, 0)
		for i := range to - from {
			dst := by[index(indices, from+i)*dim:][:dim]
			for k, v := range x.Row(from + i) {
				dst[k] += sums[i]*float64(v) - pulled[i*dim+k]
			}
		}
	})
}

// planBlocks calls visit with blocks of rows of the plan, [rowsAtOnce, m], and
// their costs.
func (s *state) planBlocks(visit func(block []float64, from, to int, costs []float64)) {
	n, m := len(s.a), len(s.b)
	transport.ParallelOn(s.rows.workers, len(s.columns), func() scratch {
		return scratch{costs: make([]float64, rowsAtOnce*m), plan: make([]float64, rowsAtOnce*m)}
	}, func(w scratch, chunk int) {
		first, last := bounds(n, chunk)
		for from := first; from < last; from += rowsAtOnce {
			to := min(from+rowsAtOnce, last)
			costs := s.rows.at(w.costs, from, to, 0)
			for i := from; i < to; i++ {
				kernel.PlanRow(w.plan[(i-from)*m:(i-from+1)*m], s.v, costs[(i-from)*m:(i-from+1)*m], s.f[i]+s.logA[i], 1/s.epsilon)
			}
			visit(w.plan, from, to, costs)
		}
	})
}

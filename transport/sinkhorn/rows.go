package sinkhorn

import (
	"fmt"
	"math"

	"molehill/transport"
)

// rows gives the rows of a cost matrix, C_ij = c(x_i, y_j), held or computed
// when they are needed.
type rows struct {
	x, y    transport.Points
	cost    Cost
	columns []float32 // y transposed, [dim, m]: costs of this package take many columns at a time
	held    []float64 // [n, m], or nil
	workers int       // 0: all cores
}

func newRows(x, y transport.Points, cost Cost, workers int) *rows {
	r := &rows{x: x, y: y, cost: cost, workers: workers}
	if m := y.Len(); fast(cost) {
		r.columns = make([]float32, len(y.Data))
		for j := range m {
			for k, v := range y.Row(j) {
				r.columns[k*m+j] = v
			}
		}
	}
	return r
}

// fast says whether a cost is computed many columns at a time.
func fast(cost Cost) bool {
	switch cost.(type) {
	case Mixture, Euclidean:
		return true
	}
	return false
}

// symmetric says whether c(x, y) = c(y, x) is known.
func symmetric(cost Cost) bool { return fast(cost) }

// rowsAtOnce rows share a pass over the columns, columnsAtOnce at a time, which
// keeps both in the cache.
const (
	rowsAtOnce    = 8
	columnsAtOnce = 128
)

// at returns rows from … to−1, columns first … m−1 of them meaningful, [to−from,
// m], in buffer or where they are held.
func (r *rows) at(buffer []float64, from, to, first int) []float64 {
	m := r.y.Len()
	if r.held != nil {
		return r.held[from*m : to*m]
	}
	buffer = buffer[:(to-from)*m]
	r.fill(buffer, from, to, first)
	return buffer
}

func (r *rows) fill(dst []float64, from, to, first int) {
	m := r.y.Len()
	if r.columns == nil {
		for i := from; i < to; i++ {
			x := r.x.Row(i)
			for j := first; j < m; j++ {
				dst[(i-from)*m+j] = r.cost.At(x, r.y.Row(j))
			}
		}
		return
	}
	mixture, isMixture := r.cost.(Mixture)
	if !isMixture {
		mixture = Mixture{Squared: 1}
	}
	for left := first; left < m; left += columnsAtOnce {
		right := min(left+columnsAtOnce, m)
		for i := from; i < to; i++ {
			mixtureRow(dst[(i-from)*m:][left:right], r.x.Row(i), r.columns, m, left, mixture)
		}
	}
	if !isMixture {
		for i := range to - from {
			row := dst[i*m:][first:m]
			for j, square := range row {
				row[j] = math.Sqrt(square)
			}
		}
	}
}

// survey computes every cost once, keeps them if hold is set, and returns the
// smallest and the largest. A cost that is no finite number is an error.
func (r *rows) survey(hold bool) (low, high float64, err error) {
	n, m := r.x.Len(), r.y.Len()
	if hold {
		r.held = make([]float64, n*m)
	}
	type extent struct{ low, high float64 }
	extents := make([]extent, chunks(n))
	each(len(extents), r.workers, func() []float64 {
		if hold {
			return nil
		}
		return make([]float64, rowsAtOnce*m)
	}, func(buffer []float64, chunk int) {
		e := extent{math.Inf(1), math.Inf(-1)}
		first, last := bounds(n, chunk)
		for from := first; from < last; from += rowsAtOnce {
			to := min(from+rowsAtOnce, last)
			part := buffer
			if hold {
				part = r.held[from*m : to*m]
			}
			r.fill(part, from, to, 0)
			for _, c := range part[:(to-from)*m] {
				if !(c-c == 0) { // NaN or infinite
					e.low, e.high = math.NaN(), math.NaN()
					break
				}
				e.low, e.high = min(e.low, c), max(e.high, c)
			}
		}
		extents[chunk] = e
	})
	low, high = math.Inf(1), math.Inf(-1)
	for _, e := range extents {
		low, high = min(low, e.low), max(high, e.high)
	}
	if math.IsNaN(low + high) {
		return 0, 0, r.notFinite()
	}
	return low, high, nil
}

// notFinite names the first pair whose cost is no finite number.
func (r *rows) notFinite() error {
	for i := range r.x.Len() {
		for j := range r.y.Len() {
			if c := r.cost.At(r.x.Row(i), r.y.Row(j)); math.IsNaN(c) || math.IsInf(c, 0) {
				return fmt.Errorf("sinkhorn: the cost of point %d of x and point %d of y is %v; scale the points down, or mend the cost", i, j, c)
			}
		}
	}
	return fmt.Errorf("sinkhorn: a cost is not a finite number; scale the points down, or mend the cost")
}

// A chunk is the rows that one core takes at a time. Sums over rows are taken
// by chunk and then over chunks, so that results do not depend on the number of
// cores.
const mostChunks = 32

func chunkSize(n int) int {
	size := max(rowsAtOnce, (n+mostChunks-1)/mostChunks)
	return (size + rowsAtOnce - 1) / rowsAtOnce * rowsAtOnce
}

func chunks(n int) int { return (n + chunkSize(n) - 1) / chunkSize(n) }

func bounds(n, chunk int) (from, to int) {
	return chunk * chunkSize(n), min((chunk+1)*chunkSize(n), n)
}

// each calls work for 0 … n−1, on all cores or, for one worker, here.
func each[State any](n, workers int, state func() State, work func(s State, i int)) {
	if workers != 1 {
		transport.Parallel(n, state, work)
		return
	}
	s := state()
	for i := range n {
		work(s, i)
	}
}

package sinkhorn

import (
	"fmt"
	"math"
	"runtime"

	"molehill/transport"
	"molehill/transport/sinkhorn/internal/kernel"
)

// rows gives the rows of a cost matrix, C_ij = c(x_i, y_j), held or computed
// when they are needed.
type rows struct {
	x, y    transport.Points
	cost    Cost
	workers int
	held    []float64 // [n, m], or nil
	offset  float64   // what is taken off every cost
	size    float64   // of the largest of them, then

	// Squares are a product: ‖x−y‖² = (−2x, ‖x‖², 1)·(y, 1, ‖y‖²). Points are
	// taken from the mean of y, so that what cancels is no larger than the
	// clouds are, and norms are summed as the product is, so that points that
	// coincide are at distance 0 exactly.
	left  []float64      // [n, rounded up to fours, dim+2]
	right *kernel.Panels // [dim+2, m]
	// ‖x‖² and ‖y‖² from there, [n] and [m].
	squaresX, squaresY []float64

	// Other costs of this package take many columns of y at a time.
	columns []float32 // y transposed, [dim, m]
}

func newRows(x, y transport.Points, cost Cost, workers int) *rows {
	r := &rows{x: x, y: y, cost: cost, workers: workers}
	switch {
	case squares(cost):
		r.square()
	case fast(cost):
		r.columns = transposed(y)
	}
	return r
}

// transposed are points by coordinate, [dim, m], made so many coordinates at a time, which
// the cache holds for all points.
func transposed(y transport.Points) []float32 {
	const some = 64
	m := y.Len()
	columns := make([]float32, len(y.Data))
	for first := 0; first < y.Dim; first += some {
		for j := range m {
			to := columns[first*m+j:]
			for k, v := range y.Row(j)[first:min(first+some, y.Dim)] {
				to[k*m] = v
			}
		}
	}
	return columns
}

func (r *rows) square() {
	dim, n, m := r.x.Dim, r.x.Len(), r.y.Len()
	inner := dim + 2
	center := make([]float64, dim)
	const few = 16 // points are enough to know where the cloud is
	for j := 0; j < m; j += (m + few - 1) / few {
		for k, v := range r.y.Row(j) {
			center[k] += float64(v)
		}
	}
	scale(center, 1/float64((m+(m+few-1)/few-1)/((m+few-1)/few)))

	r.left = kernel.Buffer((n + 3) / 4 * 4 * inner)
	norms := centered(r.left, inner, r.x, center, -2)
	for i := range n {
		norms[i] /= 4 // of −2x
		r.left[i*inner+dim], r.left[i*inner+dim+1] = norms[i], 1
	}
	r.squaresX = norms
	right := kernel.Buffer((m + 3) / 4 * 4 * inner)
	norms = centered(right, inner, r.y, center, 1)
	for j := range m {
		right[j*inner+dim], right[j*inner+dim+1] = 1, norms[j]
	}
	r.squaresY = norms
	r.right = kernel.NewPanels(inner, m, right)
	kernel.Discard(right)
}

// centered writes factor times points less center to dst, one a row each stride,
// rows rounded up to fours, and returns the rows' squared norms. The sums of four points take
// turns: each has to wait for its last term.
func centered(dst []float64, stride int, p transport.Points, center []float64, factor float64) []float64 {
	n := p.Len()
	norms := make([]float64, (n+3)/4*4)
	for i := range n {
		kernel.ShiftRow(dst[i*stride:], p.Row(i), center, factor)
	}
	clear(dst[n*stride:])
	for i := 0; i < n; i += 4 {
		r0, r1, r2, r3 := dst[i*stride:][:p.Dim], dst[(i+1)*stride:][:p.Dim], dst[(i+2)*stride:][:p.Dim], dst[(i+3)*stride:][:p.Dim]
		var s0, s1, s2, s3 float64
		for k, v := range r0 {
			s0, s1 = math.FMA(v, v, s0), math.FMA(r1[k], r1[k], s1)
			s2, s3 = math.FMA(r2[k], r2[k], s2), math.FMA(r3[k], r3[k], s3)
		}
		norms[i], norms[i+1], norms[i+2], norms[i+3] = s0, s1, s2, s3
	}
	return norms
}

// widened are x in double precision, in a Buffer.
func widened(x []float32) []float64 {
	wide := kernel.Buffer(len(x))
	for k, v := range x {
		wide[k] = float64(v)
	}
	return wide
}

// drop gives back what only computing costs needs, once they are held.
func (r *rows) drop() {
	if r.left != nil {
		kernel.Discard(r.left)
		r.right.Discard()
		r.left, r.right = nil, nil
	}
}

// squares says whether a cost is a function of ‖x−y‖₂ alone.
func squares(cost Cost) bool {
	switch c := cost.(type) {
	case Mixture:
		return c.Absolute == 0
	case Euclidean:
		return true
	}
	return false
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

// takeOff takes an offset off every cost from now on.
func (r *rows) takeOff(offset float64) {
	r.offset = offset
	for k := range r.held {
		r.held[k] -= offset
	}
}

func (r *rows) fill(dst []float64, from, to, first int) {
	r.costs(dst, from, to, first)
	if r.offset != 0 {
		for k := range dst[:(to-from)*r.y.Len()] {
			dst[k] -= r.offset
		}
	}
}

// near says whether a squared distance is so much less than the norms it was made
// from that rounding has eaten into it. What is further has half of its digits.
func (r *rows) near(i, j int, square float64) bool {
	return square < 1e-8*(r.squaresX[i]+r.squaresY[j])
}

func (r *rows) costs(dst []float64, from, to, first int) {
	m := r.y.Len()
	switch c := r.cost.(type) {
	case Mixture:
		if c.Absolute == 0 {
			r.right.Product(dst, r.left[from*r.right.Inner:], to-from, first)
			if c.Squared != 1 {
				scale(dst[:(to-from)*m], c.Squared)
			}
			return
		}
		dim := r.x.Dim
		wide := widened(r.x.Data[from*dim : to*dim])
		for left := first; left < m; left += columnsAtOnce {
			right := min(left+columnsAtOnce, m)
			for i := from; i < to; i++ {
				kernel.MixtureRow(dst[(i-from)*m:][left:right], wide[(i-from)*dim:][:dim], r.columns, m, left, kernel.Mixture(c))
			}
		}
		kernel.Discard(wide)
	case Euclidean:
		r.right.Product(dst, r.left[from*r.right.Inner:], to-from, first)
		for i := from; i < to; i++ {
			row := dst[(i-from)*m : (i-from+1)*m]
			for j := first; j < m; j++ {
				if r.near(i, j, row[j]) {
					row[j] = c.At(r.x.Row(i), r.y.Row(j))
				} else {
					row[j] = math.Sqrt(row[j])
				}
			}
		}
	default:
		for i := from; i < to; i++ {
			x := r.x.Row(i)
			for j := first; j < m; j++ {
				dst[(i-from)*m+j] = c.At(x, r.y.Row(j))
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
	transport.ParallelOn(r.workers, len(extents), func() []float64 {
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
	if hold {
		r.drop()
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

// Costs returns C_ij = c(x_i, y_j), [n, m], row by row, for points of one dimension. Squared
// distances alone are a product, and have half of their digits at least. A cost that is no
// finite number is an error.
func Costs(x, y transport.Points, cost Cost) ([]float64, error) {
	p, err := Problem{transport.Uniform(x), transport.Uniform(y), cost}.checked()
	if err != nil {
		return nil, err
	}
	r := newRows(x, y, p.Cost, runtime.GOMAXPROCS(0))
	if _, _, err := r.survey(true); err != nil {
		return nil, err
	}
	costs := r.held
	if c, ok := p.Cost.(Mixture); ok && squares(c) {
		for k, v := range costs {
			if i, j := k/y.Len(), k%y.Len(); r.near(i, j, v/c.Squared) {
				costs[k] = c.At(x.Row(i), y.Row(j))
			}
		}
	}
	return costs, nil
}

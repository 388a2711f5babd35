// Package transport is what is computed: optimal transport between samples,
// on the host, exactly.
//
// On the line everything follows from sorting: the optimal plan between two
// samples couples their order statistics. This package holds that line: linear
// time sorting, empirical quantile and distribution functions, the coupling of
// weighted samples of different sizes (Line), and of their convolutions with a
// Gaussian (SmoothedLine). Package sliced carries it to many dimensions and
// package flow moves particles with it.
package transport

import (
	"fmt"
	"math"
	"slices"
)

// Points are n points of R^Dim, one after the other: Data is [n, Dim].
type Points struct {
	Dim  int
	Data []float32
}

// NewPoints returns n points at the origin of R^dim. It panics for a negative n, and for
// points without coordinates.
func NewPoints(n, dim int) Points {
	if n < 0 || dim < 0 || n > 0 && dim == 0 {
		panic(fmt.Sprintf("transport: expected 0 or more points of 1 or more coordinates, found %d of %d", n, dim))
	}
	return Points{Dim: dim, Data: make([]float32, n*dim)}
}

// Len returns n.
func (p Points) Len() int {
	if p.Dim <= 0 {
		return 0
	}
	return len(p.Data) / p.Dim
}

// Row returns point i, [Dim], sharing its memory.
func (p Points) Row(i int) []float32 { return p.Data[i*p.Dim : (i+1)*p.Dim : (i+1)*p.Dim] }

// Clone returns a copy.
func (p Points) Clone() Points {
	return Points{Dim: p.Dim, Data: append([]float32(nil), p.Data...)}
}

// Subset returns a copy of the points at the given indices, in their order.
func (p Points) Subset(indices []int) Points {
	s := NewPoints(len(indices), p.Dim)
	for to, from := range indices {
		copy(s.Row(to), p.Row(from))
	}
	return s
}

// Finite reports whether all numbers are.
func Finite(numbers []float32) bool {
	// v−v is 0, or NaN for NaN and infinities.
	return !slices.ContainsFunc(numbers, func(v float32) bool { return v-v != 0 })
}

// Check returns an error unless p is a non-empty set of finite points. It
// names the first row at fault.
func (p Points) Check() error {
	switch {
	case len(p.Data) == 0:
		return fmt.Errorf("transport: no points; need at least one")
	case p.Dim < 1:
		return fmt.Errorf("transport: points of dimension %d; need at least 1", p.Dim)
	case len(p.Data)%p.Dim != 0:
		return fmt.Errorf("transport: %d numbers do not divide into points of dimension %d", len(p.Data), p.Dim)
	}
	// v−v is 0, or NaN for NaN and infinities, and so is the sum of all.
	var s0, s1, s2, s3 float32
	quads := p.Data[:len(p.Data)/4*4]
	for i := 0; i < len(quads); i += 4 {
		q := (*[4]float32)(quads[i:])
		s0, s1, s2, s3 = s0+(q[0]-q[0]), s1+(q[1]-q[1]), s2+(q[2]-q[2]), s3+(q[3]-q[3])
	}
	from := len(quads)
	if s0+s1+s2+s3 != 0 {
		from = 0
	}
	for i, v := range p.Data[from:] {
		if i += from; v-v != 0 {
			return fmt.Errorf("transport: point %d has %v at coordinate %d; drop or repair that row", i/p.Dim, v, i%p.Dim)
		}
	}
	return nil
}

// WithOutlier returns n points of the unit sphere of R^dim, [n, dim], that stand at the
// first basis vector, all but the first of them: that has the inner product cos with the
// others, from −1 to 1, in the plane of the first two coordinates. Audits make neighbours
// of them.
func WithOutlier(n, dim int, cos float64) Points {
	p := NewPoints(n, dim)
	for i := range n {
		p.Row(i)[0] = 1
	}
	if n > 0 {
		copy(p.Row(0), []float32{float32(cos), float32(math.Sqrt(max(0, 1-cos*cos)))})
	}
	return p
}

// OnSphere scales every point to unit norm in place, which bounds the distance
// of any two by 2. A row that has no direction (zero, NaN or infinite) becomes
// the first basis vector: a defined, bounded value that does not depend on
// other rows, so that a single bad record cannot change what happens to the
// rest.
func (p Points) OnSphere() {
	for i := range p.Len() {
		row := p.Row(i)
		var squares float64
		for _, v := range row {
			squares += float64(v) * float64(v)
		}
		norm := math.Sqrt(squares)
		if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
			clear(row)
			row[0] = 1
			continue
		}
		for c, v := range row {
			row[c] = float32(float64(v) / norm)
		}
	}
}

// Within returns a copy of p in which every row has norm at most radius: longer
// rows are shortened, and a row with NaN or infinite coordinates becomes the
// origin. It is what makes a bound on the distance of records hold for whatever
// the records are, up to the rounding of single precision. Within a radius that is
// no number, or below 0, there is the origin alone.
func (p Points) Within(radius float64) Points {
	if !(radius >= 0) {
		radius = 0
	}
	q := p.Clone()
	for i := range q.Len() {
		row := q.Row(i)
		var squares float64
		for _, v := range row {
			squares += float64(v) * float64(v)
		}
		switch norm := math.Sqrt(squares); {
		case math.IsNaN(norm) || math.IsInf(norm, 0):
			clear(row)
		case norm > radius:
			for c, v := range row {
				row[c] = float32(float64(v) / norm * radius)
			}
		}
	}
	return q
}

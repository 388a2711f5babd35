package metric

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"molehill/transport"
)

// neighbour is a point of a set that was searched.
type neighbour struct {
	index   int     // in the set
	squared float64 // distance, +Inf if there is no such point
}

// nearest finds for each query its k nearest points of a set, nearest first;
// among equally near ones those that come first in the set. If the set is the
// queries themselves, without each query itself.
//
// It is exact: ⟨x, y⟩ − ½‖y‖² of blocks of points, products in single precision
// with one more coordinate, finds the pairs that can be among the nearest, given
// a bound on its rounding, and only those are measured, in double precision. Time
// is that of the products, 2·dim operations for each pair; when ctx ends, so does the search.
func nearest(ctx context.Context, queries, set transport.Points, k int, itself bool) ([][]neighbour, error) {
	if queries.Dim != set.Dim {
		return nil, fmt.Errorf("metric: points of dimensions %d and %d; need the same on both sides", queries.Dim, set.Dim)
	}
	s := search{queries: queries, set: set, itself: itself, found: make([][]neighbour, queries.Len())}
	for i := range s.found {
		s.found[i] = make([]neighbour, k)
		for j := range s.found[i] {
			s.found[i][j] = neighbour{-1, math.Inf(1)}
		}
	}
	centre := centreOf(set)
	s.there = centredOn(set, centre)
	if s.here = s.there; !itself {
		s.here = centredOn(queries, centre)
	}
	size := set.Dim + 1 // numbers a point takes
	s.tiles = make([]float32, len(s.there.largest)*tileRows*size)
	for t := range s.there.largest {
		tile, from := s.tile(t), t*tileRows
		turn(tile, s.there.Points, from, tileRows)
		last := tile[tileRows*set.Dim:]
		for i, square := range s.there.squares[from:min(from+tileRows, set.Len())] {
			last[i] = float32(-square / 2)
		}
	}
	var next atomic.Int64
	var workers errgroup.Group
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() error {
			panels := make([]float32, block*size)
			for {
				from := int(next.Add(block)) - block
				if from >= queries.Len() {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				for at := 0; at < block; at += panelRows {
					panel := panels[at*size : (at+panelRows)*size]
					turn(panel, s.here.Points, from+at, panelRows)
					for i := range panelRows {
						panel[panelRows*set.Dim+i] = 1
					}
				}
				for t := range s.there.largest {
					for at := 0; at < block && from+at < queries.Len(); at += panelRows {
						s.compare(from+at, t, panels[at*size:(at+panelRows)*size])
					}
				}
			}
		})
	}
	return s.found, workers.Wait()
}

// block is the number of queries that meet a tile while it is at hand.
const block = 64

type search struct {
	queries, set transport.Points
	here, there  centred
	tiles        []float32 // of there, and −½‖y‖², [tiles, dim+1, tileRows]
	itself       bool
	found        [][]neighbour
}

func (s *search) tile(t int) []float32 {
	size := tileRows * (s.set.Dim + 1)
	return s.tiles[t*size : (t+1)*size]
}

// centred are points less the centre of the set, which makes differences of
// products exact enough.
type centred struct {
	transport.Points
	squares []float64 // of their norms
	largest []float64 // norm in each tile
}

func centreOf(p transport.Points) []float32 {
	sums := make([]float64, p.Dim)
	for i := range p.Len() {
		for c, v := range p.Row(i) {
			sums[c] += float64(v)
		}
	}
	centre := make([]float32, p.Dim)
	for c, v := range sums {
		centre[c] = float32(v / float64(p.Len()))
	}
	return centre
}

func centredOn(p transport.Points, centre []float32) centred {
	n := p.Len()
	q := centred{transport.NewPoints(n, p.Dim), make([]float64, n), make([]float64, (n+tileRows-1)/tileRows)}
	for i := range n {
		row := q.Row(i)
		for c, v := range p.Row(i) {
			row[c] = v - centre[c]
			q.squares[i] += float64(row[c]) * float64(row[c])
		}
		q.largest[i/tileRows] = max(q.largest[i/tileRows], math.Sqrt(q.squares[i]))
	}
	return q
}

// compare measures the panel of queries from first on against tile t of the set.
func (s *search) compare(first, t int, panel []float32) {
	var table [panelRows * tileRows]float32
	products(table[:], panel, s.tile(t))
	to := t * tileRows
	for r := range min(panelRows, s.queries.Len()-first) {
		at := first + r
		found := s.found[at]
		least := s.least(at, t)
		for i, closeness := range table[r*tileRows:][:min(tileRows, s.set.Len()-to)] {
			if closeness < least || s.itself && at == to+i {
				continue
			}
			if insert(found, neighbour{to + i, squaredDistance(s.queries.Row(at), s.set.Row(to+i))}) {
				least = s.least(at, t)
			}
		}
	}
}

// least is the smallest ⟨x, y⟩ − ½‖y‖² = ½(‖x‖² − ‖x − y‖²), as computed, of a
// point y of tile t that may be among the nearest of query x: what is found so
// far, and the rounding of centring (2⁻²⁴ of each norm), of ½‖y‖² and of the
// product ((dim+3)·2⁻²⁴ times the product of the norms, Higham 2002, Section 3.1),
// all doubled; and among the smallest numbers there are, 2⁻¹⁴⁹ for each.
func (s *search) least(at, t int) float32 {
	worst := s.found[at][len(s.found[at])-1].squared
	if worst == 0 {
		return float32(math.Inf(1)) // none is nearer, and an equal one comes later
	}
	norms := math.Sqrt(s.here.squares[at]) + s.there.largest[t]
	if norms*norms > math.MaxFloat32 {
		return float32(math.Inf(-1)) // products may overflow: all are measured
	}
	slack := (float64(s.set.Dim) + 9) * (norms*norms*0x1p-23 + 0x1p-148)
	return math.Nextafter32(float32((s.here.squares[at]-worst-slack)/2), float32(math.Inf(-1)))
}

// insert puts n where it belongs among the nearest found, behind equally near
// ones, and says whether it does.
func insert(found []neighbour, n neighbour) bool {
	i := len(found) - 1
	if n.squared >= found[i].squared {
		return false
	}
	for ; i > 0 && n.squared < found[i-1].squared; i-- {
		found[i] = found[i-1]
	}
	found[i] = n
	return true
}

func squaredDistance(x, y []float32) (sum float64) {
	for c, v := range x {
		d := float64(v) - float64(y[c])
		sum += d * d
	}
	return sum
}

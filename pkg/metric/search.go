package metric

import (
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
// It is exact: products of blocks of points in single precision find the pairs
// that can be among the nearest, given a bound on their rounding, and only
// those are measured, in double precision. Time is that of the products, 2·dim
// operations for each pair.
func nearest(queries, set transport.Points, k int, itself bool) ([][]neighbour, error) {
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
	s.tiles = make([]float32, len(s.there.largest)*tileRows*set.Dim)
	for t := range s.there.largest {
		turn(s.tile(t), s.there.Points, t*tileRows, tileRows)
	}
	var next atomic.Int64
	var workers errgroup.Group
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() error {
			panels := make([]float32, block*set.Dim)
			for {
				from := int(next.Add(block)) - block
				if from >= queries.Len() {
					return nil
				}
				for at := 0; at < block; at += panelRows {
					turn(panels[at*set.Dim:(at+panelRows)*set.Dim], s.here.Points, from+at, panelRows)
				}
				for t := range s.there.largest {
					for at := 0; at < block && from+at < queries.Len(); at += panelRows {
						s.compare(from+at, t, panels[at*set.Dim:(at+panelRows)*set.Dim])
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
	tiles        []float32 // of there, [tiles, dim, tileRows]
	itself       bool
	found        [][]neighbour
}

func (s *search) tile(t int) []float32 {
	size := tileRows * s.set.Dim
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
	squares := s.there.squares[to:min(to+tileRows, s.set.Len())]
	for r := range min(panelRows, s.queries.Len()-first) {
		at := first + r
		found := s.found[at]
		limit := s.limit(at, t)
		row := table[r*tileRows:]
		for i, square := range squares {
			if square-2*float64(row[i]) > limit || s.itself && at == to+i {
				continue
			}
			if insert(found, neighbour{to + i, squaredDistance(s.queries.Row(at), s.set.Row(to+i))}) {
				limit = s.limit(at, t)
			}
		}
	}
}

// limit is the largest ‖y‖² − 2⟨x, y⟩, as computed, of a point y of tile t
// that may be among the nearest of query x: what is found so far, and the
// rounding of centring (2⁻²⁴ of each norm) and of the product ((dim+2)·2⁻²⁴
// times the product of the norms, Higham 2002, Section 3.1), all doubled.
func (s *search) limit(at, t int) float64 {
	worst := s.found[at][len(s.found[at])-1].squared
	if worst == 0 {
		return math.Inf(-1) // none is nearer, and an equal one comes later
	}
	norms := math.Sqrt(s.here.squares[at]) + s.there.largest[t]
	slack := (float64(s.set.Dim) + 8) * norms * norms * 0x1p-23
	return worst - s.here.squares[at] + slack
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

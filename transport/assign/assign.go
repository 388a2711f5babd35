// Package assign solves the assignment problem exactly: which of n columns goes
// to which of n rows at the least total cost. Between two samples of equal size
// and equal weights that is optimal transport itself (Peyré & Cuturi 2019,
// Proposition 2.1), and so the reference for every approximation of it.
package assign

import (
	"fmt"
	"math"
)

// Limit is the largest n that Solve takes: 128 MiB of costs and, at worst, a
// minute of work.
const Limit = 4096

// largest is the largest size of a cost. Potentials add up to 2n costs, and
// those sums must be finite.
const largest = 1e300

// Assignment is an optimal assignment and the proof that it is one.
type Assignment struct {
	Column []int   // [n], the column of each row
	Total  float64 // Σ_i C[i, Column[i]]

	// U and V, [n] each, are the dual variables: U[i] + V[j] ≤ C[i, j] up to
	// one rounding, with equality where row i has column j. Every assignment
	// costs at least Dual = Σ U + Σ V, so Total − Dual bounds what rounding can
	// have cost.
	U, V []float64
	Dual float64
}

// Solve returns an assignment of least total cost; cost is [n, n], row by row,
// and may be negative. The work is at most O(n³). Among equally good
// assignments it always returns the same one.
//
// It is the method of shortest augmenting paths (Jonker & Volgenant 1987; Crouse
// 2016): columns are first matched greedily by their smallest cost, then each
// row that is left over finds its cheapest chain of exchanges by Dijkstra's
// algorithm on the reduced costs C − U − V ≥ 0.
func Solve(cost []float64, n int) (Assignment, error) {
	if err := check(cost, n); err != nil {
		return Assignment{}, err
	}
	s := newSearch(cost, n)
	s.reduceColumns()
	for row := range n {
		if s.column[row] < 0 {
			s.augment(row)
		}
	}
	return s.assignment(), nil
}

func check(cost []float64, n int) error {
	switch {
	case n < 1:
		return fmt.Errorf("assign: %d rows; need at least 1", n)
	case n > Limit:
		return fmt.Errorf("assign: %d rows; exact assignment takes up to %d, draw a subsample", n, Limit)
	case len(cost) != n*n:
		return fmt.Errorf("assign: %d costs for %d rows; want a square matrix of %d", len(cost), n, n*n)
	}
	for k, c := range cost {
		if !(math.Abs(c) <= largest) {
			return fmt.Errorf("assign: the cost of row %d and column %d is %v; costs are finite and at most %g in size", k/n, k%n, c, largest)
		}
	}
	return nil
}

// search is the state between two augmentations: a partial assignment that is
// optimal for the rows it has, with the potentials that prove it.
type search struct {
	n           int
	cost        []float64 // [n, n]
	u, v        []float64 // [n]
	column, row []int     // [n], of each row and of each column, or −1

	distance []float64 // [n], of each column from the row that searches
	from     []int     // [n], the row before each column on its shortest path
	open     []int     // columns whose distance is not final
	closed   []int     // columns whose distance is, in the order of distance
}

func newSearch(cost []float64, n int) *search {
	s := &search{
		n: n, cost: cost,
		u: make([]float64, n), v: make([]float64, n),
		column: make([]int, n), row: make([]int, n),
		distance: make([]float64, n), from: make([]int, n),
		open: make([]int, 0, n), closed: make([]int, 0, n),
	}
	for i := range n {
		s.column[i], s.row[i] = -1, -1
	}
	return s
}

// reduceColumns sets V[j] to the smallest cost of column j, and gives the column
// to that row if the row is free.
func (s *search) reduceColumns() {
	best := make([]int, s.n)
	copy(s.v, s.cost[:s.n])
	for i := 1; i < s.n; i++ {
		for j, c := range s.cost[i*s.n : (i+1)*s.n] {
			if c < s.v[j] {
				s.v[j], best[j] = c, i
			}
		}
	}
	for j, i := range best {
		if s.column[i] < 0 {
			s.column[i], s.row[j] = j, i
		}
	}
}

// augment assigns the free row start along the shortest path to a free column.
func (s *search) augment(start int) {
	s.open, s.closed = s.open[:0], s.closed[:0]
	for j := range s.n {
		s.distance[j] = math.Inf(1)
		s.open = append(s.open, j)
	}
	row, reached, sink := start, 0.0, -1
	for sink < 0 {
		at := s.relax(row, reached)
		j := s.open[at]
		reached = s.distance[j]
		s.open[at] = s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		if s.row[j] < 0 {
			sink = j
			break
		}
		s.closed = append(s.closed, j)
		row = s.row[j]
	}
	// Potentials move so that the path has reduced cost 0 and no other becomes
	// negative.
	s.u[start] += reached
	for _, j := range s.closed {
		slack := reached - s.distance[j]
		s.u[s.row[j]] += slack
		s.v[j] -= slack
	}
	for j := sink; ; {
		i := s.from[j]
		s.row[j] = i
		j, s.column[i] = s.column[i], j
		if i == start {
			return
		}
	}
}

// relax shortens the distances of open columns by way of row, itself at
// distance reached, and returns the place of the nearest one in s.open; of
// equally near ones a free column, which ends the search, if there is one.
func (s *search) relax(row int, reached float64) int {
	costs, base := s.cost[row*s.n:(row+1)*s.n], reached-s.u[row]
	nearest, at := math.Inf(1), 0
	for k, j := range s.open {
		d := s.distance[j]
		if by := base + costs[j] - s.v[j]; by < d {
			d = by
			s.distance[j], s.from[j] = by, row
		}
		if d < nearest || d == nearest && s.row[j] < 0 {
			nearest, at = d, k
		}
	}
	return at
}

func (s *search) assignment() Assignment {
	a := Assignment{Column: s.column, U: s.u, V: s.v}
	for i, j := range s.column {
		costs := s.cost[i*s.n : (i+1)*s.n]
		a.Total += costs[j]
		// Rounding has crept into u along the augmentations; the largest that
		// the columns allow makes the bound hold whatever it was.
		s.u[i] = math.Inf(1)
		for k, c := range costs {
			s.u[i] = min(s.u[i], c-s.v[k])
		}
	}
	for i := range s.n {
		a.Dual += s.u[i] + s.v[i]
	}
	return a
}

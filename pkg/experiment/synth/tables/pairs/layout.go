// Package pairs learns a table of categories from one private release: noisy counts
// of the values of each column and of each pair of columns.
//
// The release (Layout) is a sum of one vector a record, of which every record has
// as many ones, so its sensitivity is known exactly and does not depend on how many
// cells there are. All that follows is post-processing. Repair makes the noisy
// counts agree: each table becomes the nearest one that could be counts, and
// Sinkhorn's iterations bring all to shared marginals. Fit then looks for the joint
// law of most entropy that has these tables for its marginals. That is an entropic
// multi-marginal transport plan between the columns whose cost is what the pairs
// say, and iterative proportional fitting, which Sinkhorn's algorithm is for two
// marginals, is how it is found (Haasler, Ringh, Chen & Karlsson, "Multimarginal
// optimal transport with a tree-structured cost and the Schrödinger bridge problem",
// 2021); as no computer holds the plan itself, rows stand for it, which Gibbs'
// sampling moves.
package pairs

import (
	"fmt"
	"math"

	"molehill/privacy"
	"molehill/transport"
)

// Column is what is public about a column of codes.
type Column struct {
	Groups []uint16 // [codes], the group of each code; groups count from 0
	Size   int      // number of groups
	// Impossible is how many of the first codes, and of the first groups, no row
	// may have: 1 where 0 stands for a missing value and none is missing, else 0.
	Impossible int
}

// Table is one of the tables of counts of a layout.
type Table struct {
	A, B   int     // columns; B is −1 for the codes of A alone
	Rows   int     // codes of A if alone, else groups of A
	Cols   int     // 1 if alone, else groups of B
	Weight float64 // of its counts in the release
	Start  int     // where it begins in the release
}

// Layout is what a release holds: for each column the counts of its codes, for each
// pair the counts of its groups.
type Layout struct {
	Columns []Column
	Tables  []Table // those of single columns first
	Size    int     // numbers of the release
}

// MaxSize is the most numbers that a release may have: 1 GiB of them.
const MaxSize = 1 << 27

// NewLayout lays out the tables of columns. Pairs with the target, −1 for none, get
// emphasis times the weight of the others, which is 1: their counts then have as
// much less noise, for a little more on all others. singles is the weight of the
// codes of single columns. Of weights the first 22 bits count: times that of all rows,
// below 2³¹, nothing is rounded, and no record moves a count by more than its weight.
func NewLayout(columns []Column, target int, emphasis, singles float64) (*Layout, error) {
	l := &Layout{Columns: columns}
	if len(columns) == 0 || target >= len(columns) {
		return nil, fmt.Errorf("pairs: %d columns with target %d; give at least one, and the target among them", len(columns), target)
	}
	if !(emphasis > 0) || !(singles > 0) || math.IsInf(emphasis, 0) || math.IsInf(singles, 0) {
		return nil, fmt.Errorf("pairs: weights %v and %v; expected numbers above 0", emphasis, singles)
	}
	add := func(t Table) error {
		t.Weight = math.Float64frombits(math.Float64bits(t.Weight) >> 31 << 31)
		t.Start = l.Size
		if l.Size += t.Rows * t.Cols; l.Size > MaxSize {
			return fmt.Errorf("pairs: the pairs of %d columns have more than %d cells; exclude columns, or merge values of those that have most", len(columns), MaxSize)
		}
		l.Tables = append(l.Tables, t)
		return nil
	}
	for i, c := range columns {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("pairs: column %d: %w", i+1, err)
		}
		if err := add(Table{A: i, B: -1, Rows: len(c.Groups), Cols: 1, Weight: singles}); err != nil {
			return nil, err
		}
	}
	for a := range columns {
		for b := a + 1; b < len(columns); b++ {
			weight := 1.0
			if a == target || b == target {
				weight = emphasis
			}
			if err := add(Table{A: a, B: b, Rows: columns[a].Size, Cols: columns[b].Size, Weight: weight}); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func (c Column) check() error {
	if len(c.Groups) == 0 || len(c.Groups) > math.MaxUint16 || c.Size < 1 || c.Impossible < 0 || c.Impossible >= c.Size {
		return fmt.Errorf("%d codes in %d groups, of which %d impossible; expected some that are possible", len(c.Groups), c.Size, c.Impossible)
	}
	for _, g := range c.Groups {
		if int(g) >= c.Size {
			return fmt.Errorf("group %d of %d; groups count from 0", g, c.Size)
		}
	}
	return nil
}

// Sensitivity is that of Count under replace-one.
//
// A record adds the weight of each table to one cell of it. Replacing it takes that
// from one cell and gives it to another, or to the same: a table changes by at most
// √2·weight in ℓ₂, all together by √(2·Σ weight²), which two records attain that
// differ in every column's group.
func (l *Layout) Sensitivity() privacy.Sensitivity {
	var squares float64
	for _, t := range l.Tables {
		squares += t.Weight * t.Weight
	}
	return privacy.Sensitivity{
		Value:    math.Sqrt(2*squares) * (1 + 1e-12),
		Relation: privacy.ReplaceOne,
		Query:    fmt.Sprintf("counts of the values of %d columns and of their %d pairs, %d numbers", len(l.Columns), len(l.Tables)-len(l.Columns), l.Size),
		Source:   "√(2·Σ weight²): a replaced record leaves one cell of each table and enters another",
	}
}

// Count returns the weighted counts of all tables, [Size]. codes has the codes of
// each column, [columns][n]; it is an error if one is none of its column's.
func (l *Layout) Count(codes [][]uint16) ([]float64, error) {
	groups, err := l.groups(codes)
	if err != nil {
		return nil, err
	}
	values := make([]float64, l.Size)
	transport.InParallel(len(l.Tables), func(i int) {
		t := l.Tables[i]
		counts := make([]int32, t.Rows*t.Cols)
		if t.B < 0 {
			for _, code := range codes[t.A] {
				counts[code]++
			}
		} else {
			tally(counts, groups[t.A], groups[t.B], t.Cols)
		}
		to := values[t.Start : t.Start+len(counts)]
		for j, count := range counts {
			to[j] = t.Weight * float64(count)
		}
	})
	return values, nil
}

// tally counts pairs of groups.
func tally(counts []int32, a, b []uint16, cols int) {
	for i, g := range a {
		counts[int(g)*cols+int(b[i])]++
	}
}

// groups maps codes to groups.
func (l *Layout) groups(codes [][]uint16) ([][]uint16, error) {
	if len(codes) != len(l.Columns) {
		return nil, fmt.Errorf("pairs: codes of %d columns for a layout of %d", len(codes), len(l.Columns))
	}
	groups := make([][]uint16, len(codes))
	for j, column := range codes {
		if len(column) != len(codes[0]) || len(column) > math.MaxInt32 {
			return nil, fmt.Errorf("pairs: column %d has %d rows, the first has %d; all need as many, below 2³¹", j+1, len(column), len(codes[0]))
		}
		groups[j] = make([]uint16, len(column))
		of := l.Columns[j].Groups
		for i, code := range column {
			if int(code) >= len(of) {
				return nil, fmt.Errorf("pairs: column %d has code %d of %d", j+1, code, len(of))
			}
			groups[j][i] = of[code]
		}
	}
	return groups, nil
}

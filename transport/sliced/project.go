package sliced

import (
	"fmt"

	"molehill/transport"
)

// ProjectOn writes the coordinates ⟨x_i, direction⟩ of all points to dst, [n]. It panics for
// a direction of another dimension than the points', or another number of coordinates.
func ProjectOn(dst []float32, x transport.Points, direction []float32) {
	if len(direction) != x.Dim || len(dst) != x.Len() {
		panic(fmt.Sprintf("sliced: %d coordinates along a direction of dimension %d of %d points of dimension %d", len(dst), len(direction), x.Len(), x.Dim))
	}
	if len(direction) == 8 { // the papers' latent dimension: unrolled, twice as fast
		projectOn8(dst, x.Data, [8]float32(direction))
		return
	}
	for i := range dst {
		row := x.Row(i)
		var sum float32
		for c, v := range row {
			sum += v * direction[c]
		}
		dst[i] = sum
	}
}

func projectOn8(dst, data []float32, d [8]float32) {
	for i := range dst {
		r := (*[8]float32)(data[8*i:])
		dst[i] = (r[0]*d[0] + r[1]*d[1] + r[2]*d[2] + r[3]*d[3]) + (r[4]*d[4] + r[5]*d[5] + r[6]*d[6] + r[7]*d[7])
	}
}

// Project returns XU by direction: [Count][n].
func Project(x transport.Points, u Directions) ([][]float32, error) {
	if err := x.Check(); err != nil {
		return nil, err
	}
	if err := CheckMemory(x.Len(), u.Count); err != nil {
		return nil, err
	}
	if err := u.Check(x.Dim); err != nil {
		return nil, err
	}
	table := NewTable(u.Count, x.Len())
	transport.InParallel(u.Count, func(j int) {
		ProjectOn(table[j], x, u.Row(j))
	})
	return table, nil
}

// NewTable returns a [rows][columns] table in one piece of memory. It panics for negative
// numbers of them.
func NewTable(rows, columns int) [][]float32 {
	if rows < 0 || columns < 0 {
		panic(fmt.Sprintf("sliced: expected a table of 0 or more rows and columns, found %d and %d", rows, columns))
	}
	data := make([]float32, rows*columns)
	table := make([][]float32, rows)
	for j := range table {
		table[j] = data[j*columns : (j+1)*columns : (j+1)*columns]
	}
	return table
}

// MemoryLimit is the most bytes that a table of projections may take; programs
// may change it.
var MemoryLimit = int64(4) << 30

// CheckMemory returns an error if n points times count directions would not
// fit into MemoryLimit.
func CheckMemory(n, count int) error {
	need := int64(n) * int64(count) * 4
	if need <= MemoryLimit {
		return nil
	}
	return fmt.Errorf("sliced: %d points on %d directions take %.1f GiB of projections, more than the %.1f GiB allowed; use at most %d directions",
		n, count, float64(need)/(1<<30), float64(MemoryLimit)/(1<<30), MemoryLimit/(4*int64(n)))
}

package pairs

import "math"

// Comparison says how far the shares of two tables of rows are apart. Distances are
// total variations: half the sum of the absolute differences, in [0, 1], which is the
// share of rows that would have to move.
type Comparison struct {
	Columns []float64 // [columns], of the codes of each
	Pairs   []float64 // [pairs], of the groups of each pair
	// V and OtherV are Cramér's V of each pair in either, 0 if its columns are
	// independent and 1 if one tells the other.
	V, OtherV []float64
}

// Compare compares the shares of one layout.
func (r *Repaired) Compare(other *Repaired) Comparison {
	var c Comparison
	for j, shares := range r.Codes {
		c.Columns = append(c.Columns, variation(shares, other.Codes[j]))
	}
	d := len(r.Layout.Columns)
	for p, shares := range r.Pairs {
		t := r.Layout.Tables[d+p]
		c.Pairs = append(c.Pairs, variation(shares, other.Pairs[p]))
		c.V = append(c.V, cramer(shares, t.Rows, t.Cols))
		c.OtherV = append(c.OtherV, cramer(other.Pairs[p], t.Rows, t.Cols))
	}
	return c
}

// Mean is the mean of values, 0 of none.
func Mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

func variation(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += math.Abs(v - b[i])
	}
	return sum / 2
}

// cramer is Cramér's V of a table of shares (Cramér 1946).
func cramer(table []float64, rows, cols int) float64 {
	a, b := sums(table, rows, cols)
	var square float64
	for i, v := range table {
		if independent := a[i/cols] * b[i%cols]; independent > 0 {
			square += (v - independent) * (v - independent) / independent
		}
	}
	occupied := func(shares []float64) (n int) {
		for _, v := range shares {
			if v > 0 {
				n++
			}
		}
		return n
	}
	smaller := min(occupied(a), occupied(b)) - 1
	if smaller < 1 {
		return 0
	}
	return min(1, math.Sqrt(square/float64(smaller)))
}

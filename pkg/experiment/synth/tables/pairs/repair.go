package pairs

import (
	"math"
	"slices"

	"molehill/transport"
)

// Repaired is what a noisy release says of shares: tables that could be those of
// rows, and that agree with each other.
type Repaired struct {
	Layout *Layout
	Codes  [][]float64 // [columns][codes], shares of the codes of each column
	Groups [][]float64 // [columns][groups]
	Pairs  [][]float64 // [pairs][groups of A × groups of B], in the order of Layout.Tables
	Noise  []float64   // [pairs], standard deviation of the noise on the share of a cell before repair
}

// Repair makes shares of released counts, of n records with noise of standard
// deviation std on each. It looks at nothing else.
func (l *Layout) Repair(released []float64, n int, std float64) *Repaired {
	d := len(l.Columns)
	r := &Repaired{Layout: l, Codes: make([][]float64, d), Groups: make([][]float64, d),
		Pairs: make([][]float64, len(l.Tables)-d), Noise: make([]float64, len(l.Tables)-d)}
	shares := func(t Table) []float64 {
		values := make([]float64, t.Rows*t.Cols)
		for i, v := range released[t.Start : t.Start+len(values)] {
			values[i] = v / (t.Weight * float64(n))
		}
		return values
	}
	transport.InParallel(len(r.Pairs), func(p int) {
		t := l.Tables[d+p]
		r.Pairs[p], r.Noise[p] = shares(t), std/(t.Weight*float64(n))
	})
	for j, c := range l.Columns {
		r.Codes[j] = shares(l.Tables[j])
		r.Groups[j] = r.marginal(j)
		toShares(r.Groups[j], c.Impossible)
		r.refine(j)
	}
	transport.InParallel(len(r.Pairs), func(p int) {
		t := l.Tables[d+p]
		agree(r.Pairs[p], r.Groups[t.A], r.Groups[t.B], l.Columns[t.A].Impossible, l.Columns[t.B].Impossible)
	})
	return r
}

// marginal estimates the groups of a column by all tables that tell of them, each
// with the weight of its precision.
func (r *Repaired) marginal(j int) []float64 {
	l, d := r.Layout, len(r.Layout.Columns)
	c := l.Columns[j]
	total, weights := make([]float64, c.Size), make([]float64, c.Size)
	codes := make([]float64, c.Size) // of a group
	sums := make([]float64, c.Size)
	for code, g := range c.Groups {
		codes[g]++
		sums[g] += r.Codes[j][code]
	}
	single := l.Tables[j].Weight
	for g := range total {
		w := single * single / max(1, codes[g])
		total[g], weights[g] = w*sums[g], w
	}
	for p, values := range r.Pairs {
		t := l.Tables[d+p]
		if t.A != j && t.B != j {
			continue
		}
		other := t.Cols
		if t.B == j {
			other = t.Rows
		}
		clear(sums)
		for i, v := range values {
			if t.A == j {
				sums[i/t.Cols] += v
			} else {
				sums[i%t.Cols] += v
			}
		}
		w := t.Weight * t.Weight / float64(other)
		for g := range total {
			total[g] += w * sums[g]
			weights[g] += w
		}
	}
	for g := range total {
		total[g] /= weights[g]
	}
	return total
}

// refine brings the codes of a column to the shares of their groups.
func (r *Repaired) refine(j int) {
	c := r.Layout.Columns[j]
	members := make([][]int, c.Size)
	for code, g := range c.Groups {
		members[g] = append(members[g], code)
	}
	for g, codes := range members {
		part := make([]float64, len(codes))
		for i, code := range codes {
			part[i] = r.Codes[j][code]
		}
		project(part, r.Groups[j][g])
		for i, code := range codes {
			r.Codes[j][code] = part[i]
		}
	}
}

// toShares moves values to the nearest shares, with none for the impossible first.
func toShares(values []float64, impossible int) {
	clear(values[:impossible])
	project(values[impossible:], 1)
}

// project moves values to the nearest that are not negative and have the sum total,
// in ℓ₂ (Duchi, Shalev-Shwartz, Singer & Chandra 2008).
func project(values []float64, total float64) {
	if len(values) == 0 {
		return
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	var sum, shift float64
	for i := len(sorted) - 1; i >= 0; i-- {
		sum += sorted[i]
		next := (sum - total) / float64(len(sorted)-i)
		if sorted[i] <= next {
			break
		}
		shift = next
	}
	if total <= 0 {
		clear(values)
		return
	}
	for i, v := range values {
		values[i] = max(0, v-shift)
	}
}

// agreeing is how many times Sinkhorn's iterations scale a table.
const agreeing = 50

// agree makes a noisy table one of shares with the marginals a and b. It is moved to
// those marginals along the shortest way, then to the nearest shares, which takes
// most of the noise from cells that hold nothing, and then scaled.
func agree(table, a, b []float64, impossibleA, impossibleB int) {
	rows, cols := len(a), len(b)
	rowSum, colSum := sums(table, rows, cols)
	var total float64
	for _, v := range rowSum {
		total += v
	}
	for i := range rows {
		for j := range cols {
			v := &table[i*cols+j]
			*v += (a[i]-rowSum[i])/float64(cols) + (b[j]-colSum[j])/float64(rows) - (1-total)/float64(rows*cols)
			if i < impossibleA || j < impossibleB {
				*v = math.Inf(-1)
			}
		}
	}
	possible := make([]float64, 0, len(table))
	for _, v := range table {
		if !math.IsInf(v, -1) {
			possible = append(possible, v)
		}
	}
	project(possible, 1)
	at := 0
	for i, v := range table {
		if math.IsInf(v, -1) {
			table[i] = 0
			continue
		}
		// A little of independence keeps the scaling feasible.
		table[i] = possible[at] + 1e-9 + 1e-3*a[i/cols]*b[i%cols]
		at++
	}
	for range agreeing {
		scale(table, a, b)
	}
}

// scale is one of Sinkhorn's iterations: to the sums a of the rows, then b of the
// columns.
func scale(table, a, b []float64) {
	cols := len(b)
	rowSum, _ := sums(table, len(a), cols)
	for i := range table {
		if s := rowSum[i/cols]; s > 0 {
			table[i] *= a[i/cols] / s
		}
	}
	_, colSum := sums(table, len(a), cols)
	for i := range table {
		if s := colSum[i%cols]; s > 0 {
			table[i] *= b[i%cols] / s
		}
	}
}

func sums(table []float64, rows, cols int) (rowSum, colSum []float64) {
	rowSum, colSum = make([]float64, rows), make([]float64, cols)
	for i, v := range table {
		rowSum[i/cols] += v
		colSum[i%cols] += v
	}
	return rowSum, colSum
}

// Of returns the shares of rows as they are, in the form of a repaired release.
func (l *Layout) Of(codes [][]uint16) (*Repaired, error) {
	counts, err := l.Count(codes)
	if err != nil {
		return nil, err
	}
	d, n := len(l.Columns), float64(max(1, len(codes[0])))
	r := &Repaired{Layout: l, Noise: make([]float64, len(l.Tables)-d)}
	for i, t := range l.Tables {
		values := counts[t.Start : t.Start+t.Rows*t.Cols]
		for k := range values {
			values[k] /= t.Weight * n
		}
		if i < d {
			r.Codes = append(r.Codes, values)
			groups := make([]float64, l.Columns[i].Size)
			for code, g := range l.Columns[i].Groups {
				groups[g] += values[code]
			}
			r.Groups = append(r.Groups, groups)
		} else {
			r.Pairs = append(r.Pairs, values)
		}
	}
	return r, nil
}

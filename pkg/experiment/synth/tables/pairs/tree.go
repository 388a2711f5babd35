package pairs

import (
	"math"
	"math/rand/v2"
)

// tree is the spanning tree of the pairs that tell most (Chow & Liu 1968).
type tree struct {
	order  []int // columns, each after its parent
	parent []int // of each column; −1 for the root
	table  []int // of each column, the pair with its parent
}

// information of a table beyond its marginals, in nats.
func information(table, a, b []float64) float64 {
	var sum float64
	cols := len(b)
	for i, v := range table {
		if independent := a[i/cols] * b[i%cols]; v > 0 && independent > 0 {
			sum += v * math.Log(v/independent)
		}
	}
	return sum
}

// spanning returns the tree of most information. What noise alone adds to a
// table's information is about half of its cells' noise squared over their shares; the
// repair has taken most of it.
func (r *Repaired) spanning() tree {
	d := len(r.Layout.Columns)
	weight := make([][]float64, d)
	table := make([][]int, d)
	for j := range weight {
		weight[j], table[j] = make([]float64, d), make([]int, d)
	}
	for p, values := range r.Pairs {
		t := r.Layout.Tables[d+p]
		w := information(values, r.Groups[t.A], r.Groups[t.B])
		weight[t.A][t.B], weight[t.B][t.A] = w, w
		table[t.A][t.B], table[t.B][t.A] = p, p
	}
	g := tree{order: []int{0}, parent: make([]int, d), table: make([]int, d)}
	in := make([]bool, d)
	in[0], g.parent[0], g.table[0] = true, -1, -1
	for len(g.order) < d {
		best, from := -1, -1
		for j := range d {
			for _, i := range g.order {
				if !in[j] && (best < 0 || weight[i][j] > weight[from][best]) {
					best, from = j, i
				}
			}
		}
		in[best] = true
		g.order = append(g.order, best)
		g.parent[best], g.table[best] = from, table[from][best]
	}
	return g
}

// sample draws n rows of groups by a tree, [columns][n].
func (r *Repaired) sample(g tree, n int, rng *rand.Rand) [][]uint16 {
	rows := make([][]uint16, len(r.Layout.Columns))
	for _, j := range g.order {
		rows[j] = make([]uint16, n)
		if g.parent[j] < 0 {
			draws := newChoice(r.Groups[j])
			for i := range n {
				rows[j][i] = draws.draw(rng)
			}
			continue
		}
		given := r.conditional(g.table[j], j)
		choices := make([]choice, len(given))
		for v, shares := range given {
			if !anything(shares) {
				shares = r.Groups[j]
			}
			choices[v] = newChoice(shares)
		}
		for i, v := range rows[g.parent[j]] {
			rows[j][i] = choices[v].draw(rng)
		}
	}
	return rows
}

func anything(shares []float64) bool {
	for _, v := range shares {
		if v > 0 {
			return true
		}
	}
	return false
}

// conditional returns a pair's table with the other column's groups for rows.
func (r *Repaired) conditional(p, j int) [][]float64 {
	t := r.Layout.Tables[len(r.Layout.Columns)+p]
	values := r.Pairs[p]
	if t.B == j {
		given := make([][]float64, t.Rows)
		for i := range given {
			given[i] = values[i*t.Cols : (i+1)*t.Cols]
		}
		return given
	}
	given := make([][]float64, t.Cols)
	for i := range given {
		given[i] = make([]float64, t.Rows)
		for k := range given[i] {
			given[i][k] = values[k*t.Cols+i]
		}
	}
	return given
}

// choice draws by shares.
type choice []float64 // running sums

func newChoice(shares []float64) choice {
	c := make(choice, len(shares))
	var sum float64
	for i, v := range shares {
		sum += v
		c[i] = sum
	}
	return c
}

func (c choice) draw(rng *rand.Rand) uint16 {
	u := rng.Float64() * c[len(c)-1]
	low, high := 0, len(c)-1
	for low < high {
		if middle := (low + high) / 2; c[middle] > u {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return uint16(low)
}

package pairs

import "math/rand/v2"

// polish lets rows move, one by one, to the cells that still have too few: the law's
// own logits, with those of what is missing now.
func (m *Model) polish(rows [][]uint16, number int) {
	l := m.target.Layout
	d := len(l.Columns)
	n := len(rows[0])
	counts := m.tally(rows)
	// The excess of each cell in rows, in both orders of the columns.
	excess := make([][][]float32, d)
	for j := range excess {
		excess[j] = make([][]float32, d)
	}
	for p, count := range counts {
		t := l.Tables[d+p]
		byB, byA := make([]float32, len(count)), make([]float32, len(count))
		for i, c := range count {
			e := float32(float64(c) - m.target.Pairs[p][i]*float64(n))
			byB[i], byA[i%t.Cols*t.Rows+i/t.Cols] = e, e
		}
		excess[t.B][t.A], excess[t.A][t.B] = byB, byA
	}
	rng := rand.New(rand.NewPCG(m.seed, uint64(number)<<1))
	for _, j := range rng.Perm(d) {
		size := l.Columns[j].Size
		logits := make([]float32, size)
		for _, i := range rng.Perm(n) {
			m.logits(logits, rows, i, j)
			before := int(rows[j][i])
			for k := range d {
				if k == j {
					continue
				}
				g := int(rows[k][i]) * size
				for v, e := range excess[j][k][g : g+size] {
					logits[v] -= polishing * e
				}
				logits[before] += polishing
			}
			after := int(draw(logits, rng))
			if after == before {
				continue
			}
			for k := range d {
				if k == j {
					continue
				}
				g, other := int(rows[k][i]), l.Columns[k].Size
				excess[j][k][g*size+before]--
				excess[j][k][g*size+after]++
				excess[k][j][before*other+g]--
				excess[k][j][after*other+g]++
			}
			rows[j][i] = uint16(after)
		}
	}
}

// polishing is how much a row that is too many in a cell counts, in logits.
const polishing = 0.3

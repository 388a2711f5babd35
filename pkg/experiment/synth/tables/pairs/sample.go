package pairs

import (
	"errors"
	"math/rand/v2"
)

// apartBy is how far copies of rows may drift from the tables while they part.
const apartBy = 0.1

// errRows is for a sample of no rows.
var errRows = errors.New("pairs: a sample of no rows; draw at least one")

// Sample returns n rows of codes, [columns][n]. The rows of the fit are there as
// often as they fit into n; what a copy of a row has in common with others is drawn
// anew by sweeps of Gibbs' sampling, so that copies part, and polished once.
func (m *Model) Sample(n int, apart int) ([][]uint16, error) {
	if n < 1 {
		return nil, errRows
	}
	d, have := len(m.Rows), len(m.Rows[0])
	rows := make([][]uint16, d)
	order := rand.New(rand.NewPCG(m.seed, 0x6f72646572)).Perm(have)
	for j := range rows {
		rows[j] = make([]uint16, n)
		for i := range n {
			rows[j][i] = m.Rows[j][order[i%have]]
		}
	}
	if n > have {
		copies := cloned(nil, rows)
		for s := range apart {
			m.sweep(rows, 1<<20+s)
		}
		// A law that could not be fitted leads rows away from what they were moved to:
		// then copies part by the polish alone.
		if m.distance(m.tally(rows), n) > 2*m.distance(m.tally(copies), n)+apartBy {
			rows = copies
		}
		m.polish(rows, 1<<20+apart)
	}
	m.codes(rows)
	return rows, nil
}

// codes draws codes of groups, in place.
func (m *Model) codes(rows [][]uint16) {
	for j, c := range m.target.Layout.Columns {
		members := make([][]uint16, c.Size)
		shares := make([][]float64, c.Size)
		for code, g := range c.Groups {
			members[g] = append(members[g], uint16(code))
			shares[g] = append(shares[g], m.target.Codes[j][code])
		}
		choices := make([]choice, c.Size)
		for g := range choices {
			if !anything(shares[g]) {
				for i := range shares[g] {
					shares[g][i] = 1
				}
			}
			choices[g] = newChoice(shares[g])
		}
		rng := rand.New(rand.NewPCG(m.seed, 0x636f646573^uint64(j)<<40))
		for i, g := range rows[j] {
			rows[j][i] = members[g][choices[g].draw(rng)]
		}
	}
}

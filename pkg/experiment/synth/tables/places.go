package tables

import (
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/pkg/dataset/table"
)

// places puts rows into a space where the squared distance of two rows is the sum
// over their columns of
//
//   - 0 or 1 for names that agree or not,
//   - |g − g′|/(K−1) for groups g and g′ of the K of a column with an order,
//   - 1 for a missing value beside any other.
//
// Names are corners of a simplex. Groups with an order are cumulative codes (a number
// for each border between groups, 0 below and 1/√(K−1) above), so that a mean of rows
// holds the whole distribution of each column, of numbers too, and not their mean alone.
//
// A column's outcomes are its groups in their order, a missing value first where there
// can be one. What a network makes are probabilities of outcomes.
type places struct {
	columns []table.Column
	corners [][][]float32 // where each column's outcomes are, [columns][outcomes][coordinates]
	dim     int           // coordinates of a row
}

// mostCorners bounds the numbers that corners take: it is an eighth of a gigabyte.
const mostCorners = 1 << 25

func newPlaces(columns []table.Column) (*places, error) {
	p := &places{columns: columns}
	size := 0
	for _, c := range columns {
		if size += (c.Groups() + 1) * (c.Groups() + 1); size > mostCorners {
			return nil, fmt.Errorf("synth: a generator of so many names and bins would not fit into memory; %s takes columns whose squared numbers of them add up to %d, exclude some or use %s", Sinkhorn, mostCorners, Pairs)
		}
		corners := cornersOf(c)
		p.corners = append(p.corners, corners)
		p.dim += len(corners[0])
	}
	return p, nil
}

// Largest implements training.Subject: of two rows.
func (p *places) Largest() float64 { return float64(len(p.columns)) }

// sizes are the numbers of outcomes.
func (p *places) sizes() (sizes []int) {
	for _, corners := range p.corners {
		sizes = append(sizes, len(corners))
	}
	return sizes
}

// cornersOf returns where a column's outcomes are, [outcomes][coordinates].
func cornersOf(c table.Column) (corners [][]float32) {
	groups, missing := c.Groups(), 0
	if c.Missing {
		missing = 1
	}
	if !c.Ordered() {
		for k := range groups + missing {
			corner := make([]float32, groups+missing)
			corner[k] = math.Sqrt2 / 2
			corners = append(corners, corner)
		}
		return corners
	}
	borders := max(1, groups-1) // a column of one group has a coordinate, which is 0
	above := float32(1 / math.Sqrt(float64(borders)))
	if c.Missing { // ¼ in the middle of all borders, ¾ beside them
		corner := make([]float32, borders+1)
		for k := range borders {
			corner[k] = above / 2
		}
		corner[borders] = 2 * present
		corners = append(corners, corner)
	}
	for g := range groups {
		corner := make([]float32, borders+missing)
		for k := range g {
			corner[k] = above
		}
		corners = append(corners, corner)
	}
	return corners
}

// outcome is that of a code of column j. One that cannot be is the first.
func (p *places) outcome(j int, code table.Code) int {
	k := int(p.columns[j].Group(code))
	if !p.columns[j].Missing {
		k--
	}
	return max(0, k)
}

// of writes where row i of a table is.
func (p *places) of(to []float32, t *table.Table, i int) {
	for j, corners := range p.corners {
		to = to[copy(to, corners[p.outcome(j, t.Codes[j][i])]):]
	}
}

// mean writes where a row of probabilities of outcomes is, on average.
func (p *places) mean(to, probabilities []float32) {
	clear(to)
	for _, corners := range p.corners {
		for k, corner := range corners {
			for c, v := range corner {
				to[c] += probabilities[k] * v
			}
		}
		probabilities, to = probabilities[len(corners):], to[len(corners[0]):]
	}
}

// Pull implements training.Subject: the gradient by probabilities of a function with the
// gradient g by mean.
func (p *places) Pull(to, g []float32) {
	for _, corners := range p.corners {
		for k, corner := range corners {
			to[k] = 0
			for c, v := range corner {
				to[k] += v * g[c]
			}
		}
		to, g = to[len(corners):], g[len(corners[0]):]
	}
}

// draw writes outcomes drawn from a row of probabilities, one a column.
func (p *places) draw(to []int, probabilities []float32, rng *rand.Rand) {
	for j, corners := range p.corners {
		to[j] = drawn(probabilities[:len(corners)], rng)
		probabilities = probabilities[len(corners):]
	}
}

// drawn draws from probabilities that add up to about 1.
func drawn(probabilities []float32, rng *rand.Rand) int {
	u, last := rng.Float32(), 0
	for k, v := range probabilities {
		if v > 0 {
			last = k
		}
		if u -= v; u < 0 {
			return k
		}
	}
	return last // what rounding has left over
}

// members returns the codes of each outcome of column j.
func (p *places) members(j int) [][]table.Code {
	c := p.columns[j]
	out := make([][]table.Code, len(p.corners[j]))
	first := 1
	if c.Missing {
		first = 0
	}
	for code := first; code <= c.Levels(); code++ {
		k := p.outcome(j, table.Code(code))
		out[k] = append(out[k], table.Code(code))
	}
	return out
}

package sliced

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy/clip"
)

// game is a query that is attacked: records are free to be anything, the query
// clips them.
type game struct {
	objective Objective
	private   int // sides of a pair that are private, 1 or 2
	dim       int
	u         Directions
	// whole has Jacobians clipped by their Frobenius norm, which bounds the
	// spectral norm too and lets them point where rows clipped one by one cannot.
	// The objective is then the penalty alone.
	whole bool
}

const parameters = 3

// record is a record's output, its Jacobian and its loss gradient, free of
// limits. Clipping makes it a legal one.
type record []float64

func (g game) record(rng *rand.Rand) record {
	r := make(record, g.dim+g.dim*parameters+parameters)
	for i := range r {
		r[i] = 2 * rng.NormFloat64()
	}
	return r
}

// data is what the query sees: [pair][side][record].
type data [][2][]record

func (g game) data(rng *rand.Rand) data {
	d := make(data, len(g.objective.Pairs))
	for k, sizes := range g.objective.Pairs {
		for side, n := range []int{sizes.A, sizes.B} {
			for range n {
				d[k][side] = append(d[k][side], g.record(rng))
			}
		}
	}
	return d
}

// query returns the objective's gradient. Private records have losses, points as they are
// have none.
func (g game) query(t *testing.T, d data) []float64 {
	var losses []float64
	pairs := make([][2]Outputs, len(d))
	for k, sides := range d {
		for side, records := range sides {
			o := Outputs{Dim: g.dim, Parameters: parameters}
			for _, r := range records {
				o.Values = append(o.Values, r[:g.dim]...)
				o.Jacobians = append(o.Jacobians, r[g.dim:g.dim*(1+parameters)]...)
				if side < g.private && !(side == 1 && g.objective.Pairs[k].Fixed) {
					losses = append(losses, r[g.dim*(1+parameters):]...)
				}
			}
			pairs[k][side] = o
		}
	}
	if g.whole {
		return g.penalty(t, pairs[0])
	}
	gradient, err := g.objective.gradient(losses, pairs, g.u)
	if err != nil {
		t.Fatal(err)
	}
	return gradient
}

// gradient is what an objective's Sensitivity is of, [r]: of the per-example gradients
// ∇ℓ(x_i), [n, r], and of each pair's two sides, all clipped as the objective says.
func (o Objective) gradient(losses []float64, pairs [][2]Outputs, u Directions) ([]float64, error) {
	if len(losses) != o.Records*parameters || len(pairs) != len(o.Pairs) {
		return nil, fmt.Errorf("%d losses and %d pairs for an objective of %d and %d", len(losses)/parameters, len(pairs), o.Records, len(o.Pairs))
	}
	sum, err := clip.Sum(losses, parameters, o.Clip)
	if err != nil {
		return nil, err
	}
	for p := range sum {
		sum[p] *= (1 - o.Alpha) / float64(o.Records)
	}
	for _, pair := range pairs {
		penalty, err := o.Limits.Gradient(pair[0], pair[1], u)
		if err != nil {
			return nil, err
		}
		for p, v := range penalty.Gradient {
			sum[p] += o.Alpha / float64(len(pairs)) * v
		}
	}
	return sum, nil
}

func (g game) penalty(t *testing.T, pair [2]Outputs) []float64 {
	limits := g.objective.Limits
	steepness := limits.Source
	for side := range pair {
		o := &pair[side]
		if err := clip.Rows(o.Values, o.Dim, limits.Output); err != nil {
			t.Fatal(err)
		}
		if steepness == 0 {
			o.Jacobians = nil
		} else if err := clip.Rows(o.Jacobians, o.Dim*o.Parameters, steepness); err != nil {
			t.Fatal(err)
		}
		steepness = limits.Target
	}
	sum, err := gradient(pair[0], pair[1], g.u)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// move is a data set and one replacement in it.
type move struct {
	data              data
	pair, side, place int
	replacement       record
}

func (g game) move(rng *rand.Rand) move {
	m := move{data: g.data(rng), pair: rng.IntN(len(g.objective.Pairs)), side: rng.IntN(g.private), replacement: g.record(rng)}
	records := m.data[m.pair][m.side]
	m.place = rng.IntN(len(records))
	switch rng.IntN(5) {
	case 0: // the same output, all else opposite
		copy(m.replacement, records[m.place])
		for i := g.dim; i < len(m.replacement); i++ {
			m.replacement[i] *= -1
		}
	case 1: // the opposite record
		for i, v := range records[m.place] {
			m.replacement[i] = -v
		}
	case 2: // ties: few distinct records, on both sides
		for _, records := range m.data[m.pair] {
			for i := range records {
				records[i] = m.data[m.pair][0][rng.IntN(1+i/2)%len(m.data[m.pair][0])]
			}
		}
	case 3: // not a number, or not finite
		m.replacement[rng.IntN(len(m.replacement))] = []float64{math.NaN(), math.Inf(1), 1e300}[rng.IntN(3)]
	}
	return m
}

// nearby returns a copy with a few numbers changed, now and then moved to an
// extreme or made equal to another record's.
func (g game) nearby(rng *rand.Rand, m move) move {
	n := move{pair: m.pair, side: m.side, place: m.place, replacement: slices.Clone(m.replacement), data: make(data, len(m.data))}
	all := []record{n.replacement}
	for k := range m.data {
		for side, records := range m.data[k] {
			for _, r := range records {
				n.data[k][side] = append(n.data[k][side], slices.Clone(r))
			}
			all = append(all, n.data[k][side]...)
		}
	}
	for range 1 + rng.IntN(3) {
		r := all[rng.IntN(len(all))]
		if rng.IntN(3) == 0 { // not only the mass of bystanders
			r = []record{n.replacement, n.data[n.pair][n.side][n.place]}[rng.IntN(2)]
		}
		i := rng.IntN(len(r))
		switch rng.IntN(4) {
		case 0:
			r[i] = -r[i]
		case 1:
			r[i] = all[rng.IntN(len(all))][i]
		case 2:
			r[i] *= math.Exp(2 * rng.NormFloat64())
		default:
			r[i] += rng.NormFloat64()
		}
	}
	return n
}

func (g game) distance(t *testing.T, m move) float64 {
	before := g.query(t, m.data)
	records := m.data[m.pair][m.side]
	kept := records[m.place]
	records[m.place] = m.replacement
	after := g.query(t, m.data)
	records[m.place] = kept
	var squares float64
	for p := range before {
		squares += (before[p] - after[p]) * (before[p] - after[p])
	}
	return math.Sqrt(squares)
}

// play attacks with random neighbours and by climbing, from the best of as many of
// them for each climb, and returns the largest ratio to the bound.
func (g game) play(t *testing.T, rng *rand.Rand, bound float64, random, climbs, steps int) (largest float64) {
	try := func(m move) float64 {
		ratio := g.distance(t, m) / bound
		if !(ratio <= 1) {
			t.Fatalf("%+v: a record moves the gradient by %v times the sensitivity; %+v", g, ratio, m)
		}
		largest = max(largest, ratio)
		return ratio
	}
	for range climbs {
		best := g.move(rng)
		ratio := try(best)
		for range random/climbs - 1 {
			next := g.move(rng)
			if r := try(next); r > ratio {
				best, ratio = next, r
			}
		}
		for range steps {
			next := g.nearby(rng, best)
			if r := try(next); r >= ratio {
				best, ratio = next, r
			}
		}
	}
	return largest
}

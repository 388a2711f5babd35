package pairs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/transport"
)

// Fit is how rows are found that have the repaired tables.
type Fit struct {
	Rows   int // that stand for the plan while it is sought
	Sweeps int // of Gibbs' sampling, with a step of the fitting after each
	Polish int // sweeps in which rows move to what is still missing
	Seed   uint64
	// Each, if not nil, is told after a sweep how far the tables are from those
	// wanted: the mean total variation over the pairs.
	Each func(sweep, sweeps int, distance float64) error
}

// Model is the law that was found: p(x) ∝ exp(Σ_j u_j(x_j) + Σ_{j<k} θ_jk(x_j, x_k)).
type Model struct {
	target *Repaired
	unary  [][]float32   // [columns][groups]
	theta  [][][]float32 // [columns][others] tables [groups of the other, groups of the column], nil for itself
	Rows   [][]uint16    // [columns][Fit.Rows], groups
	seed   uint64
}

// chunk is how many rows are moved by one stream of random numbers, so that the
// result does not depend on the number of cores.
const chunk = 2048

// Run finds the law.
func (f Fit) Run(ctx context.Context, r *Repaired) (*Model, error) {
	if f.Rows < 1 || f.Sweeps < 0 || f.Polish < 0 {
		return nil, fmt.Errorf("pairs: a fit of %d rows in %d sweeps and %d more; expected at least one row", f.Rows, f.Sweeps, f.Polish)
	}
	d := len(r.Layout.Columns)
	m := &Model{target: r, unary: make([][]float32, d), theta: make([][][]float32, d), seed: f.Seed}
	for j, c := range r.Layout.Columns {
		m.unary[j] = make([]float32, c.Size)
		for g, share := range r.Groups[j] {
			m.unary[j][g] = float32(math.Log(share + 1e-7))
			if g < c.Impossible {
				m.unary[j][g] = float32(math.Inf(-1))
			}
		}
		m.theta[j] = make([][]float32, d)
		for k, other := range r.Layout.Columns {
			if k != j {
				m.theta[j][k] = make([]float32, other.Size*c.Size)
			}
		}
	}
	// Rows begin as those of the tree of the strongest dependencies, which Gibbs'
	// sampling alone would take long to find, or to leave.
	g := r.spanning()
	for j := range d {
		if g.parent[j] >= 0 {
			m.learn(g.table[j], nil, 1)
		}
	}
	m.Rows = r.sample(g, f.Rows, rand.New(rand.NewPCG(f.Seed, 0x74726565)))
	if err := f.seek(ctx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// seek moves law and rows. Where columns repeat each other, what all pairs add at
// once is too much: a step that leads further away is taken back, and the next are
// half as long.
func (f Fit) seek(ctx context.Context, m *Model) error {
	rate, best, total := min(mostStep, allStep/float64(len(m.unary))), math.Inf(1), f.Sweeps+f.Polish
	var kept *Model
	for sweep := range total {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sweep < f.Sweeps {
			m.sweep(m.Rows, sweep)
		} else {
			m.polish(m.Rows, sweep)
		}
		counts := m.tally(m.Rows)
		distance := m.distance(counts, f.Rows)
		if f.Each != nil {
			if err := f.Each(sweep+1, total, distance); err != nil {
				return err
			}
		}
		switch {
		case math.IsNaN(distance):
			return fmt.Errorf("pairs: after sweep %d the rows are no number away from what was released; are weights too small for their noise?", sweep+1)
		case sweep >= f.Sweeps:
			continue
		case distance > worse*best:
			m.copy(kept)
			rate /= 2
			counts = m.tally(m.Rows)
		case distance < best:
			if kept == nil {
				kept = &Model{}
			}
			best = distance
			kept.copy(m)
		}
		if sweep+1 < f.Sweeps {
			m.step(counts, f.Rows, rate)
		} else {
			m.copy(kept)
		}
	}
	return nil
}

// worse is by how much a distance may grow by chance.
const worse = 1.25

// copy makes the potentials and rows those of another model.
func (m *Model) copy(from *Model) {
	m.unary, m.Rows = cloned(m.unary, from.unary), cloned(m.Rows, from.Rows)
	if m.theta == nil {
		m.theta = make([][][]float32, len(from.theta))
	}
	for j := range from.theta {
		m.theta[j] = cloned(m.theta[j], from.theta[j])
	}
}

// cloned copies lists, into those of before where there are some.
func cloned[T any](to, from [][]T) [][]T {
	if to == nil {
		to = make([][]T, len(from))
	}
	for i := range from {
		to[i] = append(to[i][:0], from[i]...)
	}
	return to
}

// tally counts the pairs of rows, [pairs][cells].
func (m *Model) tally(rows [][]uint16) [][]int32 {
	l := m.target.Layout
	d := len(l.Columns)
	counts := make([][]int32, len(m.target.Pairs))
	transport.InParallel(len(counts), func(p int) {
		t := l.Tables[d+p]
		counts[p] = make([]int32, t.Rows*t.Cols)
		tally(counts[p], rows[t.A], rows[t.B], t.Cols)
	})
	return counts
}

// distance is the mean total variation between counts of n rows and the tables wanted.
func (m *Model) distance(counts [][]int32, n int) float64 {
	if len(counts) == 0 {
		return 0
	}
	each := make([]float64, len(counts))
	transport.InParallel(len(counts), func(p int) {
		for i, count := range counts[p] {
			each[p] += math.Abs(float64(count)/float64(n)-m.target.Pairs[p][i]) / 2
		}
	})
	var sum float64
	for _, v := range each {
		sum += v
	}
	return sum / float64(len(each))
}

const (
	mostStep  = 0.25 // share of what a table still lacks that a first step adds, at most
	allStep   = 2.0  // and that the tables of a column add together, at most
	unaryStep = 0.5
)

// step moves the law towards the tables wanted.
func (m *Model) step(counts [][]int32, n int, rate float64) {
	l := m.target.Layout
	transport.InParallel(len(counts), func(p int) {
		now := make([]float64, len(counts[p]))
		for i, count := range counts[p] {
			now[i] = float64(count) / float64(n)
		}
		m.learn(p, now, rate)
	})
	for j, c := range l.Columns {
		now := make([]float64, c.Size)
		for _, g := range m.Rows[j] {
			now[g] += 1 / float64(n)
		}
		for g := c.Impossible; g < c.Size; g++ {
			small := 1 / float64(n)
			m.unary[j][g] += float32(unaryStep * math.Log((m.target.Groups[j][g]+small)/(now[g]+small)))
		}
	}
}

// learn adds to the potentials of a pair what its table wants beyond what it has
// now, apart from the marginals, by the share rate. now is nil for independence.
// Shares below the noise say nothing and move nothing.
func (m *Model) learn(p int, now []float64, rate float64) {
	r := m.target
	t := r.Layout.Tables[len(r.Layout.Columns)+p]
	a, b := r.Groups[t.A], r.Groups[t.B]
	nowA, nowB := a, b
	if now != nil {
		nowA, nowB = sums(now, t.Rows, t.Cols)
	}
	small := r.Noise[p] + 0.5/float64(max(1, len(m.rowsOf(t.A))))
	for i, wanted := range r.Pairs[p] {
		x, y := i/t.Cols, i%t.Cols
		if a[x] <= 0 || b[y] <= 0 {
			continue
		}
		independent := a[x] * b[y]
		has := independent
		if now != nil {
			has = 0
			if nowA[x] > 0 && nowB[y] > 0 { // what it would be with the marginals wanted
				has = now[i] * independent / (nowA[x] * nowB[y])
				has = min(has, a[x], b[y])
			}
		}
		change := float32(rate * math.Log((wanted+small)/(has+small)))
		m.theta[t.B][t.A][x*t.Cols+y] += change
		m.theta[t.A][t.B][y*t.Rows+x] += change
	}
}

func (m *Model) rowsOf(j int) []uint16 {
	if m.Rows == nil {
		return nil
	}
	return m.Rows[j]
}

package sliced

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"molehill/transport"
	"molehill/transport/internal/tile"
)

// directionsAtOnce is how many directions are projected on together. It bounds
// the memory of their table and, as it does not depend on the number of cores,
// fixes the order of sums.
const directionsAtOnce = 32

// pairing is two measures that are compared on directions.
type pairing struct {
	x, y    *side
	p       float64
	plan    []transport.Pair // on every direction, where weights are equal
	scratch sync.Pool

	// Noise of this standard deviation is added to projections, from one seed a
	// direction.
	smoothing float64
	seeds     []uint64

	reference *Reference // whose projections stand for y's, which there is none of then

	workers int // the cores it may use

	// relative pulls are of a size of their own on each direction, which keeps
	// them within the range of float32 and of p.
	relative bool
}

// side is one of the measures.
type side struct {
	points  tile.Points
	sum     tile.Points // of the pulls on each point, times n
	table   []float32   // projections by direction and point, then pulls
	weights []float64   // nil: equal
	shares  []float64   // weights that add up to 1, nil: equal
	workers int
}

// scratch is the memory of one core for one direction.
type scratch struct {
	x, y struct {
		transport.Sorter
		levels, by []float64
	}
	plan []transport.Pair
}

func newPairing(x, y transport.Measure, p float64, u Directions, workers int) (*pairing, error) {
	if err := transport.CheckPower(p); err != nil {
		return nil, err
	}
	s := &pairing{p: p, workers: workers, scratch: sync.Pool{New: func() any { return new(scratch) }}}
	if x.Dim != y.Dim && x.Len() > 0 && y.Len() > 0 {
		return nil, fmt.Errorf("sliced: x has points of dimension %d and y of dimension %d; they must agree", x.Dim, y.Dim)
	}
	if err := checkMeasure(x, u); err != nil {
		return nil, fmt.Errorf("sliced: x: %w", err)
	}
	if err := checkMeasure(y, u); err != nil {
		return nil, fmt.Errorf("sliced: y: %w", err)
	}
	center := center(x.Points, y.Points)
	s.x, s.y = newSide(x, u, center, workers), newSide(y, u, center, workers)
	if x.Weights == nil && y.Weights == nil {
		s.plan = transport.Couple(nil, transport.Levels(nil, x.Len()), transport.Levels(nil, y.Len()))
	}
	return s, nil
}

func newSide(m transport.Measure, u Directions, center []float32, workers int) *side {
	s := &side{points: tile.New(m.Len(), m.Dim), weights: m.Weights, workers: workers}
	if m.Weights != nil {
		s.shares = m.Shares()
	}
	s.table = make([]float32, tile.Rows(min(directionsAtOnce, u.Count))*s.points.Stride())
	s.points.Each(s.workers, func(t int) { s.points.Pack(t, m.Data, center) })
	return s
}

// center returns about where the points are, [d]: distances are of differences,
// and projections in float32 are the more precise the nearer the origin is. A
// coordinate is 0 that has both signs. A few points of each side are enough.
func center(x, y transport.Points) []float32 {
	sums, sizes := make([]float64, x.Dim), make([]float64, x.Dim)
	count := 0
	for _, points := range []transport.Points{x, y} {
		const few = 256
		for i := 0; i < points.Len(); i += (points.Len() + few - 1) / few {
			count++
			for c, v := range points.Row(i) {
				sums[c] += float64(v)
				sizes[c] += math.Abs(float64(v))
			}
		}
	}
	center := make([]float32, x.Dim)
	for c, sum := range sums {
		if math.Abs(sum) > sizes[c]/2 {
			// With so few bits that taking it off is exact for what is near it.
			mean := float32(sum / float64(count))
			center[c] = math.Float32frombits(math.Float32bits(mean) &^ 0xff)
		}
	}
	return center
}

// checkMeasure returns an error unless the projections of m on u are numbers.
func checkMeasure(m transport.Measure, u Directions) error {
	limit := float32(math.MaxFloat32 / (4 * math.Sqrt(float64(max(1, m.Dim)))))
	far := slices.IndexFunc(m.Data, func(v float32) bool { return !(v <= limit && v >= -limit) })
	if far >= 0 || m.Len() == 0 || len(m.Data) != m.Len()*m.Dim {
		if err := m.Points.Check(); err != nil {
			return err
		}
		return fmt.Errorf("sliced: point %d has %v, so far out that its projections overflow; divide the points by a constant", far/m.Dim, m.Data[far])
	}
	if err := transport.CheckWeights(m.Weights, m.Len()); err != nil {
		return err
	}
	return u.Check(m.Dim)
}

// run returns W_p on every direction, and leaves the gradients of W_p^p if pull
// says so.
func (s *pairing) run(u Directions, pull bool) []float64 {
	distances := make([]float64, u.Count)
	sides := []*side{s.x, s.y}
	if s.reference != nil {
		sides = sides[:1]
	}
	if pull {
		for _, side := range sides {
			side.sum = tile.New(side.points.N, side.points.Dim)
		}
	}
	for from := 0; from < u.Count; from += directionsAtOnce {
		part := u.Slice(from, min(from+directionsAtOnce, u.Count))
		there := tile.ForProject(part.Data, part.Count, part.Dim)
		for _, side := range sides {
			side.points.Each(s.workers, func(t int) { side.points.Project(t, there, side.table) })
		}
		transport.InParallelOn(s.workers, part.Count, func(j int) {
			if s.smoothing > 0 {
				rng := rand.New(rand.NewPCG(s.seeds[from+j], 0))
				addNoise(s.x.row(j), s.smoothing, rng)
				addNoise(s.y.row(j), s.smoothing, rng)
			}
			worker := s.scratch.Get().(*scratch)
			defer s.scratch.Put(worker)
			if s.reference != nil {
				worker.x.Sort(s.x.row(j))
				distances[from+j], _ = s.distance(s.plan, s.x.row(j), s.reference.inOrder[from+j], nil, nil)
				return
			}
			distances[from+j] = s.direction(worker, s.x.row(j), s.y.row(j), pull)
		})
		if !pull {
			continue
		}
		back := tile.ForAdd(part.Data, part.Count, part.Dim)
		for _, side := range sides {
			side.points.Each(s.workers, func(t int) { side.sum.Add(t, back, side.table) })
		}
	}
	return distances
}

// row returns the points' projections on direction j of the block.
func (s *side) row(j int) []float32 {
	stride := s.points.Stride()
	return s.table[j*stride : j*stride+s.points.N]
}

func addNoise(row []float32, std float64, rng *rand.Rand) {
	for i := range row {
		row[i] += float32(std * rng.NormFloat64())
	}
}

// direction returns W_p between projections x and y and, if pull says so,
// replaces them by n times the derivatives of W_p^p, or m times.
func (s *pairing) direction(w *scratch, x, y []float32, pull bool) float64 {
	if s.plan != nil && !pull { // only then does it not matter which point is where
		w.x.Sort(x)
		w.y.Sort(y)
		distance, _ := s.distance(s.plan, x, y, nil, nil)
		return distance
	}
	orderX, sortedX := w.x.Rank(x)
	orderY, sortedY := w.y.Rank(y)
	plan := s.plan
	if plan == nil {
		w.x.levels = s.x.levels(w.x.levels, orderX)
		w.y.levels = s.y.levels(w.y.levels, orderY)
		w.plan = transport.Couple(w.plan[:0], w.x.levels, w.y.levels)
		plan = w.plan
	}
	if !pull {
		distance, _ := s.distance(plan, sortedX, sortedY, nil, nil)
		return distance
	}
	w.x.by, w.y.by = resized(w.x.by, len(x)), resized(w.y.by, len(y))
	distance, factor := s.distance(plan, sortedX, sortedY, w.x.by, w.y.by)
	if s.relative {
		factor = 1
	}
	spread(x, orderX, sortedX, w.x.by, s.x.shares, factor)
	spread(y, orderY, sortedY, w.y.by, s.y.shares, factor)
	return distance
}

// distance returns W_p of a plan, and writes the derivatives of W_p^p over factor.
// At p = 1 and 2 nothing of float32 overflows; other powers are taken in units of
// the farthest pair.
func (s *pairing) distance(plan []transport.Pair, x, y []float32, byX, byY []float64) (distance, factor float64) {
	unit := 1.
	if s.p != 1 && s.p != 2 {
		if unit = transport.Farthest(plan, x, y); unit == 0 {
			unit = 1
		}
	}
	power := transport.PowerIn(unit, plan, x, y, s.p, byX, byY)
	switch s.p {
	case 1:
		return power, 1
	case 2:
		return math.Sqrt(power), 1
	}
	return unit * math.Pow(power, 1/s.p), math.Pow(unit, s.p-1)
}

func (s *side) levels(levels []float64, order []int32) []float64 {
	if s.weights == nil {
		if len(levels) == len(order) { // no other can have come before
			return levels
		}
		return transport.Levels(nil, len(order))
	}
	levels = resized(levels, len(order))
	transport.LevelsInOrder(levels, s.weights, order)
	return levels
}

// spread shares what ranks were given among ties and writes n·factor times it by
// point. n keeps small pulls on many points within the range of float32.
func spread(pulls []float32, order []int32, sorted []float32, by, shares []float64, factor float64) {
	transport.ShareTies(sorted, by, shares, order)
	n := float64(len(pulls)) * factor
	for rank, i := range order {
		pulls[i] = float32(n * by[rank])
	}
}

// gradient returns the sum of the pulls on each point over k directions, [n, d].
func (s *side) gradient(directions int) ([]float32, error) {
	n, dim := s.points.N, s.points.Dim
	by := make([]float32, n*dim)
	factor := float32(1 / (float64(n) * float64(directions)))
	s.points.Each(s.workers, func(t int) { s.sum.Unpack(t, by, factor) })
	for i, v := range by {
		if v-v != 0 { // NaN or infinite
			return nil, fmt.Errorf("sliced: the derivative by point %d is %v; divide the points by a constant", i/dim, v)
		}
	}
	return by, nil
}

func resized[T any](buffer []T, n int) []T {
	if cap(buffer) < n {
		return make([]T, n)
	}
	return buffer[:n]
}

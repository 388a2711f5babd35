package sliced

import (
	"cmp"
	"math"
	"runtime"
	"slices"

	"molehill/transport"
)

// Maximum is where a search for the largest W_p over directions ended.
type Maximum struct {
	Value     float64   // W_p of the projections on Direction, in the unit of the points
	Direction []float32 // unit vector, [d]
	Rounds    int       // steps that climbed, from the start that led here
}

// What a search may cost: so many starts, and steps from each.
const (
	maxStarts = 8
	maxRounds = 200
)

// MaxSW looks for the max-sliced Wasserstein distance max_θ W_p(θ#x, θ#y), p ≥ 1
// (Deshpande et al. 2019, "Max-sliced Wasserstein distance and its use for GANs").
//
// It climbs along great circles, by the gradient with the plan held, from the best
// of the given directions and from the difference of the means. A step is only
// taken if it climbs, so the value is at least the largest on the given
// directions, and never more than max-SW_p. It can be a local maximum: more
// directions to start from make that less likely.
func MaxSW(x, y transport.Measure, p float64, starts Directions) (Maximum, error) {
	s, err := newPairing(x, y, p, starts, runtime.GOMAXPROCS(0))
	if err != nil {
		return Maximum{}, err
	}
	distances := s.run(starts, false)
	if _, err := newDistance(distances, p, starts); err != nil {
		return Maximum{}, err
	}
	best := make([]int, starts.Count)
	for j := range best {
		best[j] = j
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(distances[b], distances[a]) })
	from := [][]float32{}
	for _, j := range best[:min(maxStarts, len(best))] {
		from = append(from, starts.Row(j))
	}
	if direction, ok := normalised(meanDifference(x, y)); ok {
		from = append(from, direction)
	}
	s.relative = true
	center := center(x.Points, y.Points)
	x.Points, y.Points = less(x.Points, center), less(y.Points, center)
	found := make([]Maximum, len(from))
	transport.Parallel(len(from), func() *climber { return newClimber(s, x, y) }, func(c *climber, i int) {
		found[i] = c.climb(from[i])
	})
	top := slices.MaxFunc(found, func(a, b Maximum) int { return cmp.Compare(a.Value, b.Value) })
	return top, nil
}

// less returns the points less a center, [d].
func less(p transport.Points, center []float32) transport.Points {
	p = p.Clone()
	for i := range p.Len() {
		row := p.Row(i)
		for c := range row {
			row[c] -= center[c]
		}
	}
	return p
}

func meanDifference(x, y transport.Measure) []float64 {
	difference := make([]float64, x.Dim)
	for side, m := range []transport.Measure{x, y} {
		sign := float64(1 - 2*side)
		for i, share := range m.Shares() {
			for c, v := range m.Row(i) {
				difference[c] += sign * share * float64(v)
			}
		}
	}
	return difference
}

// normalised returns v/‖v‖ unless v has no direction.
func normalised(v []float64) ([]float32, bool) {
	norm := math.Sqrt(dot(v, v))
	direction := make([]float32, len(v))
	for c := range v {
		direction[c] = float32(v[c] / norm)
	}
	return direction, norm > 0 && !math.IsInf(norm, 0)
}

// climber is one core's search.
type climber struct {
	*pairing
	from     [2]transport.Measure
	own      scratch
	onX, onY []float32
}

func newClimber(s *pairing, x, y transport.Measure) *climber {
	return &climber{pairing: s, from: [2]transport.Measure{x, y}, onX: make([]float32, x.Len()), onY: make([]float32, y.Len())}
}

// climb returns the maximum that it reaches.
func (c *climber) climb(start []float32) Maximum {
	at := Maximum{Direction: slices.Clone(start)}
	var slope []float64
	at.Value, slope = c.at(at.Direction)
	for step := 0.5; step > 1e-6 && at.Rounds < maxRounds; step /= 2 { // radians
		along, ok := tangent(at.Direction, slope)
		if !ok {
			break
		}
		next, _ := normalised(turn(at.Direction, along, step))
		value, newSlope := c.at(next)
		if value > at.Value {
			at = Maximum{Value: value, Direction: next, Rounds: at.Rounds + 1}
			slope, step = newSlope, min(4*step, 2)
		}
	}
	return at
}

// at returns W_p on a direction and, up to a factor, its derivatives by the
// direction, [d].
func (c *climber) at(direction []float32) (float64, []float64) {
	on := [2][]float32{c.onX, c.onY}
	for side, m := range c.from {
		ProjectOn(on[side], m.Points, direction)
	}
	distance := c.direction(&c.own, c.onX, c.onY, true)
	slope := make([]float64, len(direction))
	for side, m := range c.from {
		for i, pull := range on[side] {
			for k, v := range m.Row(i) {
				slope[k] += float64(pull) / float64(m.Len()) * float64(v)
			}
		}
	}
	return distance, slope
}

// tangent returns the direction of steepest ascent on the sphere, unless there is
// none.
func tangent(direction []float32, slope []float64) ([]float64, bool) {
	var along, squares float64
	for c, d := range direction {
		along += slope[c] * float64(d)
		squares += float64(d) * float64(d)
	}
	across := make([]float64, len(slope))
	for c, d := range direction {
		across[c] = slope[c] - along/squares*float64(d)
	}
	// Less than rounding would leave is no slope.
	norm, whole := math.Sqrt(dot(across, across)), math.Sqrt(dot(slope, slope))
	for c := range across {
		across[c] /= norm
	}
	return across, norm > 1e-7*whole
}

// turn rotates a direction by an angle towards a tangent.
func turn(direction []float32, along []float64, angle float64) []float64 {
	turned := make([]float64, len(direction))
	for c, d := range direction {
		turned[c] = math.Cos(angle)*float64(d) + math.Sin(angle)*along[c]
	}
	return turned
}

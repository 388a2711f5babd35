package transport

import (
	"fmt"
	"math"
)

// SmoothedLine is the transport between two weighted samples of the line, each
// convolved with N(0, σ²): two mixtures of Gaussians of one width.
type SmoothedLine struct {
	Line          // whose Solve knows nothing of Sigma: Cost is what there is
	Sigma float64 // σ > 0
}

// How finely distribution functions are tabulated, in units of σ.
const (
	nodesPerSigma = 8
	reach         = 68  // nodes: 8.5 σ, beyond which a Gaussian has a mass of 10⁻¹⁷
	moments       = 8   // of the points around a node
	maxWidth      = 1e5 // σ from the first point to the last

	// By how much two inverted tables of one measure differ at most (measured:
	// see the tests), and how much mass rounding can put anywhere.
	quantileError = 1e-9
	straying      = 0x1p-50
)

// Cost returns W_p^p, p ≥ 1, and a bound on its numerical error.
//
// Both distribution functions are tabulated with two derivatives at steps of σ/8,
// in O(n) by the moments of the points around each node (a fast Gauss transform;
// Greengard & Strain 1991), to 10⁻¹². Between nodes they are quintics. The
// quantile functions are their inverses, and ∫|F⁻¹(u) − G⁻¹(u)|^p du is taken by
// Gauss's rule on each piece of [0, 1] on which both are smooth: Couple finds
// them. The bound adds up what rules of three and five nodes differ by, which is
// far more than the error of the latter, the error of the quantiles, 10⁻⁹·σ, and
// a mass of 2⁻⁵⁰ that rounding may send as far as there are points. The last one
// limits what large p can be asked for. Points that are more than 10⁵σ apart are an error.
func (l SmoothedLine) Cost(p float64) (cost, bound float64, err error) {
	if cost, bound, err = l.RelativeCost(p); err != nil {
		return 0, 0, err
	}
	scale := math.Pow(l.Sigma, p)
	cost, bound = scale*cost, scale*bound
	if err := finite(cost, p); err != nil {
		return 0, 0, err
	}
	return cost, bound, finite(bound, p)
}

// RelativeCost is Cost in the unit of σ, W_p^p/σ^p, which neither overflows nor
// vanishes because the points are large or small.
func (l SmoothedLine) RelativeCost(p float64) (cost, bound float64, err error) {
	if err := CheckPower(p); err != nil {
		return 0, 0, err
	}
	if !(l.Sigma > 0) || math.IsInf(l.Sigma, 0) {
		return 0, 0, fmt.Errorf("transport: smoothing by σ = %v; it is finite and above 0 (Line is without)", l.Sigma)
	}
	origin, last := math.Inf(1), math.Inf(-1)
	for _, side := range []struct {
		name    string
		at      []float64
		weights []float64
	}{{"x", l.X, l.A}, {"y", l.Y, l.B}} {
		if err := checkLine(side.name, side.at, side.weights); err != nil {
			return 0, 0, err
		}
		for i, v := range side.at {
			if side.weights != nil && side.weights[i] == 0 {
				continue // it is not there
			}
			origin, last = min(origin, v), max(last, v)
		}
	}
	if width := (last - origin) / l.Sigma; !(width <= maxWidth) {
		return 0, 0, fmt.Errorf("transport: σ = %v for points that are %v apart; it is at least %g of that (Line differs by at most 2·σ·(E|Z|^p)^(1/p))", l.Sigma, last-origin, 1/maxWidth)
	}
	x, y := tabulate(l.X, l.A, origin, l.Sigma), tabulate(l.Y, l.B, origin, l.Sigma)
	var spread float64
	for _, pair := range Couple(nil, x.levels[1:], y.levels[1:]) {
		piece := piece{x, y, pair.I, pair.J}
		from := max(x.levels[pair.I], y.levels[pair.J])
		to := min(x.levels[pair.I+1], y.levels[pair.J+1])
		if from >= to { // two levels that Couple takes for one
			continue
		}
		for _, half := range piece.smooth(from, to) {
			fine, coarse := piece.integrals(half[0], half[1], p)
			cost += fine
			spread += math.Abs(fine - coarse)
		}
	}
	width := (last-origin)/l.Sigma + 2*reach/float64(nodesPerSigma)
	// Quantile functions that are off by η move W_p by η.
	bound = spread + math.Pow(math.Pow(cost, 1/p)+quantileError, p) - cost + straying*math.Pow(width, p)
	if err := finite(cost, p); err != nil {
		return 0, 0, err
	}
	return cost, bound, finite(bound, p)
}

// table is a distribution function at first, first + 1/nodesPerSigma, …, in units
// of σ.
type table struct {
	first          float64
	levels         []float64 // F, from 0 to 1
	slopes, curves []float64 // F′ and F″
}

func tabulate(at, weights []float64, origin, sigma float64) *table {
	shares := Shares(weights, len(at))
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range at {
		if shares[i] > 0 {
			low, high = min(low, (v-origin)/sigma), max(high, (v-origin)/sigma)
		}
	}
	n := int(math.Ceil((high-low)*nodesPerSigma)) + 2*reach + 1
	t := &table{low - reach/float64(nodesPerSigma), make([]float64, n), make([]float64, n), make([]float64, n)}
	around := make([][moments]float64, n) // Σ share·(−δ)^q/q! of the points nearest to each node
	for i, v := range at {
		if shares[i] == 0 {
			continue
		}
		place := ((v-origin)/sigma - t.first) * nodesPerSigma
		node := int(math.Round(place))
		delta, term := (place-float64(node))/nodesPerSigma, shares[i]
		for q := range moments {
			around[node][q] += term
			term *= -delta / float64(q+1)
		}
	}
	passed := 0. // the mass of nodes that are more than reach behind
	for node, m := range around {
		if behind := node - reach - 1; behind >= 0 {
			passed += around[behind][0]
		}
		t.levels[node] += passed
		if m[0] == 0 {
			continue
		}
		for k := max(0, node-reach); k <= min(n-1, node+reach); k++ {
			d := &derivatives[k-node+reach]
			var level, slope, curve float64
			for q, v := range m {
				level += v * d[q]
				slope += v * d[q+1]
				curve += v * d[q+2]
			}
			t.levels[k] += level
			t.slopes[k] += slope
			t.curves[k] += curve
		}
	}
	below := 0.
	for k, level := range t.levels {
		below = max(below, min(1, level))
		t.levels[k] = below
	}
	t.levels[0], t.levels[n-1] = 0, 1
	return t
}

// derivatives are Φ⁽q⁾ at (i − reach)/nodesPerSigma: Φ⁽q⁾ = (−1)^(q−1)·He_(q−1)·φ.
var derivatives = func() (d [2*reach + 1][moments + 2]float64) {
	for i := range d {
		z := float64(i-reach) / nodesPerSigma
		d[i][0] = math.Erfc(-z/math.Sqrt2) / 2
		hermite, before := math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), 0.
		for q := 1; q < len(d[i]); q++ {
			d[i][q] = hermite
			hermite, before = -z*hermite-float64(q-1)*before, hermite
		}
	}
	return d
}()

// quantile returns F⁻¹(u) for u between the levels of a cell's two ends.
func (t *table) quantile(cell int, u float64) float64 {
	const h = 1. / nodesPerSigma
	a, b := t.levels[cell], t.levels[cell+1]
	// The quintic through F, F′ and F″ at both ends, by powers of s in [0, 1].
	c1, c2 := h*t.slopes[cell], h*h*t.curves[cell]/2
	r0 := b - a - c1 - c2
	r1 := h*t.slopes[cell+1] - c1 - 2*c2
	r2 := h*h*t.curves[cell+1]/2 - c2
	c3, c4, c5 := 10*r0-4*r1+r2, -15*r0+7*r1-2*r2, 6*r0-3*r1+r2
	low, high := 0., 1.
	s := 0.5
	if b > a {
		s = (u - a) / (b - a)
	}
	for range 60 {
		off := a + s*(c1+s*(c2+s*(c3+s*(c4+s*c5)))) - u
		if off < 0 {
			low = s
		} else {
			high = s
		}
		slope := c1 + s*(2*c2+s*(3*c3+s*(4*c4+s*5*c5)))
		next := s - off/slope
		if !(next >= low && next <= high) { // not a number where the slope is 0
			next = (low + high) / 2
		}
		if math.Abs(next-s) < 1e-13 {
			s = next
			break
		}
		s = next
	}
	return t.first + h*(float64(cell)+s)
}

// piece is where both quantile functions are in one cell each.
type piece struct {
	x, y         *table
	cellX, cellY int
}

func (p piece) gap(u float64) float64 { return p.x.quantile(p.cellX, u) - p.y.quantile(p.cellY, u) }

// smooth cuts [from, to] where the gap changes its sign, for |gap|^p has a kink
// there. Changes of rounding's size are not looked for.
func (p piece) smooth(from, to float64) [][2]float64 {
	start, end := p.gap(from), p.gap(to)
	if start*end >= 0 || math.Abs(start)+math.Abs(end) < 1e-9 {
		return [][2]float64{{from, to}}
	}
	low, high := from, to
	for range 50 {
		middle := (low + high) / 2
		if p.gap(middle)*start > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return [][2]float64{{from, low}, {low, to}}
}

// Gauss's rules on [−1, 1] (Abramowitz & Stegun 1964, 25.4): nodes ≥ 0.
var (
	gauss3 = [][2]float64{{0, 8. / 9}, {0.774596669241483377, 5. / 9}}
	gauss5 = [][2]float64{{0, 128. / 225}, {0.538469310105683091, 0.478628670499366468}, {0.906179845938663993, 0.236926885056189088}}
)

// integrals returns ∫|gap|^p from one level to another by both rules.
func (p piece) integrals(from, to, power float64) (fine, coarse float64) {
	middle, half := (from+to)/2, (to-from)/2
	by := func(rule [][2]float64) (sum float64) {
		for k, node := range rule {
			v := math.Pow(math.Abs(p.gap(middle+half*node[0])), power)
			if k > 0 {
				v += math.Pow(math.Abs(p.gap(middle-half*node[0])), power)
			}
			sum += half * node[1] * v
		}
		return sum
	}
	return by(gauss5), by(gauss3)
}

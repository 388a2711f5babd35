package matching

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"molehill/privacy/clip"
	"molehill/transport/sliced"
)

// Margin is by how much, relative to a limit, clipping stays below it. It pays for what is
// lost between norms and the sum, all of it in double precision, in all blocks of a batch
// together (cut), and for clipping a little less than exactly where singular values are known
// to their rounding only.
const Margin = 0x1p-10

// NotCovered is what a statement of Gradient has to say of the device.
const NotCovered = "the device's arithmetic: in double precision it is taken to round as IEEE 754 says, and of each record it is taken to compute the same numbers in single precision whatever the others are; what is lost from there on is bounded, and within what clipping leaves"

// Gradient returns that of a batch at the parameters as they are, clipped. A record
// that gives a number that is not finite anywhere, in what the gradient needs, counts as
// one with output 0 and no gradient. At α = 0 that leaves out Jacobians, which cost most.
func (l *Learner) Gradient(b Batch, c Clipping) (*Gradient, error) {
	n, err := l.model.checkBatch(b)
	if err != nil {
		return nil, err
	}
	s, err := c.Sensitivity(b.query(n, l.model.Outputs))
	if err != nil {
		return nil, err
	}
	seen, err := l.evaluate(b, n, c)
	if err != nil {
		return nil, err
	}
	defer seen.release()
	g := &Gradient{Sensitivity: s}
	v, err := seen.pulls(b, c, g)
	if err != nil {
		return nil, err
	}
	g.Values, err = l.add(seen, v, seen.weights(b.Alpha, c, g))
	return g, err
}

// weights returns what each record's loss counts in the sum, [n].
func (s *evaluation) weights(alpha float64, c Clipping, g *Gradient) []float64 {
	w := make([]float64, s.n)
	for i := range s.losses {
		if s.bad[i] {
			continue
		}
		factor := factor(s.lossSquares[i], s.lossRounding[i], c.Loss)
		w[i] = (1 - alpha) / float64(s.n) * factor
		g.Loss += float64(s.losses[i]) / float64(s.n)
		if factor < 1-Margin {
			g.ClippedLoss += 1 / float64(s.n)
		}
	}
	return w
}

// factor is what a gradient of a squared norm is multiplied with so that its norm,
// rounding included, stays within bound.
func factor(squares, rounding, bound float64) float64 {
	return clip.Factor(math.Sqrt(max(0, squares))+rounding, bound*(1-Margin))
}

// pulls returns what each output of φ counts in the sum, [n, d]: the derivative of the
// second term of the loss by clipped outputs, times what clipping leaves of Jacobians.
func (s *evaluation) pulls(b Batch, c Clipping, g *Gradient) ([]float64, error) {
	v := make([]float64, s.n*s.d)
	if b.Alpha == 0 || len(b.Pairs) == 0 {
		return v, nil
	}
	for i := range s.n {
		if clip.Norm(s.row(i)) > c.Output {
			g.ClippedOutput += 1 / float64(s.n)
		}
	}
	if err := clip.Rows(s.outputs, s.d, c.Output); err != nil {
		return nil, err
	}
	share := b.Alpha / float64(len(b.Pairs))
	for k, pair := range b.Pairs {
		x, y := s.gather(pair.A), s.gather(pair.B)
		if pair.Points != nil {
			y = doubles(pair.Points)
			if err := clip.Rows(y, s.d, c.Output); err != nil {
				return nil, err
			}
		}
		power, byX, byY, err := sliced.OutputGradients(x, y, b.Directions)
		if err != nil {
			return nil, fmt.Errorf("matching: pair %d: %w", k, err)
		}
		g.Distance += power / float64(len(b.Pairs))
		s.scatter(v, pair.A, byX, share, c, g)
		if pair.Points == nil {
			s.scatter(v, pair.B, byY, share, c, g)
		}
	}
	return v, nil
}

func doubles(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

func (s *evaluation) row(i int) []float64 { return s.outputs[i*s.d : (i+1)*s.d] }

// gather returns the outputs of rows.
func (s *evaluation) gather(rows []int) []float64 {
	x := make([]float64, 0, len(rows)*s.d)
	for _, i := range rows {
		x = append(x, s.row(i)...)
	}
	return x
}

// scatter writes share times derivatives by outputs of rows, through what clipping
// leaves of Jacobians, to where the rows stand in v.
func (s *evaluation) scatter(v []float64, rows []int, by []float64, share float64, c Clipping, g *Gradient) {
	for k, i := range rows {
		to, from := v[i*s.d:(i+1)*s.d], by[k*s.d:(k+1)*s.d]
		if s.bad[i] || s.products == nil { // φ may have no parameters, and so no Jacobians
			continue
		}
		for e, x := range from {
			to[e] = share * x
		}
		if s.clipJacobian(to, i, c) {
			g.ClippedJacobian += 1 / float64(s.n)
		}
	}
}

// clipJacobian turns v into what J_iᵀ has to be applied to so that the result is that
// of the clipped Jacobian on v: P·v with clipped Jacobian P·J_i, and reports whether
// there was anything to clip.
func (s *evaluation) clipJacobian(v []float64, i int, c Clipping) (clipped bool) {
	rounding := s.rounding[i*s.d : (i+1)*s.d]
	if !c.Exact {
		for e := range v {
			f := factor(s.products[i*s.d+e], rounding[e], c.Jacobian/math.Sqrt(float64(s.d)))
			v[e] *= f
			clipped = clipped || f < 1-Margin
		}
		return clipped
	}
	// J·Jᵀ = Q·S²·Qᵀ, so P = Q·F·Qᵀ clips the singular values S with F = min(1, L/S).
	products := mat.NewSymDense(s.d, s.products[i*s.d*s.d:(i+1)*s.d*s.d])
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		clear(v)
		return true
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	off := offSingular(rounding, mat.Trace(products))
	along := make([]float64, s.d)
	for k, square := range eigen.Values(nil) {
		var dot float64
		for e := range v {
			dot += q.At(e, k) * v[e]
		}
		f := factor(square, off, c.Jacobian)
		along[k] = f * dot
		clipped = clipped || f < 1-Margin
	}
	for e := range v {
		var sum float64
		for k := range along {
			sum += q.At(e, k) * along[k]
		}
		v[e] = sum
	}
	return clipped
}

// offSingular is what to add to the singular values of J that the products J·Jᵀ = G tell,
// so that clipping by the sums, F = min(1, L/(S+off)), bounds P·J.
//
// In the basis that was found G is diagonal but for E, ‖E‖ ≤ e: what products lack
// (ghost.Norms), and what finding eigenvectors does, some units of rounding times d·‖G‖.
// Small singular values, and what lies between directions, are lost below √e. So
// ‖P·J‖² = ‖F·(S²+E)·F‖ ≤ L² + e·max F², and F ≤ L/off: with off = 64·√e that is
// L²·(1 + 2⁻¹²), which the Margin pays for.
func offSingular(rounding []float64, trace float64) float64 {
	e := 64 * float64(len(rounding)) * 0x1p-53 * trace
	for _, r := range rounding {
		e += r * r
	}
	return 64 * math.Sqrt(e)
}

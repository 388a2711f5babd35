package matching

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"molehill/privacy/clip"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Margin is by how much, relative to a limit, clipping stays below it: for what is lost
// when what clipping leaves is rounded to float32 and multiplied, a few times 2⁻²⁴. What
// norms lose is bounded where they are found, and the sum is in double precision.
const Margin = 0x1p-10

// NotCovered is what a statement of Gradient has to say of the device.
const NotCovered = "the device's arithmetic: it is taken to round as IEEE 754 says, and to compute what belongs to a record from that record alone; what is rounded after that is bounded, and within what clipping leaves"

// Gradient returns that of a batch at the parameters as they are, clipped. A record
// that gives a number that is not finite anywhere, in what the gradient needs, counts as
// one with output 0 and no gradient. At α = 0 that leaves out Jacobians, which cost most.
func (l *Learner) Gradient(b Batch, c Clipping) (*Gradient, error) {
	n, err := l.model.checkBatch(b)
	if err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	seen, err := l.see(b, c, make([]bool, n))
	if err != nil {
		return nil, err
	}
	defer seen.release()
	g := &Gradient{}
	v, err := seen.pulls(b, c, g)
	if err != nil {
		return nil, err
	}
	g.Values, err = l.add(seen, v, seen.weights(b.Alpha, c, g))
	return g, err
}

// weights returns what each record's loss counts in the sum, [n].
func (s *look) weights(alpha float64, c Clipping, g *Gradient) []float32 {
	w := make([]float32, s.n)
	for i := range s.losses {
		if s.bad[i] {
			continue
		}
		factor := factor(float64(s.lossSquares[i]), float64(s.lossRounding[i]), c.Loss)
		w[i] = float32((1 - alpha) / float64(s.n) * factor)
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
func (s *look) pulls(b Batch, c Clipping, g *Gradient) ([]float32, error) {
	v := make([]float32, s.n*s.d)
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
			y.Data = slices.Clone(pair.Points)
			if err := clip.Rows(y.Data, s.d, c.Output); err != nil {
				return nil, err
			}
		}
		distance, byX, byY, err := sliced.SWGradient(transport.Uniform(x), transport.Uniform(y), 2, b.Directions)
		if err != nil {
			return nil, fmt.Errorf("matching: pair %d: %w", k, err)
		}
		g.Distance += distance.Power / float64(len(b.Pairs))
		s.scatter(v, pair.A, byX, share, c, g)
		if pair.Points == nil {
			s.scatter(v, pair.B, byY, share, c, g)
		}
	}
	return v, nil
}

func (s *look) row(i int) []float32 { return s.outputs[i*s.d : (i+1)*s.d] }

// gather returns the outputs of rows.
func (s *look) gather(rows []int) transport.Points {
	p := transport.Points{Dim: s.d, Data: make([]float32, 0, len(rows)*s.d)}
	for _, i := range rows {
		p.Data = append(p.Data, s.row(i)...)
	}
	return p
}

// scatter writes share times derivatives by outputs of rows, through what clipping
// leaves of Jacobians, to where the rows stand in v.
func (s *look) scatter(v []float32, rows []int, by []float32, share float64, c Clipping, g *Gradient) {
	for k, i := range rows {
		to, from := v[i*s.d:(i+1)*s.d], by[k*s.d:(k+1)*s.d]
		if s.bad[i] {
			continue
		}
		for e, x := range from {
			to[e] = float32(share * float64(x))
		}
		if s.clipJacobian(to, i, c) {
			g.ClippedJacobian += 1 / float64(s.n)
		}
	}
}

// clipJacobian turns v into what J_iᵀ has to be applied to so that the result is that
// of the clipped Jacobian on v: P·v with clipped Jacobian P·J_i, and reports whether
// there was anything to clip.
func (s *look) clipJacobian(v []float32, i int, c Clipping) (clipped bool) {
	rounding := s.rounding[i*s.d : (i+1)*s.d]
	if !c.Exact {
		for e := range v {
			f := factor(float64(s.products[i*s.d+e]), float64(rounding[e]), c.Jacobian/math.Sqrt(float64(s.d)))
			v[e] = float32(f * float64(v[e]))
			clipped = clipped || f < 1-Margin
		}
		return clipped
	}
	// J·Jᵀ = Q·S²·Qᵀ, so P = Q·min(1, L/S)·Qᵀ clips the singular values S. Those of
	// the true J are off by at most the norm of what rounding did to its rows.
	off := clip.Norm(rounding)
	products := mat.NewSymDense(s.d, nil)
	for a := range s.d {
		for e := a; e < s.d; e++ {
			products.SetSym(a, e, float64(s.products[(i*s.d+a)*s.d+e]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		clear(v)
		return true
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	along := make([]float64, s.d)
	for k, square := range eigen.Values(nil) {
		var dot float64
		for e := range v {
			dot += q.At(e, k) * float64(v[e])
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
		v[e] = float32(sum)
	}
	return clipped
}

package semidebiased

import (
	"fmt"
	"math"
	"slices"

	"molehill/models/backend"
	"molehill/privacy/clip"
)

// Sample is what the gradient of a generator is estimated from once: generated and
// real rows, drawn anew.
type Sample struct {
	X    Batch // [2n, dim] generated rows, independent of each other; p takes the first n + ⌊n·p⌋
	Real Batch // [m, dim]
	// Pull turns a gradient by the rows of X, [2n, dim], into one by the generator's
	// parameters: its product with the transposed Jacobian of X.
	Pull func(byX []float32) ([]float64, error)
}

// Moments are those of the estimator G_p = ∇_θ S_p(X(θ), Y) of a generator's
// gradient, over samples (001, Section 5.2 and Figure 4c).
type Moments struct {
	Debiasing float64   // p
	Mean      []float64 // of G_p, by the parameters
	// Bias is ‖mean of G_p − mean of G_1‖: no row of G_1 is compared with itself, so
	// its mean estimates a gradient by laws.
	Bias float64
	// Chance is the size that Bias would have if E G_p were E G_1: the root of the
	// mean square of its error.
	Chance float64
	// Variance is that of a sample's G_p, added up over the parameters.
	Variance float64
	Relative float64 // Variance as a share of that of G_1
}

// BiasAndVariance returns the moments of G_p for each p of ps in place of
// l.Debiasing, over as many samples, 300 in 001. All p get the same samples, so
// that what they share does not blur how they differ.
//
// It is a diagnostic without privacy, for generated rows beside public ones. Every
// sample has as many rows as the first, and at least one real one.
func (l Loss) BiasAndVariance(b *backend.Backend, ps []float64, samples int, draw func(sample int) (Sample, error)) ([]Moments, error) {
	if samples < 2 {
		return nil, fmt.Errorf("semidebiased: moments of %d samples; take at least 2", samples)
	}
	first, err := draw(0)
	if err != nil {
		return nil, err
	}
	n, m, dim := first.X.Len()/2, first.Real.Len(), first.X.Dim
	var programs []*Program
	defer func() {
		for _, p := range programs {
			p.Close()
		}
	}()
	compared, truth := ps, slices.Index(ps, 1)
	if truth < 0 {
		compared, truth = append(slices.Clone(ps), 1), len(ps)
	}
	for _, p := range compared {
		l.Debiasing = p
		program, err := l.Compile(b, n, m, dim)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	g, off := make([]spread, len(programs)), make([]spread, len(programs)) // of G_p, and of G_p − G_1
	parameters := 0
	for i := range samples {
		s := first
		if i > 0 {
			if s, err = draw(i); err != nil {
				return nil, err
			}
		}
		if s.X.Len() != 2*n || s.X.Dim != dim || s.Real.Len() != m {
			return nil, fmt.Errorf("semidebiased: sample %d has %d generated rows of dimension %d and %d real ones; expected %d of dimension %d and %d, as the first",
				i, s.X.Len(), s.X.Dim, s.Real.Len(), 2*n, dim, m)
		}
		gradients := make([][]float64, len(programs))
		for k, program := range programs {
			if gradients[k], err = program.pulled(s); err != nil {
				return nil, fmt.Errorf("sample %d, p = %v: %w", i, compared[k], err)
			}
			if i+k == 0 {
				parameters = len(gradients[k])
			}
			if len(gradients[k]) != parameters {
				return nil, fmt.Errorf("semidebiased: sample %d pulls %d parameters; the first pulled %d", i, len(gradients[k]), parameters)
			}
		}
		for k, gradient := range gradients {
			g[k].add(gradient)
			off[k].add(less(gradient, gradients[truth]))
		}
	}
	var all []Moments
	for k, p := range ps {
		g, off, truth := g[k], off[k], g[truth]
		if !(g.squares < math.Inf(1)) {
			return nil, fmt.Errorf("semidebiased: gradients at p = %v that are not finite; look at what the pull returns", p)
		}
		all = append(all, Moments{
			Debiasing: p, Mean: g.mean, Variance: g.variance(), Relative: g.variance() / truth.variance(),
			Bias: clip.Norm(off.mean), Chance: math.Sqrt(off.variance() / float64(samples)),
		})
	}
	return all, nil
}

// pulled is the gradient of a sample by the generator's parameters. The rows of X
// that p does not take pull nothing.
func (p *Program) pulled(s Sample) ([]float64, error) {
	if len(s.X.Labels) != s.X.Len() {
		return nil, fmt.Errorf("semidebiased: %d labels of %d generated rows; give one each", len(s.X.Labels), s.X.Len())
	}
	total, _ := p.loss.Split(p.n)
	x := s.X
	x.Data, x.Labels = x.Data[:total*p.dim], x.Labels[:total]
	pull, err := p.Gradient(x, s.Real)
	if err != nil {
		return nil, err
	}
	return s.Pull(append(pull.ByX, make([]float32, len(s.X.Data)-len(pull.ByX))...))
}

func less(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// spread is the mean and the variance of vectors, without keeping them (Welford
// 1962).
type spread struct {
	count   int
	mean    []float64
	squares float64 // of the distances to the mean, of all coordinates
}

func (s *spread) add(v []float64) {
	if s.count == 0 {
		s.mean = make([]float64, len(v))
	}
	s.count++
	for i, x := range v {
		off := x - s.mean[i]
		s.mean[i] += off / float64(s.count)
		s.squares += off * (x - s.mean[i])
	}
}

func (s *spread) variance() float64 { return s.squares / float64(s.count-1) }

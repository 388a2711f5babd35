package harmonic

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// covariance is that of the harmonics of one point, of the degrees that a sketch has, as
// public points tell it. Points that crowd stray far along some harmonics and hardly along
// others, and along those of several degrees together.
//
// It is made of some of these points. Few tell of what they stray along for too much and of
// the rest for too little, so a part of each degree's variance is taken for even, as much as
// Ledoit & Wolf (2004) take,
//
//	C = (1 − even)·ΨᵀΨ/k + even·diag(variances),
//
// where the rows of Ψ are Y(x_i) less the mean of all public points, i = 1 … k. The
// harmonics are not kept: what is needed of them are inner products, which the addition
// theorem gives.
type covariance struct {
	prior     *Prior
	basis     *Basis    // of the sketch
	x         []float64 // [k, Dim]
	k         int
	even      float64
	along     []float64 // ⟨mean_l, Y_l(x_i)⟩ − ‖mean_l‖²/2, [k, Degree]
	variances []float64 // of a harmonic in the mean over its degree, [Degree]
	traces    []float64 // of each degree's block of ΨᵀΨ/k, [Degree]
	squares   []float64 // squared Frobenius norms of these blocks, [Degree]
}

// covariancePoints bounds memory and time, which are those of matrices of as many rows.
const covariancePoints = 2000

// covarianceOf is that of the prior's points, evenly taken if they are many, for the
// harmonics of b.
func covarianceOf(prior *Prior, b *Basis) *covariance {
	k := min(prior.Points.Len(), covariancePoints)
	c := &covariance{prior: prior, basis: b, k: k, x: make([]float64, k*b.Dim), along: make([]float64, k*b.Degree)}
	means := prior.Means[:b.Size()]
	b.each(means, func(_ int, mean []float64) { c.variances = append(c.variances, variance(mean, prior.Points.Len())) })
	transport.Parallel(k, b.values, func(v *values, i int) {
		row := c.x[i*b.Dim : (i+1)*b.Dim]
		unit(row, prior.Points.Row(i*prior.Points.Len()/k))
		harmonics := v.at(row)
		b.each(means, func(l int, mean []float64) {
			c.along[i*b.Degree+l-1] = floats.Dot(mean, b.part(harmonics, l)) - floats.Dot(mean, mean)/2
		})
	})

	// Of every row of inner products from the diagonal on: by degree the sum of squares, then
	// what a point has with itself, and the sum of squares about the origin of all degrees
	// together.
	rows := make([][]float64, k)
	transport.Parallel(k, c.products, func(p *products, i int) {
		row := make([]float64, 2*b.Degree+1)
		for j := i; j < k; j++ {
			centred, whole := p.of(i, j)
			times := 2.
			if j == i {
				times = 1
				copy(row[b.Degree:], centred)
			}
			row[2*b.Degree] += times * whole * whole
			for l, v := range centred {
				row[l] += times * v * v
			}
		}
		rows[i] = row
	})
	sums := make([]float64, 2*b.Degree+1)
	for _, row := range rows {
		floats.Add(sums, row)
	}
	c.squares, c.traces = sums[:b.Degree], sums[b.Degree:2*b.Degree]
	for l := range c.traces {
		c.traces[l] = max(0, c.traces[l]) / float64(k)
	}
	floats.Scale(1/float64(k*k), c.squares)

	// The part is that for second moments about the origin beside the identity, whose
	// distances follow from ‖Y(x)‖² = Size at every point.
	second, size := sums[2*b.Degree]/float64(k*k), float64(b.Size())
	astray, apart := max(0, size*size-second)/float64(k), second-size
	c.even = 1
	if k > 1 && astray < apart {
		c.even = astray / apart
	}
	return c
}

// products computes the inner products of two points' harmonics.
type products struct {
	*covariance
	counts, p, centred []float64
}

func (c *covariance) products() *products {
	degree := c.basis.Degree
	p := &products{c, make([]float64, degree), make([]float64, degree+1), make([]float64, degree)}
	for l := range p.counts {
		p.counts[l] = Count(c.basis.Dim, l+1)
	}
	return p
}

// of returns the inner products of rows i and j of Ψ by degree, until the next call, and
// the one of all harmonics of the two points.
func (p *products) of(i, j int) (centred []float64, whole float64) {
	dim, degree := p.basis.Dim, p.basis.Degree
	zonal(p.p, dim, dot(p.x[i*dim:(i+1)*dim], p.x[j*dim:(j+1)*dim]))
	for l, count := range p.counts {
		product := count * p.p[l+1]
		whole += product
		p.centred[l] = product - p.along[i*degree+l] - p.along[j*degree+l]
	}
	return p.centred, whole
}

// straying is how far the means of records, released with noise, are expected to be from
// those of a prior: they have the covariance (1/n + 1/m + κ)·C + diag(noise + apart).
type straying struct {
	*covariance
	ofRecords, ofPrior float64   // 1/n, 1/m + κ
	noise              []float64 // its variance on a harmonic of each degree, [Degree]
	apart              []float64 // t_l², how far the populations are apart on one besides κ, [Degree]
}

func (s *straying) spread() float64 { return s.ofRecords + s.ofPrior }

// rest is the part of a degree's variance that all its harmonics have alike.
func (s *straying) rest(l int) float64 {
	return s.spread()*s.even*s.variances[l-1] + s.noise[l-1] + s.apart[l-1] + leastRest
}

// leastRest keeps what is divided by from being nothing, beside which it is nothing.
const leastRest = 1e-12

// chance returns the mean of the squared distance of the means of degree l, and half of its
// variance: the traces of the covariance and of its square.
func (s *straying) chance(l int) (mean, halfVariance float64) {
	count, rest, a := Count(s.basis.Dim, l), s.rest(l), s.spread()*(1-s.even)
	mean = count*rest + a*s.traces[l-1]
	halfVariance = count*rest*rest + 2*a*rest*s.traces[l-1] + a*a*s.squares[l-1]
	return mean, halfVariance
}

// distances finds from r, [Size], by which the released means are beyond the prior's, how
// far the populations are apart, and adds it to ofPrior and apart. It returns the squared
// distance that is expected of a degree which was not released.
//
// A degree's squared distance is that of r less what chance makes of it, give or take
// beyondChance standard deviations. κ is as large as any degree needs and all allow, and no
// larger than where the prior counts for one point; apart is what a degree needs besides.
// Above, it is that of the last degree, which is as near to the one below as it allows.
func (s *straying) distances(r []float64) (above float64) {
	needed, allowed := make([]float64, s.basis.Degree), 1.
	var common float64
	s.basis.each(r, func(l int, part []float64) {
		mean, halfVariance := s.chance(l)
		beyond, unsure := dot(part, part)-mean, beyondChance*math.Sqrt(2*halfVariance)
		least, most, size := max(0, beyond-unsure), max(0, beyond+unsure), float64(len(part))
		needed[l-1] = least / size
		if each := s.each(l); each > 0 {
			common, allowed = max(common, needed[l-1]/each), min(allowed, most/size/each)
		}
		above = min(max(above, least), most)
	})
	common = min(common, allowed)
	s.ofPrior += common
	for l, of := range needed {
		s.apart[l] = max(0, of-common*s.each(l+1))
	}
	return above
}

// weigh returns what of the distance r, [Size], the straying of points explains, as weights
// y of the points, and what is left:
//
//	(spread·C + diag(noise + apart))⁻¹·r = left/rest,   left = r − Ψᵀ·y,
//	y = (k/(spread·(1 − even))·I + Ψ·diag(1/rest)·Ψᵀ)⁻¹·Ψ·(r/rest)
//
// by Woodbury's identity: k equations, however many harmonics there are.
func (s *straying) weigh(r []float64) (y, left []float64) {
	b := s.basis
	y, left = make([]float64, s.k), slices.Clone(r)
	if s.even == 1 {
		return y, left
	}
	rests, scaled := make([]float64, b.Degree), slices.Clone(r)
	b.each(scaled, func(l int, part []float64) {
		rests[l-1] = s.rest(l)
		floats.Scale(1/rests[l-1], part)
	})
	ofMean := floats.Dot(s.prior.Means[:b.Size()], scaled)
	transport.Parallel(s.k, b.values, func(v *values, i int) {
		y[i] = floats.Dot(v.at(s.x[i*b.Dim:(i+1)*b.Dim]), scaled) - ofMean
	})
	system := mat.NewSymDense(s.k, nil)
	transport.Parallel(s.k, s.products, func(p *products, i int) {
		for j := i; j < s.k; j++ {
			centred, _ := p.of(i, j)
			var sum float64
			for l, v := range centred {
				sum += v / rests[l]
			}
			system.SetSym(i, j, sum)
		}
		system.SetSym(i, i, system.At(i, i)+float64(s.k)/(s.spread()*(1-s.even)))
	})
	var cholesky mat.Cholesky
	solution := mat.NewVecDense(s.k, y)
	if !cholesky.Factorize(system) || cholesky.SolveVecTo(solution, solution) != nil {
		clear(y) // rounding alone could: then nothing is explained
		return y, left
	}
	floats.Sub(left, s.move(y)[:len(left)])
	return y, left
}

// move returns Ψᵀ·y, how far weights y of the points move their means, of all degrees that
// the prior has.
func (s *straying) move(y []float64) []float64 {
	b := s.prior.Basis
	moved := b.sums(s.k, func(i int, x []float64) float64 {
		copy(x, s.x[i*b.Dim:])
		return y[i]
	})
	floats.AddScaled(moved, -floats.Sum(y), s.prior.Means)
	return moved
}

// each is C's variance on a harmonic of degree l, in the mean.
func (c *covariance) each(l int) float64 {
	return (1-c.even)*c.traces[l-1]/Count(c.basis.Dim, l) + c.even*c.variances[l-1]
}

package harmonic

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// What a joint fit has for its atoms. None of it looks at a record.
const (
	atomCount     = 2000
	jitter        = 0.25 // between rounds, in units of the sphere's radius
	widening      = 1.2  // of the first round's normal law, for what it does not know
	concentration = 100  // of the prior: nats of divergence against halves of χ²
)

// schedule has, for each round, the least variances that the means are taken to
// have, in units of that of the highest degree: from much noise to what there is,
// so that each fit starts near its end. The second round's atoms lie where the
// first has put its weight. Low degrees are never taken for surer than so few
// atoms can tell.
var schedule = [][]float64{{30, 6, 1.2, 0.24}, {6, 1.2, 0.24, 0.05}}

// atoms are points of the sphere whose weights are moved until their harmonics
// agree with those of a sketch up to its noise. They minimise
//
//	concentration·KL(weights ‖ equal) + ½·Σ_l ‖ĉ_l − Σ_i weight_i·Y_l(x_i)‖²/v_l
//
// with the released means ĉ_l of degree l and their variance v_l. Whatever the
// weights are, they are a distribution, of which noise knows nothing: most of the
// noise, degree by degree, has none near it. The harmonics themselves are not
// needed, only their inner products, which the addition theorem gives.
type atoms struct {
	sketch  *Sketch
	x       []float64 // [n, dim]
	n       int
	weights []float64 // [n], of sum 1
	logs    []float64 // their logarithms, up to a constant
	kernel  []float64 // Σ_l Count·P_l(⟨x_i, x_j⟩)/v_l, [n, n]
	pull    []float64 // Σ_l ⟨ĉ_l, Y_l(x_i)⟩/v_l, [n]
}

// jointly fits atoms to a sketch of noisy means. The first lie as the normal
// distribution with the first two moments of d does, projected to the sphere.
func (s *Sketch) jointly(noiseStd float64, d *Density, rng *rand.Rand) *atoms {
	variances := make([]float64, len(s.Weights))
	for l, w := range s.Weights {
		variances[l] = noiseStd * noiseStd / (w * w)
	}
	a := newAtoms(s, d.projectedNormal(atomCount, rng))
	for round, noises := range schedule {
		if round > 0 {
			a.resample(rng)
		}
		a.anneal(variances, noises)
	}
	return a
}

// newAtoms has atoms at x, [n, dim], of equal weights.
func newAtoms(s *Sketch, x []float64) *atoms {
	a := &atoms{sketch: s, n: len(x) / s.Basis.Dim, x: x}
	a.weights, a.logs, a.pull, a.kernel = make([]float64, a.n), make([]float64, a.n), make([]float64, a.n), make([]float64, a.n*a.n)
	for i := range a.weights {
		a.weights[i] = 1 / float64(a.n)
	}
	return a
}

// anneal fits the weights to means of given variances, [Degree], through larger ones
// (schedule).
func (a *atoms) anneal(variances, noises []float64) {
	last := variances[len(variances)-1]
	for _, least := range noises {
		v := make([]float64, len(variances))
		for l := range v {
			v[l] = max(variances[l], least*last)
		}
		a.load(v)
		a.fit()
	}
}

// moments2 returns mean and second moments of the density, [Dim] and [Dim, Dim].
func (d *Density) moments2() ([]float64, *mat.SymDense) {
	dim := d.Dim()
	mean, second := make([]float64, dim), mat.NewSymDense(dim, nil)
	theta, c, harmonics := make([]float64, dim), make([]float64, d.basis.Degree), d.basis.values()
	along := func(i, j int) float64 { // E⟨x, θ⟩² from P_2 = (dim·t² − 1)/(dim − 1)
		clear(theta)
		theta[i]++
		if j != i {
			theta[i], theta[j] = math.Sqrt2/2, math.Sqrt2/2
		}
		d.moments(c, harmonics.at(theta))
		return (float64(dim-1)*c[1] + 1) / float64(dim)
	}
	for i := range dim {
		second.SetSym(i, i, along(i, i))
		mean[i] = c[0]
	}
	for i := range dim {
		for j := range i {
			second.SetSym(i, j, along(i, j)-(second.At(i, i)+second.At(j, j))/2)
		}
	}
	return mean, second
}

// projectedNormal draws n points of the sphere, [n, Dim].
func (d *Density) projectedNormal(n int, rng *rand.Rand) []float64 {
	dim := d.Dim()
	mean, covariance := d.moments2()
	for i := range dim {
		for j := range i + 1 {
			covariance.SetSym(i, j, covariance.At(i, j)-mean[i]*mean[j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) { // of no numbers: any law will do
		eigen.Factorize(mat.NewDiagDense(dim, nil), true)
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	values := eigen.Values(nil)
	x := make([]float64, n*dim)
	for i := range n {
		row := x[i*dim : (i+1)*dim]
		copy(row, mean)
		for k, value := range values {
			z := widening * rng.NormFloat64() * math.Sqrt(max(value, 0.02/float64(dim))) // no axis without points
			for c := range row {
				row[c] += z * axes.At(c, k)
			}
		}
		normalise(row)
	}
	return x
}

func normalise(row []float64) {
	norm := math.Sqrt(dot(row, row))
	for c := range row {
		row[c] /= norm
	}
}

// resample draws the atoms again where their weights are, moved a little, and
// makes the weights equal.
func (a *atoms) resample(rng *rand.Rand) {
	dim := a.sketch.Basis.Dim
	x := make([]float64, len(a.x))
	i, below, start := 0, a.weights[0], rng.Float64()
	for k := range a.n {
		for below < (float64(k)+start)/float64(a.n) && i < a.n-1 {
			i++
			below += a.weights[i]
		}
		row := x[k*dim : (k+1)*dim]
		for c := range row {
			row[c] = a.x[i*dim+c] + jitter/math.Sqrt(float64(dim))*rng.NormFloat64()
		}
		normalise(row)
	}
	a.x = x
	clear(a.logs)
}

// load makes kernel and pull for variances v, [Degree].
func (a *atoms) load(v []float64) {
	b := a.sketch.Basis
	var towards []float64 // ĉ_l/v_l
	squares := make([]float64, b.Degree)
	a.sketch.each(func(l int, means []float64) {
		squares[l-1] = Count(b.Dim, l) / v[l-1]
		for _, m := range means {
			towards = append(towards, m/a.sketch.Weights[l-1]/v[l-1])
		}
	})
	type scratch struct {
		*values
		p []float64
	}
	transport.Parallel(a.n, func() scratch {
		return scratch{b.values(), make([]float64, b.Degree+1)}
	}, func(s scratch, i int) {
		at := a.x[i*b.Dim : (i+1)*b.Dim]
		for j := range i + 1 {
			zonal(s.p, b.Dim, dot(at, a.x[j*b.Dim:(j+1)*b.Dim]))
			value := dot(squares, s.p[1:])
			a.kernel[i*a.n+j], a.kernel[j*a.n+i] = value, value
		}
		a.pull[i] = floats.Dot(towards, s.at(at))
	})
}

// times writes kernel·v to dst.
func (a *atoms) times(dst, v []float64) {
	const rowsAtOnce = 250
	k, vector := mat.NewDense(a.n, a.n, a.kernel), mat.NewVecDense(a.n, v)
	transport.InParallel((a.n+rowsAtOnce-1)/rowsAtOnce, func(block int) {
		from, to := block*rowsAtOnce, min((block+1)*rowsAtOnce, a.n)
		mat.NewVecDense(to-from, dst[from:to]).MulVec(k.Slice(from, to, 0, a.n), vector)
	})
}

// value returns what is minimised, at logarithms of weights; it leaves the
// weights in w and kernel·w in kw.
func (a *atoms) value(w, kw, logs []float64) float64 {
	most := math.Inf(-1)
	for _, v := range logs {
		most = max(most, v)
	}
	var sum, divergence float64
	for i, v := range logs {
		w[i] = math.Exp(v - most)
		sum += w[i]
	}
	for i := range w {
		if w[i] /= sum; w[i] > 0 {
			divergence += w[i] * math.Log(w[i]*float64(a.n))
		}
	}
	a.times(kw, w)
	return concentration*divergence + dot(w, kw)/2 - dot(a.pull, w)
}

// fit moves the weights by Newton's method, with conjugate gradients for its
// steps, until one gains less than a hundredth of a nat; twelve steps are enough
// to be of use.
func (a *atoms) fit() {
	vector := func() []float64 { return make([]float64, a.n) }
	kw, trial, trialLogs, trialKW := vector(), vector(), vector(), vector()
	residual, towards, image, solution, root, left := vector(), vector(), vector(), vector(), vector(), vector()
	value := a.value(a.weights, kw, a.logs)
	// curve writes K·(v of the weights' tangent space) to dst: v are changes of
	// logarithms times the roots of weights.
	curve := func(dst, v []float64) {
		sum := dot(root, v)
		for i := range left {
			left[i] = root[i]*v[i] - a.weights[i]*sum
		}
		a.times(dst, left)
		mean := dot(a.weights, dst)
		for i := range dst {
			dst[i] -= mean
		}
	}
	for range 12 {
		gradient := vector()
		for i, w := range a.weights {
			gradient[i] = a.pull[i] - kw[i] - concentration*a.logs[i]
			root[i] = math.Sqrt(w)
		}
		mean := dot(a.weights, gradient)
		for i := range gradient {
			gradient[i] -= mean
			residual[i] = root[i] * gradient[i]
		}
		copy(towards, residual)
		clear(solution)
		energy := dot(residual, residual)
		for tries, first := 0, energy; tries < 60 && energy > 1e-3*first; tries++ {
			curve(image, towards)
			for i := range image {
				image[i] = concentration*towards[i] + root[i]*image[i]
			}
			step := energy / dot(towards, image)
			for i := range solution {
				solution[i] += step * towards[i]
				residual[i] -= step * image[i]
			}
			next := dot(residual, residual)
			for i := range towards {
				towards[i] = residual[i] + next/energy*towards[i]
			}
			energy = next
		}
		curve(image, solution) // also moves atoms whose weights are 0
		gained := 0.
		for size := 1.; size > 1e-5 && gained == 0; size /= 3 {
			for i := range trialLogs {
				trialLogs[i] = a.logs[i] + size*(gradient[i]-image[i])/concentration
			}
			if next := a.value(trial, trialKW, trialLogs); next < value {
				gained, value = value-next, next
				copy(a.logs, trialLogs)
				copy(a.weights, trial)
				copy(kw, trialKW)
			}
		}
		if gained < 0.01*concentration {
			return
		}
	}
}

// means of the atoms' harmonics, by degree, orthonormal.
func (a *atoms) means() (all [][]float64) {
	b := a.sketch.Basis
	sums := b.sums(a.n, func(i int, x []float64) float64 {
		copy(x, a.x[i*b.Dim:])
		return a.weights[i]
	})
	b.each(sums, func(_ int, means []float64) { all = append(all, means) })
	return all
}

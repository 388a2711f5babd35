package harmonic

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// heaped draws n points of the sphere that lie about the first coordinate's end, twice as
// widely along each coordinate as along the next.
func heaped(rng *rand.Rand, n, dim int) transport.Points {
	x := transport.NewPoints(n, dim)
	for i := range n {
		for c := range dim {
			x.Row(i)[c] = float32(math.Exp2(-float64(c)) * rng.NormFloat64())
		}
		x.Row(i)[0] += 1
	}
	x.OnSphere()
	return x
}

// explicit is the matrix that a covariance stands for, from the harmonics themselves.
func explicit(c *covariance) *mat.SymDense {
	size, v := c.basis.Size(), c.basis.values()
	harmonics, second := mat.NewDense(c.k, size, nil), mat.NewSymDense(size, nil)
	for i := range c.k {
		harmonics.SetRow(i, v.at(c.x[i*c.basis.Dim:(i+1)*c.basis.Dim]))
	}
	second.SymOuterK(1/float64(c.k), harmonics.T())
	// Ledoit & Wolf 2004, Section 3.2, about the origin: the mean squared distance of
	// Y(x_i)·Y(x_i)ᵀ from the second moments, and that of these from the identity.
	var astray, apart float64
	for j := range size {
		for m := range size {
			want := 0.
			if j == m {
				want = 1
			}
			apart += math.Pow(second.At(j, m)-want, 2)
			for i := range c.k {
				astray += math.Pow(harmonics.At(i, j)*harmonics.At(i, m)-second.At(j, m), 2) / float64(c.k*c.k)
			}
		}
	}
	even := min(1, astray/apart)
	for i := range c.k {
		floats.Sub(harmonics.RawRowView(i), c.prior.Means[:size])
	}
	covariance := mat.NewSymDense(size, nil)
	covariance.SymOuterK((1-even)/float64(c.k), harmonics.T())
	m := float64(c.prior.Points.Len())
	c.basis.each(c.prior.Means[:size], func(l int, mean []float64) {
		for from, j := Size(c.basis.Dim, l-1), 0; j < len(mean); j++ {
			covariance.SetSym(from+j, from+j, covariance.At(from+j, from+j)+even*(1-floats.Dot(mean, mean)/float64(len(mean)))*m/(m-1))
		}
	})
	return covariance
}

// What is computed by inner products of points is what the harmonics' covariance says: the
// proportion of evenly spread points, traces, squares, and the mixture of releases and
// priors, which is solved here as it is written (DensityBeside).
func TestCovarianceIsThatOfHarmonics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0x636f))
	for _, c := range []struct {
		name            string
		records, public transport.Points
		degree, highest int
		noiseStd        float64
	}{
		{"crowded", heaped(rng, 300, 4), heaped(rng, 200, 4), 3, 3, 0.01},
		{"crowded, without noise", heaped(rng, 300, 4), heaped(rng, 200, 4), 3, 4, 0},
		{"fewer points than harmonics", heaped(rng, 50, 5), heaped(rng, 20, 5), 3, 4, 0.003},
		{"more points than are taken", heaped(rng, 300, 3), heaped(rng, covariancePoints+500, 3), 2, 3, 0.02},
		{"even", sphere(rng, 300, 4), sphere(rng, 200, 4), 2, 3, 0.01},
		{"another population", sphere(rng, 300, 4), heaped(rng, 200, 4), 3, 3, 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, prior := beside(t, c.records, c.public, c.degree, c.highest, c.noiseStd, rng)
			of := covarianceOf(prior, s.Basis)
			full := explicit(of)
			size, n, m := s.Basis.Size(), float64(s.Records), float64(c.public.Len())

			// V and V + C/n + diag(noise), as they are defined, by the distances (straying.distances).
			v, all, r := mat.NewSymDense(size, nil), mat.NewSymDense(size, nil), make([]float64, size)
			need, allow, least := 0., 1., make([]float64, c.degree)
			s.each(func(l int, q []float64) {
				from, w := Size(s.Basis.Dim, l-1), s.Weights[l-1]
				block := full.SliceSym(from, from+len(q))
				near(t, "trace", of.each(l)*float64(len(q)), mat.Trace(block), 1e-9*float64(len(q)))
				var product mat.Dense
				both := mat.NewSymDense(len(q), nil)
				both.ScaleSym(1/n+1/m, block)
				for j := range q {
					both.SetSym(j, j, both.At(j, j)+c.noiseStd*c.noiseStd/(w*w))
					r[from+j] = q[j]/w - prior.Means[from+j]
				}
				product.Mul(both, both)
				energy, unsure := floats.Dot(r[from:from+len(q)], r[from:from+len(q)])-mat.Trace(both), 2*math.Sqrt(2*mat.Trace(&product))
				least[l-1] = max(0, energy-unsure)
				need = max(need, least[l-1]/mat.Trace(block))
				allow = min(allow, max(0, energy+unsure)/mat.Trace(block))
			})
			common := min(need, allow)
			for i := range size {
				for j := i; j < size; j++ {
					v.SetSym(i, j, full.At(i, j)*(1/m+common))
					all.SetSym(i, j, full.At(i, j)*(1/n+1/m+common))
				}
			}
			s.each(func(l int, q []float64) {
				from, w := Size(s.Basis.Dim, l-1), s.Weights[l-1]
				rest := max(0, least[l-1]-common*mat.Trace(full.SliceSym(from, from+len(q)))) / float64(len(q))
				for j := from; j < from+len(q); j++ {
					v.SetSym(j, j, v.At(j, j)+rest)
					all.SetSym(j, j, all.At(j, j)+rest+c.noiseStd*c.noiseStd/(w*w))
				}
			})
			var solved, want mat.VecDense
			if err := solved.SolveVec(all, mat.NewVecDense(size, r)); err != nil {
				t.Fatal(err)
			}
			want.MulVec(v, &solved)
			got, _, _ := s.between(prior, c.noiseStd)
			floats.Sub(got, prior.Means)
			if apart := floats.Distance(got[:size], want.RawVector().Data, 2); !(apart <= 1e-7*floats.Norm(r, 2)) {
				t.Errorf("the mixture is %.3g from what its formula gives, of %.3g between release and prior", apart, floats.Norm(r, 2))
			}
		})
	}
}

// Two samples of one population are as far apart as chance is said to take them, also where
// points crowd and stray together. 400 pairs: the means are known within 4 of their standard
// errors, variances within a third.
func TestHowFarChanceTakesTwoSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0x636f))
	const dim, degree, n, m, noise, times = 4, 3, 300, 200, 0.01, 400
	energies, expected, variances := make([][]float64, degree), make([]float64, degree), make([]float64, degree)
	for range times {
		s, prior := beside(t, heaped(rng, n, dim), heaped(rng, m, dim), degree, degree, noise, rng)
		by := &straying{covariance: covarianceOf(prior, s.Basis), ofRecords: 1. / n, ofPrior: 1. / m, noise: make([]float64, degree), apart: make([]float64, degree)}
		s.each(func(l int, q []float64) {
			w := s.Weights[l-1]
			by.noise[l-1] = noise * noise / (w * w)
			mean, half := by.chance(l)
			expected[l-1] += mean / times
			variances[l-1] += 2 * half / times
			var energy float64
			for j, p := range s.Basis.part(prior.Means, l) {
				energy += math.Pow(q[j]/w-p, 2)
			}
			energies[l-1] = append(energies[l-1], energy)
		})
	}
	for l, all := range energies {
		mean := floats.Sum(all) / times
		var variance float64
		for _, v := range all {
			variance += math.Pow(v-mean, 2) / times
		}
		t.Logf("degree %d: %.4g where %.4g is expected, with a variance of %.3g where %.3g is", l+1, mean, expected[l], variance, variances[l])
		near(t, "mean", mean, expected[l], 4*math.Sqrt(variance/times))
		near(t, "variance", variance/variances[l], 1, 1./3)
	}
}

// Points that are sorted have the covariance of all, of which 2,000 are taken.
func TestCovarianceOfSortedPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0x636f))
	sorted := leaning(rng, 2*covariancePoints, 4, 0)
	copy(sorted.Data, leaning(rng, covariancePoints, 4, 3).Data) // the first half crowds
	_, prior := beside(t, sorted, sorted, 2, 2, 0, rng)
	c := covarianceOf(prior, prior.Basis)
	for l, variance := range c.variances {
		near(t, "variance by points over that by means", c.traces[l]/Count(4, l+1)/variance, 1, 0.05)
	}
}

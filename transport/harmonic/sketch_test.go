package harmonic

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"molehill/transport"
	"molehill/transport/sliced"
)

func sphere(rng *rand.Rand, n, dim int) transport.Points {
	x := transport.NewPoints(n, dim)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	x.OnSphere()
	return x
}

func basis(t *testing.T, dim, degree int) *Basis {
	t.Helper()
	b, err := NewBasis(dim, degree)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func means(t *testing.T, b *Basis, x transport.Points) []float64 {
	t.Helper()
	m, err := b.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The addition theorem, which only orthonormal bases have:
// Σ_m Y_m(x)·Y_m(x′) = Count·P_l(⟨x, x′⟩) in each degree.
func TestAdditionTheorem(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 31))
	for _, c := range []struct{ dim, degree int }{{2, 6}, {3, 5}, {8, 4}, {48, 2}} {
		b := basis(t, c.dim, c.degree)
		for range 5 {
			pair := sphere(rng, 2, c.dim)
			y0, y1 := means(t, b, pair.Subset([]int{0})), means(t, b, pair.Subset([]int{1}))
			u, v := make([]float64, c.dim), make([]float64, c.dim)
			unit(u, pair.Row(0))
			unit(v, pair.Row(1))
			p := make([]float64, c.degree+1)
			zonal(p, c.dim, dot(u, v))
			from := 0
			for l := 1; l <= c.degree; l++ {
				count := Count(c.dim, l)
				to := from + int(count)
				near(t, "Y(x)·Y(x′)", dot(y0[from:to], y1[from:to]), count*p[l], 1e-6*count)
				near(t, "‖Y(x)‖²", dot(y0[from:to], y0[from:to]), count, 1e-6*count)
				from = to
			}
		}
	}
}

// Without noise the density has the moments of the points on every direction.
func TestDensityHasTheMomentsOfThePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 31))
	x := sphere(rng, 40, 5)
	b := basis(t, 5, 4)
	s, err := NewSketch(x, b)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Density(0, nil)
	u := sliced.Uniform(5, 10, rng)
	theta, row, c, p := make([]float64, 5), make([]float64, 5), make([]float64, 4), make([]float64, 5)
	for j := range u.Count {
		unit(theta, u.Row(j))
		d.moments(c, b.values().at(theta))
		for l := 1; l <= 4; l++ {
			var want float64
			for i := range x.Len() {
				unit(row, x.Row(i))
				zonal(p, 5, dot(row, theta))
				want += p[l] / float64(x.Len())
			}
			near(t, "moment", c[l-1], want, 1e-8)
		}
	}
}

// The projections of the uniform distribution: (1+t)/2 is Beta((dim−1)/2,
// (dim−1)/2). And of von Mises's and Fisher's in R³, of the greatest entropy for
// its mean coth κ − 1/κ: its projection on the mean has a density ∝ exp(κ·t).
func TestQuantilesOfKnownDensities(t *testing.T) {
	const knots = 500
	for _, dim := range []int{2, 3, 8, 48} {
		b := basis(t, dim, 2)
		d := (&Sketch{Basis: b, Weights: Weights(dim, 2), Records: 1, Means: make([]float64, b.Size())}).Density(0, nil)
		q, err := d.Quantiles(sliced.Orthonormal(dim, 1, rand.New(rand.NewPCG(4, 31))), knots)
		if err != nil {
			t.Fatal(err)
		}
		half := float64(dim-1) / 2
		beta := distuv.Beta{Alpha: half, Beta: half}
		for k := range knots {
			level := (float64(k) + 0.5) / knots
			near(t, "quantile", float64(q[dim-1].At(level)), 2*beta.Quantile(level)-1, 2e-3)
		}
	}
	b := basis(t, 3, 1)
	y := means(t, b, transport.Points{Dim: 3, Data: []float32{0.6, 0.8, 0}})
	s := &Sketch{Basis: b, Weights: Weights(3, 1), Records: 1, Means: y}
	const kappa = 4.
	floats.Scale((1/math.Tanh(kappa)-1/kappa)*s.Weights[0], s.Means)
	q, err := s.Density(0, nil).Quantiles(sliced.Directions{Dim: 3, Count: 1, Data: []float32{0.6, 0.8, 0}}, knots)
	if err != nil {
		t.Fatal(err)
	}
	for k := range knots {
		level := (float64(k) + 0.5) / knots
		v := float64(q[0].At(level))
		near(t, "level", (math.Exp(kappa*v)-math.Exp(-kappa))/(math.Exp(kappa)-math.Exp(-kappa)), level, 2e-4)
	}
}

// The fit has the moments that it was given, and where these are no distribution's
// (noise can do that) comes as near to them as their error allows.
func TestTiltHasTheMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 31))
	fit := newTilt(newAngles(basis(t, 4, 3), fitIntervals, 0.5), newAngles(basis(t, 4, 3), readIntervals, 0))
	for range 20 {
		x := sphere(rng, 6, 4) // of a few points: far from uniform
		var c [3]float64
		p := make([]float64, 4)
		for i := range x.Len() {
			zonal(p, 4, float64(x.Row(i)[0]))
			for l := range c {
				c[l] += p[l+1] / 6
			}
		}
		fit.fit(c[:], []float64{1e-8, 1e-8, 1e-8})
		for l := range c {
			near(t, "moment", fit.mean[l], c[l], 1e-4)
		}
	}
	fit.fit([]float64{1.5, -2, 3}, []float64{0.01, 0.01, 0.01})
	for l, want := range []float64{1.5, -2, 3} {
		near(t, "the condition of the least value", fit.mean[l]+0.01*fit.lambda[l], want, 1e-6)
	}
	if values := fit.invert(100); !(values[0] >= -1 && values[99] <= 1) || !slices.IsSorted(values) {
		t.Errorf("%v is no ascending row in [−1, 1]", values)
	}
}

// Noise of its own standard deviation is shrunk away, and signal is not.
func TestDensityShrinksNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 31))
	b := basis(t, 8, 3)
	s := &Sketch{Basis: b, Weights: Weights(8, 3), Records: 1, Means: make([]float64, b.Size())}
	const std = 0.03
	for i := range s.Means {
		s.Means[i] = std * rng.NormFloat64()
	}
	for l, energy := range energies(s.Density(std, rng)) {
		noise := std * std / (s.Weights[l] * s.Weights[l]) * Count(8, l+1)
		// χ² of Count degrees is 1 ± √(2/Count) of its mean, and what exceeds the mean
		// by 5 of these spreads has a false alarm below 10⁻⁴ in all.
		if spread := math.Sqrt(2 / Count(8, l+1)); !(energy <= 5*spread*noise) {
			t.Errorf("%v of pure noise of degree %d was kept", energy/noise, l+1)
		}
	}
	for l, kept := range s.Density(std/100, nil).Kept() {
		if !(kept >= 0.99) {
			t.Errorf("of degree %d, with noise a hundredth of the signal, %v was kept", l+1, kept)
		}
	}
}

// energies returns the ‖E Y‖² of each degree of a density.
func energies(d *Density) []float64 {
	return distances(d, &Sketch{Basis: d.basis, Weights: Weights(d.basis.Dim, d.basis.Degree), Means: make([]float64, d.basis.Size())})
}

// meansOf returns the means of the orthonormal harmonics of a degree.
func (d *Density) meansOf(l int) []float64 {
	of := d.means[l-1]
	return floats.ScaleTo(make([]float64, len(of)), float64(len(of)), of)
}

// distances returns how far the harmonics of a density are from those of a sketch
// without noise, squared, degree by degree.
func distances(d *Density, s *Sketch) (all []float64) {
	s.each(func(l int, means []float64) {
		var sum float64
		for j, mean := range d.meansOf(l) {
			beyond := mean - means[j]/s.Weights[l-1]
			sum += beyond * beyond
		}
		all = append(all, sum)
	})
	return all
}

// An attack on the sensitivity: random pairs of neighbours, and pairs as far apart
// as the kernel's minimum says. None moves the sketch further than the bound, and
// the worst comes within a thousandth of it.
func TestSensitivityIsNeverExceededAndReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 31))
	for _, c := range []struct{ dim, degree, n int }{{2, 5, 1}, {3, 4, 7}, {8, 3, 20}, {8, 4, 1}, {48, 2, 3}} {
		bound, err := Sensitivity(c.dim, c.degree, c.n)
		if err != nil {
			t.Fatal(err)
		}
		b := basis(t, c.dim, c.degree)
		sketch := func(x transport.Points) []float64 {
			s, err := NewSketch(x, b)
			if err != nil {
				t.Fatal(err)
			}
			return s.Means
		}
		x := sphere(rng, c.n, c.dim)
		var worst float64
		try := func(from, to []float32) {
			copy(x.Row(0), from)
			before := sketch(x)
			copy(x.Row(0), to)
			worst = max(worst, floats.Distance(before, sketch(x), 2)/bound.Value)
		}
		pairs := 300
		if c.dim == 48 {
			pairs = 20
		}
		for range pairs {
			pair := sphere(rng, 2, c.dim)
			try(pair.Row(0), pair.Row(1))
		}
		for i := range 200 { // every angle
			pair := transport.NewPoints(2, c.dim)
			sin, cos := math.Sincos(math.Pi * float64(i) / 199)
			pair.Row(0)[0], pair.Row(1)[0], pair.Row(1)[1] = 1, float32(cos), float32(sin)
			try(pair.Row(0), pair.Row(1))
		}
		if !(worst <= 1 && worst > 0.998) {
			t.Errorf("%+v: the worst neighbours move the sketch by %v of its sensitivity", c, worst)
		}
	}
}

// At a pole the polynomials are largest, and what they multiply is 0.
func TestHighestDegreeStaysInRange(t *testing.T) {
	for _, dim := range []int{2, 3} {
		b := basis(t, dim, MaxDegree)
		pole := make([]float32, dim)
		pole[dim-1] = 1
		b.each(means(t, b, transport.Points{Dim: dim, Data: pole}), func(l int, y []float64) {
			if squares := floats.Dot(y, y); !(math.Abs(squares/Count(dim, l)-1) < 1e-8) {
				t.Fatalf("in %d dimensions the squares of degree %d add up to %v of what they should", dim, l, squares/Count(dim, l))
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 31))
	b := basis(t, 3, 2)
	density := (&Sketch{Basis: b, Weights: Weights(3, 2), Records: 1, Means: make([]float64, b.Size())}).Density(0, nil)
	for says, err := range map[string]error{
		"norm 2":          second(b.Means(transport.Points{Dim: 3, Data: []float32{2, 0, 0}})),
		"point 0 has NaN": second(b.Means(transport.Points{Dim: 3, Data: []float32{float32(math.NaN()), 0, 0}})),
		"dimension 2 for": second(NewSketch(sphere(rng, 3, 2), b)),
		"no points":       second(b.Means(transport.Points{Dim: 3})),
		"degree 3 in 48":  second(NewBasis(48, 3)),
		"degree 0":        second(NewBasis(3, 0)),
		"at most 1000":    second(NewBasis(3, MaxDegree+1)),
		"degree 1001":     second(Sensitivity(2, MaxDegree+1, 9)),
		"in 1 dimensions": second(NewBasis(1, 2)),
		"of 0 records":    second(Sensitivity(3, 2, 0)),
		"directions of":   second(density.Quantiles(sliced.Uniform(2, 1, rng), 9)),
		"of 1 knots":      second(density.Quantiles(sliced.Uniform(3, 1, rng), 1)),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want an error that says %q", err, says)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// BenchmarkRelease is what a sketch of MNIST's latents takes before it is noisy:
// a basis, and the means of 30,000 points.
func BenchmarkRelease(b *testing.B) {
	x := sphere(rand.New(rand.NewPCG(8, 31)), 30_000, 8)
	var made *Basis
	b.Run("basis", func(b *testing.B) {
		for b.Loop() {
			made, _ = NewBasis(8, 6)
		}
	})
	b.Run("means", func(b *testing.B) {
		for b.Loop() {
			if _, err := made.Means(x); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkQuantiles is what a step of a flow asks for.
func BenchmarkQuantiles(b *testing.B) {
	made, err := NewBasis(8, 6)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 31))
	s, err := NewSketch(clusters(rng, 1000, 8, 10), made)
	if err != nil {
		b.Fatal(err)
	}
	d, u := s.Density(0, nil), sliced.Orthonormal(8, 18, rng)
	for b.Loop() {
		if _, err := d.Quantiles(u, 256); err != nil {
			b.Fatal(err)
		}
	}
}

// What a sketch has of low degrees is the beginning of what one of more degrees has.
func TestLowerDegreesComeFirst(t *testing.T) {
	x := sphere(rand.New(rand.NewPCG(10, 31)), 20, 6)
	b := basis(t, 6, 4)
	all, few := means(t, b, x), means(t, b.UpTo(2), x)
	if b.UpTo(2).Size() != len(few) || !slices.Equal(all[:len(few)], few) {
		t.Errorf("%v are not where %v begin", few, all[:len(few)])
	}
}

// Particles' density is the plain one where there is no noise, or so much that a law is
// fitted; in between its quantiles are nearer to those of the points themselves. Over
// nine releases the distance has fallen by three of its standard errors or more.
func TestParticlesGetACalmerDensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 31))
	const dim, degree, knots = 6, 5, 100
	b, u := basis(t, dim, degree), sliced.Orthonormal(dim, 12, rng)
	x := clusters(rng, 3000, dim, 5)
	quantiles := func(d *Density) (values []float64) {
		all, err := d.Quantiles(u, knots)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			for _, v := range q.Values {
				values = append(values, float64(v))
			}
		}
		return values
	}
	truth, err := NewSketch(x, b)
	if err != nil {
		t.Fatal(err)
	}
	want := quantiles(truth.Density(0, nil))
	if got := quantiles(truth.DensityForParticles(0, nil)); !slices.Equal(got, want) {
		t.Error("without noise it is another")
	}
	noisy := func(std float64) *Sketch {
		s := *truth
		s.Means = slices.Clone(s.Means)
		for i := range s.Means {
			s.Means[i] += std * rng.NormFloat64()
		}
		return &s
	}
	much := noisy(0.02)
	if !slices.Equal(quantiles(much.Density(0.02, rand.New(rand.NewPCG(1, 1)))), quantiles(much.DensityForParticles(0.02, rand.New(rand.NewPCG(1, 1))))) {
		t.Error("with a law it is another")
	}
	const std = 0.0007
	gains := make([]float64, 9)
	for i := range gains {
		s := noisy(std)
		if d := s.Density(std, nil); !(d.noise() <= plainNoise && d.noise() >= plainNoise/2) {
			t.Fatalf("noise of %v", d.noise())
		}
		plain, calm := floats.Distance(quantiles(s.Density(std, nil)), want, 2), floats.Distance(quantiles(s.DensityForParticles(std, nil)), want, 2)
		gains[i] = (plain - calm) / plain
	}
	mean, spread := stat.MeanStdDev(gains, nil)
	t.Logf("nearer by %.3f ± %.3f", mean, spread)
	if !(mean >= 3*spread/math.Sqrt(float64(len(gains)))) {
		t.Errorf("nearer by %v ± %v of the distance", mean, spread)
	}
}

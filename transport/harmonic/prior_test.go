package harmonic

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
	"molehill/transport/sliced"
)

// leaning draws n points of the sphere whose first coordinate leans by so much.
func leaning(rng *rand.Rand, n, dim int, by float32) transport.Points {
	x := transport.NewPoints(n, dim)
	for i := range n {
		for c := range dim {
			x.Row(i)[c] = float32(rng.NormFloat64())
		}
		x.Row(i)[0] += by
	}
	x.OnSphere()
	return x
}

// beside is a sketch of records with noise, and a prior of public points.
func beside(t *testing.T, records, public transport.Points, degree, highest int, noiseStd float64, rng *rand.Rand) (*Sketch, *Prior) {
	t.Helper()
	b := basis(t, records.Dim, highest)
	s, err := NewSketch(records, b.UpTo(degree))
	if err != nil {
		t.Fatal(err)
	}
	for j := range s.Means {
		s.Means[j] += noiseStd * rng.NormFloat64()
	}
	prior, err := NewPrior(public, b)
	if err != nil {
		t.Fatal(err)
	}
	return s, prior
}

func besidePrior(t *testing.T, s *Sketch, prior *Prior, noiseStd float64) *Density {
	t.Helper()
	d, err := s.DensityBeside(prior, noiseStd, rand.New(rand.NewPCG(9, 0x7072)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// With noise that drowns the release the density is the prior's; without noise, and with
// so many records that they do not stray, it is the records', however little they are
// apart from the prior; of two samples of one population, as large, it is halfway.
func TestBesideAPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0x7072))
	const dim, degree = 5, 3
	public := leaning(rng, 4000, dim, 0.5)
	moment := func(d *Density, theta []float64) []float64 {
		c := make([]float64, d.basis.Degree)
		d.moments(c, d.basis.values().at(theta))
		return c
	}
	theta := make([]float64, dim)
	theta[0] = 1

	// Of noise alone, of N numbers of variance v, chance leaves v·E(√2·(z−1)₊)² = 0.15·v,
	// and more the fewer there are (N = 5, 14, 30; measured 0.2 to 0.35).
	const noise, times = 100, 200
	left := make([]float64, degree)
	for range times {
		s, prior := beside(t, public, public, degree, degree, noise, rng)
		prior.Basis.each(prior.Means, func(l int, p []float64) {
			mean, _, _ := s.between(l, p, 1e-9, 1e-9, noise)
			floats.Sub(mean, p)
			left[l-1] += dot(mean, mean) * s.Weights[l-1] * s.Weights[l-1] / (noise * noise) / times
		})
	}
	if slices.Max(left) > 0.6 {
		t.Errorf("of noise alone %.2f of that on one number is left, by degree; want 0.6 at most", left)
	}

	s, prior := beside(t, leaning(rng, 4000, dim, -2), public, degree, degree, 0, rng)
	d := besidePrior(t, s, prior, 0)
	if kept := d.Kept(); slices.Min(kept) < 0.9 { // a prior whose points get weights has as few as count
		t.Errorf("of a release of another population, without noise, only %v is kept", kept)
	}
	for l, want := range moment(s.Density(0, nil), theta) {
		near(t, "moment", moment(d, theta)[l], want, 0.01)
	}

	var share float64
	for range times {
		s, prior := beside(t, leaning(rng, 1000, dim, 0.5), leaning(rng, 1000, dim, 0.5), 4, 4, 0, rng)
		prior.Basis.each(prior.Means, func(l int, p []float64) {
			if l == 4 { // of 55 harmonics
				_, counts, _ := s.between(l, p, variance(p)/1000, variance(p)/1000, 0)
				share += counts / times
			}
		})
	}
	// t² is 0 or above, so a little more than half: E max(χ²₅₅/55 − √(2/55), 1) = 1.016, of
	// which s = 1 − 1/(2·1.016) or less.
	if share < 0.49 || share > 0.53 {
		t.Errorf("of two samples of one population the second counts %v in the mean, want a little more than ½", share)
	}
}

// Two samples of one population differ by chance about as often as it says, and others
// differ. Of 1,000 at a share of 0.01 more than 20 do once in 500; without noise 18 did.
func TestHowOftenPopulationsDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0x7072))
	const dim, degree, n, times = 5, 3, 300, 1000
	for _, c := range []struct {
		lean, noise float64
		least, most int
	}{{0.5, 0.0003, 1, 40}, {0.5, 0.3, 1, 20}, {1, 0.003, 900, times}, {1, 0.3, 0, 60}} {
		differ := 0
		for range times {
			s, prior := beside(t, leaning(rng, n, dim, 0.5), leaning(rng, n, dim, float32(c.lean)), degree, degree, c.noise, rng)
			if s.differs(prior, c.noise) {
				differ++
			}
		}
		t.Logf("lean %v, noise %v: %d of %d differ", c.lean, c.noise, differ, times)
		if differ < c.least || differ > c.most {
			t.Errorf("want %d to %d", c.least, c.most)
		}
	}
}

// The estimate errs less than either of what it is made of where the populations are
// alike or a little apart, and where the prior is of no use it costs next to nothing.
// Squared errors, as they move the sliced W₂ (Weights), in the mean of 20 releases each.
func TestAPriorHelpsAndNeverCostsMuch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0x7072))
	const dim, degree, n, times = 6, 4, 400, 20
	b := basis(t, dim, degree)
	truth := means(t, b, leaning(rng, 400_000, dim, 1))
	weigh := func(l int, q, want []float64) float64 {
		return math.Pow(floats.Distance(q, want, 2), 2) / (eigenvalue(dim, l) * float64(len(q)))
	}
	for _, c := range []struct {
		lean, noise float64
		atMost      float64 // of the lesser of the two errors
	}{{1, 0.002, 0.6}, {1, 0.02, 1.1}, {1.1, 0.01, 0.9}, {1.5, 0.002, 1}, {1.5, 0.01, 0.8}, {-1, 0.002, 1.02}, {-1, 0.01, 1.02}} {
		var released, known, both float64
		for range times {
			s, prior := beside(t, leaning(rng, n, dim, 1), leaning(rng, n, dim, float32(c.lean)), degree, degree, c.noise, rng)
			from := 0
			s.each(func(l int, q []float64) {
				p, want := prior.Means[from:from+len(q)], truth[from:from+len(q)]
				from += len(q)
				own := slices.Clone(q)
				floats.Scale(1/s.Weights[l-1], own)
				released += weigh(l, own, want) / times
				known += weigh(l, p, want) / times
			})
			d := besidePrior(t, s, prior, c.noise)
			b.each(truth, func(l int, want []float64) { both += weigh(l, d.meansOf(l), want) / times })
		}
		t.Logf("lean %v, noise %v: released %.3g, prior %.3g, both %.3g", c.lean, c.noise, released, known, both)
		if least := min(released, known); both > c.atMost*least {
			t.Errorf("want at most %v of the lesser with both", c.atMost)
		}
	}
}

// Degrees that are not released are the prior's, and quantiles know them.
func TestAPriorGoesOnToHigherDegrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0x7072))
	const dim = 4
	poles := transport.NewPoints(2000, dim) // at both ends of an axis, and a belt
	for i := range poles.Len() {
		poles.Row(i)[i%3/2] = float32(1 - 2*(i%2))
		for c := range dim {
			poles.Row(i)[c] += float32(0.05 * rng.NormFloat64())
		}
	}
	poles.OnSphere()
	s, prior := beside(t, poles, poles, 1, 6, 0, rng)
	d := besidePrior(t, s, prior, 0)
	if got := d.Kept(); len(got) != 6 || got[5] != 0 {
		t.Errorf("shares of the degrees are %v, want six, those above the first 0", got)
	}
	u := sliced.Orthonormal(dim, 1, rng)
	q, err := d.Quantiles(u, 64)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.Density(0, nil).Quantiles(u, 64)
	if err != nil {
		t.Fatal(err)
	}
	distance := func(quantiles []transport.Quantile) (sum float64) {
		for j, q := range quantiles {
			projected := make([]float32, poles.Len())
			for i := range projected {
				sliced.ProjectOn(projected[i:i+1], transport.Points{Dim: dim, Data: poles.Row(i)}, u.Row(j))
			}
			slices.Sort(projected)
			for k := range 64 {
				gap := float64(q.At((float64(k)+0.5)/64) - projected[(2*k+1)*poles.Len()/128])
				sum += gap * gap / 64 / float64(u.Count)
			}
		}
		return math.Sqrt(sum)
	}
	if near, far := distance(q), distance(plain); near > 0.5*far {
		t.Errorf("quantiles with the prior's degrees are %v from the points, without %v; want less than half", near, far)
	}
}

func TestAPriorOfFewerDegreesIsRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0x7072))
	x := sphere(rng, 10, 3)
	s, err := NewSketch(x, basis(t, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	prior, err := NewPrior(x, basis(t, 3, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.DensityBeside(prior, 0.1, rng); err == nil || !strings.Contains(err.Error(), "as high") {
		t.Error(err)
	}
}

// 8 dimensions have 112, 294, 672, 1386 and 2640 harmonics of degrees 3 to 7, and more than
// a basis takes of 8; 48 have 1175 of degree 2 and 19,552 of 3.
func TestAPriorsDegree(t *testing.T) {
	for _, c := range []struct{ dim, m, want int }{{8, 1, 1}, {8, 28, 3}, {8, 200, 5}, {8, 659, 6}, {8, 660, 7}, {8, 30_000, 7}, {48, 293, 1}, {48, 294, 2}, {48, 81_385, 2}} {
		if got := PriorDegree(c.dim, c.m); got != c.want {
			t.Errorf("%d public points of %d dimensions: degree %d, want %d", c.m, c.dim, got, c.want)
		}
	}
}

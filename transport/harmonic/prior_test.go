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
	d, err := s.DensityBeside(prior, noiseStd)
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

	// Of noise alone, of N numbers of variance v, chance leaves v·E(√2·(z−2)₊)² = 0.012·v,
	// and more the fewer there are (N = 5, 14, 30; measured 0.13, 0.07 and 0.06).
	const noise, times = 100, 200
	few := transport.Points{Dim: dim, Data: public.Data[:200*dim]}
	left := make([]float64, degree)
	for range times {
		s, prior := beside(t, few, few, degree, degree, noise, rng)
		means, _, _ := s.between(prior, noise)
		floats.Sub(means, prior.Means)
		prior.Basis.each(means, func(l int, moved []float64) {
			left[l-1] += dot(moved, moved) * s.Weights[l-1] * s.Weights[l-1] / (noise * noise) / times
		})
	}
	if !(slices.Max(left) <= 0.25) {
		t.Errorf("of noise alone %.2f of that on one number is left, by degree; want 0.25 at most", left)
	}

	s, prior := beside(t, leaning(rng, 4000, dim, -2), public, degree, degree, 0, rng)
	d := besidePrior(t, s, prior, 0)
	if kept := d.Kept(); !(slices.Min(kept) >= 0.9) {
		t.Errorf("of a release of another population, without noise, only %v is kept", kept)
	}
	for l, want := range moment(s.Density(0, nil), theta) {
		near(t, "moment", moment(d, theta)[l], want, 0.01)
	}

	var share float64
	for range times {
		s, prior := beside(t, leaning(rng, 400, dim, 0.5), leaning(rng, 400, dim, 0.5), 4, 4, 0, rng)
		_, shares, _ := s.between(prior, 0)
		share += shares[3] / times // of 55 harmonics
	}
	// t² is 0 or above, so a little more than half: E max(χ²₅₅/55 − 2·√(2/55), 1) = 1.002, of
	// which s = 1 − 1/(2·1.002) or less.
	if !(share >= 0.49 && share <= 0.53) {
		t.Errorf("of two samples of one population the second counts %v in the mean, want a little more than ½", share)
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
	}{{1, 0.002, 0.6}, {1, 0.02, 1}, {1.1, 0.01, 0.9}, {1.5, 0.002, 0.95}, {1.5, 0.01, 0.6}, {-1, 0.002, 0.95}, {-1, 0.01, 0.6}} {
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
		if least := min(released, known); !(both <= c.atMost*least) {
			t.Errorf("want at most %v of the lesser with both", c.atMost)
		}
	}
}

// Where points crowd, how they stray says more than one share for each degree can: the
// squared error is less than with the best of these for all releases, and that of a degree
// which is not released less than the prior's. Means of 100 releases of one population.
func TestHowPointsStrayHelps(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0x7072))
	const dim, degree, highest, n, noise, times = 5, 2, 3, 400, 0.01, 100
	truth := means(t, basis(t, dim, highest), heaped(rng, 400_000, dim))
	squared := func(a, b []float64) float64 { return math.Pow(floats.Distance(a, b, 2), 2) / times }
	var together, above, priorAbove float64
	var shared [degree][101]float64 // with shares of 0 to 1
	for range times {
		s, prior := beside(t, heaped(rng, n, dim), heaped(rng, n, dim), degree, highest, noise, rng)
		got, _, _ := s.between(prior, noise)
		s.each(func(l int, q []float64) {
			want, mixed := s.Basis.part(truth, l), make([]float64, len(q))
			together += squared(s.Basis.part(got, l), want)
			for i := range shared[l-1] {
				share := float64(i) / 100
				floats.ScaleTo(mixed, 1-share, s.Basis.part(prior.Means, l))
				floats.AddScaled(mixed, share/s.Weights[l-1], q)
				shared[l-1][i] += squared(mixed, want)
			}
		})
		want := prior.Basis.part(truth, highest)
		above += squared(prior.Basis.part(got, highest), want)
		priorAbove += squared(prior.Basis.part(prior.Means, highest), want)
	}
	var alone float64
	for _, of := range shared {
		alone += slices.Min(of[:])
	}
	t.Logf("released degrees %.3g, with the best shares %.3g; above %.3g, the prior's %.3g", together, alone, above, priorAbove)
	if !(together <= 0.98*alone && above <= 0.9*priorAbove) {
		t.Error("want at most 0.98 of one and 0.9 of the other")
	}
}

// A prior of another population does not rule what is above the released degrees: the
// quantiles beside it are about as near as without it, or nearer, where the prior alone is
// far. If the populations were taken for one there, they would be up to five times as far.
// Means of four releases with little noise.
func TestAnotherPopulationAboveTheRelease(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0x7072))
	const dim, highest, n, noise = 6, 6, 1000, 0.002
	u := sliced.Orthonormal(dim, 8, rng)
	quantiles := func(d *Density) (values []float64) {
		all, err := d.Quantiles(u, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			for k := range 100 {
				values = append(values, float64(q.At((float64(k)+0.5)/100)))
			}
		}
		return values
	}
	many, _ := beside(t, leaning(rng, 200_000, dim, 2), leaning(rng, 10, dim, 2), highest, highest, 0, rng)
	truth := quantiles(many.Density(0, nil))
	distance := func(d *Density) float64 {
		return floats.Distance(quantiles(d), truth, 2) / math.Sqrt(float64(len(truth)))
	}
	for _, c := range []struct {
		lean   float32
		degree int
		atMost float64 // of the distance without a prior
	}{{2, 2, 1.1}, {1, 1, 0.6}, {1, 2, 2.2}, {1, 3, 1.6}, {0, 1, 1.2}, {-4, 1, 1.3}} {
		var alone, both float64
		for range 4 {
			s, prior := beside(t, leaning(rng, n, dim, 2), leaning(rng, n, dim, c.lean), c.degree, highest, noise, rng)
			alone += distance(s.Density(noise, rng)) / 4
			both += distance(besidePrior(t, s, prior, noise)) / 4
		}
		t.Logf("lean %v, degree %d: without a prior %.4f, beside it %.4f", c.lean, c.degree, alone, both)
		if !(both <= c.atMost*alone) {
			t.Errorf("want at most %v of the distance without", c.atMost)
		}
	}
}

// What is said to be left of variance is about what the means are off by, of degrees that
// were released and above, and shares fall with the noise. Of 200 releases; no less than
// half and no more than three times, as points that crowd are few in effect.
func TestHowSureBesideAPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0x7072))
	const dim, degree, highest, n, times = 5, 2, 3, 400, 200
	truth := means(t, basis(t, dim, highest), heaped(rng, 400_000, dim))
	for _, noise := range []float64{0, 0.01, 0.1} {
		off, said, kept := make([]float64, highest), make([]float64, highest), make([]float64, highest)
		for range times {
			s, prior := beside(t, heaped(rng, n, dim), heaped(rng, n/2, dim), degree, highest, noise, rng)
			d := besidePrior(t, s, prior, noise)
			prior.Basis.each(truth, func(l int, want []float64) {
				off[l-1] += math.Pow(floats.Distance(d.meansOf(l), want, 2), 2) / times
				said[l-1] += (d.errors[l-1] - leastVariance) * math.Pow(float64(len(want)), 2) / times
				kept[l-1] += d.kept[l-1] / times
			})
		}
		t.Logf("noise %v: off by %.3g, said %.3g, kept %.3g", noise, off, said, kept)
		for l := range off {
			if ratio := said[l] / off[l]; !(ratio >= 0.5 && ratio <= 3) {
				t.Errorf("degree %d with noise %v: %.2f of the squared error is said", l+1, noise, ratio)
			}
		}
		if most := map[float64]float64{0: 0.8, 0.01: 0.75, 0.1: 0.3}[noise]; !(kept[1] <= most) || kept[2] != 0 || noise == 0 && !(kept[1] >= 0.6) {
			t.Errorf("noise %v: shares of %.2f", noise, kept)
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
	if near, far := distance(q), distance(plain); !(near <= 0.5*far) {
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
	if _, err := s.DensityBeside(prior, 0.1); err == nil || !strings.Contains(err.Error(), "as high") {
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

package harmonic

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

// clusters are points around a few places of the sphere, as latents of classes are.
func clusters(rng *rand.Rand, n, dim, places int) transport.Points {
	x, at := sphere(rng, n, dim), sphere(rng, places, dim)
	for i := range n {
		for c, v := range at.Row(i % places) {
			x.Row(i)[c] = v + 0.4*x.Row(i)[c]
		}
	}
	x.OnSphere()
	return x
}

// Where noise has most of the high degrees, a distribution that is fitted to all
// degrees at once is much nearer to the points than degrees shrunk one by one,
// and not further in the low ones, which were well known before.
func TestJointFitFindsWhatNoiseHides(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 32))
	b := basis(t, 6, 5)
	truth, err := NewSketch(clusters(rng, 3000, 6, 5), b)
	if err != nil {
		t.Fatal(err)
	}
	const std = 0.02
	noisy := *truth
	noisy.Means = append([]float64(nil), truth.Means...)
	for i := range noisy.Means {
		noisy.Means[i] += std * rng.NormFloat64()
	}
	alone := &Density{basis: b}
	noisy.each(func(l int, means []float64) {
		kept := exceeding(dot(means, means), std*std*float64(len(means)))
		alone.add(means, kept/noisy.Weights[l-1], kept, 0)
	})
	before, after := distances(alone, truth), distances(noisy.Density(std, rng), truth)
	for l := range before {
		t.Logf("degree %d: %.3f shrunk alone, %.3f fitted", l+1, before[l], after[l])
		if limit := []float64{1.5, 1.2, 0.8, 0.5, 0.5}[l]; !(after[l] <= limit*before[l]) {
			t.Errorf("degree %d: the fit is %v of the distance of shrinking alone, want at most %v", l+1, after[l]/before[l], limit)
		}
	}
}

// Kernel and pull are those of the harmonics themselves, and at the end no weight
// would rather be another: the condition of the minimum.
func TestAtomsMinimise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 32))
	b := basis(t, 4, 3)
	s, err := NewSketch(clusters(rng, 200, 4, 2), b)
	if err != nil {
		t.Fatal(err)
	}
	const n = 60
	x := sphere(rng, n, 4)
	a := &atoms{sketch: s, n: n, x: make([]float64, n*4), weights: make([]float64, n), logs: make([]float64, n), kernel: make([]float64, n*n), pull: make([]float64, n)}
	for i := range n {
		unit(a.x[i*4:(i+1)*4], x.Row(i))
		a.logs[i] = rng.NormFloat64()
	}
	variances := []float64{1e-3, 2e-3, 5e-3}
	a.load(variances)
	value := a.value(a.weights, make([]float64, n), a.logs)
	want := 0.
	for _, w := range a.weights {
		want += concentration * w * math.Log(w*n)
	}
	fitted := a.means()
	s.each(func(l int, means []float64) {
		for j, m := range means {
			m /= s.Weights[l-1]
			want += ((m-fitted[l-1][j])*(m-fitted[l-1][j]) - m*m) / 2 / variances[l-1]
		}
	})
	near(t, "what is minimised", value, want, 1e-6*math.Abs(want))

	a.fit()
	kw := make([]float64, n)
	least := a.value(a.weights, kw, a.logs)
	var mean, spread float64
	for i, w := range a.weights {
		mean += w * (concentration*a.logs[i] + kw[i] - a.pull[i])
	}
	for i, w := range a.weights {
		far := concentration*a.logs[i] + kw[i] - a.pull[i] - mean
		spread += w * far * far
	}
	// Newton's decrement is below the gain of the last step, a hundredth of a nat.
	if !(spread/concentration < 0.02*concentration) || !(least < value) {
		t.Errorf("at the end the gradient is %v, and the value %v, from %v", math.Sqrt(spread), least, value)
	}
}

// The law of the first atoms has the mean and second moments of the points.
func TestMomentsOfADensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 32))
	x := clusters(rng, 50, 4, 3)
	s, err := NewSketch(x, basis(t, 4, 3))
	if err != nil {
		t.Fatal(err)
	}
	mean, second := s.Density(0, nil).moments2()
	for i := range 4 {
		var m float64
		for k := range x.Len() {
			m += float64(x.Row(k)[i]) / float64(x.Len())
		}
		near(t, "mean", mean[i], m, 1e-6)
		for j := range 4 {
			var m float64
			for k := range x.Len() {
				m += float64(x.Row(k)[i]) * float64(x.Row(k)[j]) / float64(x.Len())
			}
			near(t, "second moment", second.At(i, j), m, 1e-6)
		}
	}
}

package dataset

import (
	"math"
	"slices"
	"testing"
)

// The midpoint rule on a grid of 0.05 over [−5, 5]² is exact to far below 1e-6
// for Gaussians of standard deviation 0.3.
func TestDensityIntegratesToOne(t *testing.T) {
	m := FiveGaussians()
	const step = 0.05
	sum := 0.0
	for i := range 200 {
		for j := range 200 {
			sum += m.Density(-5+(float64(i)+0.5)*step, -5+(float64(j)+0.5)*step) * step * step
		}
	}
	if !(math.Abs(sum-1) <= 1e-6) {
		t.Errorf("integral %v, want 1", sum)
	}
	// At a centre only its own component counts: 0.2 / (2π·0.09).
	if got, want := m.Density(2, 2), 0.2/(2*math.Pi*0.09); !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("density %v at a centre, want %v", got, want)
	}
}

// Moments of 20,000 points against their exact values. Bounds are five
// standard errors, exceeded by chance with probability 6e-7 each; seeded.
func TestSampleHasTheMomentsOfTheMixture(t *testing.T) {
	const n = 20_000
	m := FiveGaussians()
	d := m.Sample(n, 1)
	counts := make([]float64, 5)
	var mean [5][2]float64
	var square float64
	for i, k := range d.Labels {
		counts[k]++
		for j, v := range d.Row(i) {
			mean[k][j] += float64(v)
			square += math.Pow(float64(v)-m.Means[k][j], 2)
		}
	}
	for k, count := range counts {
		if !(math.Abs(count-0.2*n) <= 5*math.Sqrt(n*0.2*0.8)) {
			t.Errorf("component %d has %v of %d points, want about a fifth", k, count, n)
		}
		for j := range 2 {
			if got := mean[k][j] / count; !(math.Abs(got-m.Means[k][j]) <= 5*0.3/math.Sqrt(count)) {
				t.Errorf("component %d has mean %v in coordinate %d, want %v", k, got, j, m.Means[k][j])
			}
		}
	}
	// The variance of 2n squares of N(0, s²) has standard error s²·√(2/2n).
	if got := square / (2 * n); !(math.Abs(got-0.09) <= 5*0.09/math.Sqrt(n)) {
		t.Errorf("variance %v around the centres, want 0.09", got)
	}
}

func TestSamplesFollowTheirSeed(t *testing.T) {
	m := FiveGaussians()
	if !slices.Equal(m.Sample(10, 1).X, m.Sample(100, 1).X[:20]) {
		t.Error("10 points are not the first of 100")
	}
	if slices.Equal(m.sample(10, 1, 0).X, m.sample(10, 1, 1).X) || slices.Equal(m.Sample(10, 1).X, m.Sample(10, 2).X) {
		t.Error("other sets or seeds give the same points")
	}
	if m.Sample(-1, 1).Len() != 0 {
		t.Error("a negative number of points gives some")
	}
}

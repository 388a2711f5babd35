package utility

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The gradient is that of differences, for numbers of rows and dimensions that
// fill blocks and for those that do not.
func TestGradientIsOfDifferences(t *testing.T) {
	for _, c := range []struct{ n, dim, k int }{{7, 3, 3}, {64, 8, 2}, {130, 41, 5}, {2000, 37, 4}, {17000, 3, 3}} {
		d := normals(c.n, c.dim, c.k, 1, 5)
		o := newObjective(d, present(d.Labels), 0.7)
		rng := rand.New(rand.NewPCG(6, 3))
		theta, direction := make([]float64, len(o.gradient)), make([]float64, len(o.gradient))
		for i := range theta {
			theta[i] = rng.NormFloat64() / 4
		}
		value := func(shift float64) float64 {
			at := slices.Clone(theta)
			for i := range at {
				at[i] += shift * direction[i]
			}
			o.at(at)
			return o.loss
		}
		for trial := range 5 {
			value(0)
			along, size := 0.0, 0.0
			for i, g := range o.gradient {
				direction[i] = rng.NormFloat64()
				along, size = along+g*direction[i], size+g*g
			}
			const h = 1e-3 // rounding of single precision against curvature
			difference := (value(h) - value(-h)) / (2 * h)
			if !(math.Abs(difference-along) <= 2e-3*math.Sqrt(size)) {
				t.Errorf("%+v, trial %d: derivative %.7f, difference quotient %.7f, size %.5f", c, trial, along, difference, math.Sqrt(size))
			}
		}
	}
}

// The objective is its definition in plain sums.
func TestObjectiveIsItsDefinition(t *testing.T) {
	const c = 0.7
	for _, of := range []struct{ n, k int }{{130, 2}, {130, 3}, {2000, 3}, {17000, 3}} {
		k := of.k
		d := normals(of.n, 5, k, 1, 7)
		o := newObjective(d, present(d.Labels), c)
		rng := rand.New(rand.NewPCG(7, 3))
		theta := make([]float64, len(o.gradient))
		want := 0.0
		for i := range theta {
			theta[i] = rng.NormFloat64()
			if i < o.free*o.dim {
				want += theta[i] * theta[i] / (2 * c * float64(d.Len()))
			}
		}
		m := LogisticModel{Present: present(d.Labels), Coefficients: theta[:o.free*o.dim], Intercepts: theta[o.free*o.dim:], dim: o.dim}
		scores := make([]float64, k)
		for i, label := range d.Labels {
			m.score(scores, d.Row(i))
			sum := 0.0
			for _, s := range scores {
				sum += math.Exp(s)
			}
			want += (math.Log(sum) - scores[label]) / float64(d.Len())
		}
		if o.at(theta); !(math.Abs(o.loss-want) <= 1e-5*want) {
			t.Errorf("%d rows of %d classes: %v, want %v", of.n, k, o.loss, want)
		}
	}
}

func BenchmarkLogistic(b *testing.B) {
	d := normals(6000, 784, 10, 3, 18)
	o := newObjective(d, present(d.Labels), 1)
	theta := make([]float64, len(o.gradient))
	for b.Loop() {
		theta[0]++ // another place
		o.at(theta)
	}
	b.ReportMetric(4*float64(d.Len()*d.Dim()*o.free)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

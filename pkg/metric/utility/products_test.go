package utility

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Both ways of multiplying are their definitions, for dimensions that fill
// vectors and for those that do not.
func TestProductsAreTheirDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	for _, classes := range []int{2, 10} {
		for _, dim := range []int{1, 7, 8, 33, 64, 75} {
			x, weights, residuals, before := draw(blockRows*dim), draw(classes*dim), draw(blockRows*classes), draw(classes*dim)
			for name, kernel := range map[string]struct {
				multiply, accumulate func(dst, x, y []float32, classes, dim int)
			}{"BLAS": {multiplyBLAS, accumulateBLAS}, "this machine's": {multiply, accumulate}} {
				scores := draw(blockRows * classes) // what was there must not matter
				kernel.multiply(scores, x, weights, classes, dim)
				sums := append([]float32(nil), before...)
				kernel.accumulate(sums, x, residuals, classes, dim)
				for k := range classes {
					for r := range blockRows {
						want := 0.0
						for j := range dim {
							want += float64(x[r*dim+j]) * float64(weights[k*dim+j])
						}
						if got := float64(scores[r*classes+k]); !(math.Abs(got-want) < 1e-4) {
							t.Fatalf("%s, dimension %d: product of row %d and class %d is %v, want %v", name, dim, r, k, got, want)
						}
					}
					for j := range dim {
						want := float64(before[k*dim+j])
						for r := range blockRows {
							want += float64(residuals[r*classes+k]) * float64(x[r*dim+j])
						}
						if got := float64(sums[k*dim+j]); !(math.Abs(got-want) < 1e-4) {
							t.Fatalf("%s, dimension %d: sum of column %d by class %d is %v, want %v", name, dim, j, k, got, want)
						}
					}
				}
			}
		}
	}
}

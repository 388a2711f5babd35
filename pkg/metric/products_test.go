package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

// kernels are the ways of multiplying that this machine has.
func kernels() map[string]func(dst, panel, tile []float32) {
	all := map[string]func(dst, panel, tile []float32){"BLAS": productsBLAS}
	for name, multiply := range vectorKernels {
		all[name] = multiply
	}
	return all
}

// vectorKernels are those that use vectors.
var vectorKernels = map[string]func(dst, panel, tile []float32){}

func TestProductsAreThoseOfTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for _, dim := range []int{1, 3, 8, 100} {
		x, y := normals(rng, panelRows+2, dim), normals(rng, tileRows+2, dim)
		panel, tile := make([]float32, dim*panelRows), make([]float32, dim*tileRows)
		for i := range panel {
			panel[i] = 99 // what was there must not matter
		}
		turn(panel, x, 4, panelRows) // six points and two places beyond the last
		turn(tile, y, 2, tileRows)
		for name, multiply := range kernels() {
			table := make([]float32, panelRows*tileRows)
			multiply(table, panel, tile)
			for r := range panelRows {
				for i := range tileRows {
					var want, size float64
					if 4+r < x.Len() {
						want, size = product(x, 4+r, y, 2+i)
					}
					if got := float64(table[r*tileRows+i]); !(math.Abs(got-want) <= float64(dim+2)*0x1p-24*size) {
						t.Fatalf("%s, dimension %d: product of %d and %d is %v, want %v", name, dim, 4+r, 2+i, got, want)
					}
				}
			}
		}
	}
}

// product returns ⟨x_i, y_j⟩ and the sum of its terms' sizes.
func product(x transport.Points, i int, y transport.Points, j int) (sum, size float64) {
	for c, v := range x.Row(i) {
		term := float64(v) * float64(y.Row(j)[c])
		sum, size = sum+term, size+math.Abs(term)
	}
	return sum, size
}

func BenchmarkProducts(b *testing.B) {
	const dim = 1024
	rng := rand.New(rand.NewPCG(2, 7)) // BLAS skips zeros
	panel, tile, table := normals(rng, dim, panelRows).Data, normals(rng, dim, tileRows).Data, make([]float32, panelRows*tileRows)
	for name, multiply := range kernels() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				multiply(table, panel, tile)
			}
			b.ReportMetric(2*dim*panelRows*tileRows*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

package tile

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every kernel that this processor has computes Project and Add as written down,
// at sizes that do and do not fill tiles.
func TestProductsEqualTheirSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	chosen := multiply
	defer func() { multiply = chosen }()
	for name, kernel := range kernels() {
		multiply = kernel
		for _, size := range [][3]int{{1, 1, 1}, {31, 3, 5}, {32, 8, 8}, {33, 9, 7}, {100, 64, 20}, {257, 70, 33}} {
			n, dim, count := size[0], size[1], size[2]
			data, u := normals(rng, n*dim), normals(rng, count*dim)
			x, sum := New(n, dim), New(n, dim)
			table := make([]float32, Rows(count)*x.Stride())
			for tile := range x.Tiles() {
				x.Pack(tile, data, make([]float32, dim))
				x.Project(tile, ForProject(u, count, dim), table)
				for range 2 { // Add adds
					sum.Add(tile, ForAdd(u, count, dim), table)
				}
			}
			back := make([]float32, n*dim)
			for tile := range x.Tiles() {
				sum.Unpack(tile, back, 0.5)
			}
			for i := range n {
				want := make([]float64, dim)
				for j := range count {
					var along float64
					for c := range dim {
						along += float64(u[j*dim+c]) * float64(data[i*dim+c])
					}
					if got := table[j*x.Stride()+i]; !(math.Abs(float64(got)-along) <= 1e-5*(1+float64(dim))) {
						t.Fatalf("%s, %v: ⟨θ_%d, x_%d⟩ = %v, want %v", name, size, j, i, got, along)
					}
					for c := range dim {
						want[c] += along * float64(u[j*dim+c])
					}
				}
				for c, v := range want {
					if got := back[i*dim+c]; !(math.Abs(float64(got)-v) <= 1e-5*float64(dim*count)) {
						t.Fatalf("%s, %v: coordinate %d of point %d is %v, want %v", name, size, c, i, got, v)
					}
				}
			}
		}
	}
}

func normals(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func BenchmarkProject(b *testing.B) {
	const n, count = 10_000, 32
	for name, kernel := range kernels() {
		b.Run(name, func(b *testing.B) {
			chosen := multiply
			multiply = kernel
			defer func() { multiply = chosen }()
			const dim = 64
			rng := rand.New(rand.NewPCG(2, 1))
			x, u := New(n, dim), ForProject(normals(rng, count*dim), count, dim)
			for tile := range x.Tiles() {
				x.Pack(tile, normals(rng, n*dim), make([]float32, dim))
			}
			table := make([]float32, count*x.Stride())
			for b.Loop() {
				for tile := range x.Tiles() {
					x.Project(tile, u, table)
				}
			}
			b.ReportMetric(2*n*count*dim/b.Elapsed().Seconds()*float64(b.N)/1e9, "GFLOP/s")
		})
	}
}

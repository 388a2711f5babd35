package metric

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"molehill/transport"
)

// panel and tile are how many points of the two sides are multiplied at a time.
const (
	panelRows = 8
	tileRows  = 32
)

// products writes the inner products of the points of a panel with those of a
// tile, dst[r·tileRows + i] = Σ_c panel[c·panelRows + r]·tile[c·tileRows + i].
// A processor with vectors has one of its own.
var products = productsBLAS

func productsBLAS(dst, panel, tile []float32) {
	dim := len(panel) / panelRows
	blas32.Gemm(blas.Trans, blas.NoTrans, 1,
		blas32.General{Rows: dim, Cols: panelRows, Stride: panelRows, Data: panel},
		blas32.General{Rows: dim, Cols: tileRows, Stride: tileRows, Data: tile}, 0,
		blas32.General{Rows: panelRows, Cols: tileRows, Stride: tileRows, Data: dst})
}

// turn writes the points from first on, rows of them, coordinate by coordinate:
// dst[c·rows + i] is coordinate c of point first+i, 0 beyond the last.
func turn(dst []float32, p transport.Points, first, rows int) {
	clear(dst)
	for i := range min(rows, p.Len()-first) {
		for c, v := range p.Row(first + i) {
			dst[c*rows+i] = v
		}
	}
}

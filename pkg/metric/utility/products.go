package utility

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// The products of a block of rows x, [blockRows, dim], with an even number of
// classes. A processor with vectors has ones of its own.
var (
	// multiply writes the inner products of rows with weights [classes, dim]:
	// dst[r·classes + k] = ⟨x_r, w_k⟩.
	multiply = multiplyBLAS
	// accumulate adds up rows by what they weigh, [blockRows, classes]:
	// dst[k·dim + j] += Σ_r residuals[r·classes + k]·x[r·dim + j].
	accumulate = accumulateBLAS
)

func multiplyBLAS(dst, x, weights []float32, classes, dim int) {
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, general(x, blockRows, dim), general(weights, classes, dim), 0, general(dst, blockRows, classes))
}

func accumulateBLAS(dst, x, residuals []float32, classes, dim int) {
	blas32.Gemm(blas.Trans, blas.NoTrans, 1, general(residuals, blockRows, classes), general(x, blockRows, dim), 1, general(dst, classes, dim))
}

func general(data []float32, rows, columns int) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: data}
}

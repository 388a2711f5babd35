//go:build !(goexperiment.simd && amd64)

package tile

func kernels() map[string]func(dst []float32, dstStride int, panel, b []float32, bStride int, add bool) {
	return map[string]func(dst []float32, dstStride int, panel, b []float32, bStride int, add bool){"plain": multiplyPlain}
}

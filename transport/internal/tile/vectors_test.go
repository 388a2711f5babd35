//go:build goexperiment.simd && amd64

package tile

import (
	"simd/archsimd"
	"testing"

	"molehill/transport/vectorstest"
)

type kernel = func(dst []float32, dstStride int, panel, b []float32, bStride int, add bool)

func kernels() map[string]kernel {
	all := map[string]kernel{"plain": multiplyPlain}
	if archsimd.X86.AVX512() {
		all["AVX-512"] = multiply512
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		all["AVX2"] = multiply256
	}
	return all
}

func TestNoScalarsAmongVectors(t *testing.T) {
	vectorstest.NoScalarsAmongVectors(t, multiply256, multiply512)
}

//go:build goexperiment.simd && amd64

package metric

import (
	"simd/archsimd"
	"testing"

	"molehill/transport/vectorstest"
)

func init() {
	if archsimd.X86.AVX512() {
		vectorKernels["512 bits"] = products512
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		vectorKernels["256 bits"] = products256
	}
}

func TestNoScalarsAmongVectors(t *testing.T) {
	vectorstest.NoScalarsAmongVectors(t, products256, products512)
}

//go:build goexperiment.simd && amd64

package kernel

import (
	"simd/archsimd"
	"testing"

	"molehill/transport/vectorstest"
)

func init() {
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		sets = append(sets, set{"AVX2", planRow256, addScaled256, mixtureRow256, pullRow256, multiply256, shiftRow256, dotRow256, pullPair256})
	}
	if archsimd.X86.AVX512() {
		sets = append(sets, set{"AVX-512", planRow512, addScaled512, mixtureRow512, pullRow512, multiply512, shiftRow512, dotRow512, pullPair512})
	}
}

func TestNoScalarsAmongVectors(t *testing.T) {
	vectorstest.NoScalarsAmongVectors(t,
		planRow256, addScaled256, mixtureBlocks256, pullRow256, pullPair256, multiply256, shiftRow256, dotRow256,
		planRow512, addScaled512, mixtureBlocks512, pullRow512, pullPair512, multiply512, shiftRow512, dotRow512)
}

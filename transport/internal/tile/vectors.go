//go:build goexperiment.simd && amd64

package tile

import "simd/archsimd"

func init() {
	switch {
	case archsimd.X86.AVX512():
		multiply = multiply512
	case archsimd.X86.AVX2() && archsimd.X86.FMA():
		multiply = multiply256
	}
}

// multiply512 keeps half of the sums in registers at a time: one of 16 lanes a
// row. The compiler has 16 registers, so all the sums would not fit.
func multiply512(dst []float32, dstStride int, panel, b []float32, bStride int, add bool) {
	for from := 0; from < Width; from += 16 {
		var sa, sb, sc, sd, se, sf, sg, sh archsimd.Float32x16
		for k, at := 0, from; k < len(panel); k, at = k+Height, at+bStride {
			u, column := (*[Height]float32)(panel[k:]), archsimd.LoadFloat32x16Slice(b[at:])
			sa = archsimd.BroadcastFloat32x16(u[0]).MulAdd(column, sa)
			sb = archsimd.BroadcastFloat32x16(u[1]).MulAdd(column, sb)
			sc = archsimd.BroadcastFloat32x16(u[2]).MulAdd(column, sc)
			sd = archsimd.BroadcastFloat32x16(u[3]).MulAdd(column, sd)
			se = archsimd.BroadcastFloat32x16(u[4]).MulAdd(column, se)
			sf = archsimd.BroadcastFloat32x16(u[5]).MulAdd(column, sf)
			sg = archsimd.BroadcastFloat32x16(u[6]).MulAdd(column, sg)
			sh = archsimd.BroadcastFloat32x16(u[7]).MulAdd(column, sh)
		}
		store512(dst[0*dstStride+from:], sa, add)
		store512(dst[1*dstStride+from:], sb, add)
		store512(dst[2*dstStride+from:], sc, add)
		store512(dst[3*dstStride+from:], sd, add)
		store512(dst[4*dstStride+from:], se, add)
		store512(dst[5*dstStride+from:], sf, add)
		store512(dst[6*dstStride+from:], sg, add)
		store512(dst[7*dstStride+from:], sh, add)
	}
	archsimd.ClearAVXUpperBits()
}

func store512(dst []float32, sum archsimd.Float32x16, add bool) {
	if add {
		sum = sum.Add(archsimd.LoadFloat32x16Slice(dst))
	}
	sum.StoreSlice(dst)
}

// multiply256 keeps a quarter of the sums in registers at a time: one of 8 lanes
// a row.
func multiply256(dst []float32, dstStride int, panel, b []float32, bStride int, add bool) {
	for from := 0; from < Width; from += 8 {
		var sa, sb, sc, sd, se, sf, sg, sh archsimd.Float32x8
		for k, at := 0, from; k < len(panel); k, at = k+Height, at+bStride {
			u, column := (*[Height]float32)(panel[k:]), archsimd.LoadFloat32x8Slice(b[at:])
			sa = archsimd.BroadcastFloat32x8(u[0]).MulAdd(column, sa)
			sb = archsimd.BroadcastFloat32x8(u[1]).MulAdd(column, sb)
			sc = archsimd.BroadcastFloat32x8(u[2]).MulAdd(column, sc)
			sd = archsimd.BroadcastFloat32x8(u[3]).MulAdd(column, sd)
			se = archsimd.BroadcastFloat32x8(u[4]).MulAdd(column, se)
			sf = archsimd.BroadcastFloat32x8(u[5]).MulAdd(column, sf)
			sg = archsimd.BroadcastFloat32x8(u[6]).MulAdd(column, sg)
			sh = archsimd.BroadcastFloat32x8(u[7]).MulAdd(column, sh)
		}
		store256(dst[0*dstStride+from:], sa, add)
		store256(dst[1*dstStride+from:], sb, add)
		store256(dst[2*dstStride+from:], sc, add)
		store256(dst[3*dstStride+from:], sd, add)
		store256(dst[4*dstStride+from:], se, add)
		store256(dst[5*dstStride+from:], sf, add)
		store256(dst[6*dstStride+from:], sg, add)
		store256(dst[7*dstStride+from:], sh, add)
	}
	archsimd.ClearAVXUpperBits()
}

func store256(dst []float32, sum archsimd.Float32x8, add bool) {
	if add {
		sum = sum.Add(archsimd.LoadFloat32x8Slice(dst))
	}
	sum.StoreSlice(dst)
}

//go:build goexperiment.simd && amd64

package metric

import "simd/archsimd"

func init() {
	switch {
	case archsimd.X86.AVX512():
		products = products512
	case archsimd.X86.AVX2() && archsimd.X86.FMA():
		products = products256
	}
}

// products512 keeps the sums of four points of the panel and two vectors of the
// tile in registers at a time, as the compiler has 16. They are stored one by one:
// an array of them would go through memory in pieces, which takes several times as
// long as the products of few dimensions.
func products512(dst, panel, tile []float32) {
	for from := 0; from < tileRows; from += 32 {
		for first := 0; first < panelRows; first += 4 {
			var s0, t0, s1, t1, s2, t2, s3, t3 archsimd.Float32x16
			for k, at := first, from; k < len(panel); k, at = k+panelRows, at+tileRows {
				a, b := (*[4]float32)(panel[k:]), (*[32]float32)(tile[at:])
				left, right := archsimd.LoadFloat32x16((*[16]float32)(b[:16])), archsimd.LoadFloat32x16((*[16]float32)(b[16:]))
				v := archsimd.BroadcastFloat32x16(a[0])
				s0, t0 = v.MulAdd(left, s0), v.MulAdd(right, t0)
				v = archsimd.BroadcastFloat32x16(a[1])
				s1, t1 = v.MulAdd(left, s1), v.MulAdd(right, t1)
				v = archsimd.BroadcastFloat32x16(a[2])
				s2, t2 = v.MulAdd(left, s2), v.MulAdd(right, t2)
				v = archsimd.BroadcastFloat32x16(a[3])
				s3, t3 = v.MulAdd(left, s3), v.MulAdd(right, t3)
			}
			to := dst[first*tileRows+from:]
			s0.StoreSlice(to)
			t0.StoreSlice(to[16:])
			s1.StoreSlice(to[tileRows:])
			t1.StoreSlice(to[tileRows+16:])
			s2.StoreSlice(to[2*tileRows:])
			t2.StoreSlice(to[2*tileRows+16:])
			s3.StoreSlice(to[3*tileRows:])
			t3.StoreSlice(to[3*tileRows+16:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// products256 is products512 with vectors of 8.
func products256(dst, panel, tile []float32) {
	for from := 0; from < tileRows; from += 16 {
		for first := 0; first < panelRows; first += 4 {
			var s0, t0, s1, t1, s2, t2, s3, t3 archsimd.Float32x8
			for k, at := first, from; k < len(panel); k, at = k+panelRows, at+tileRows {
				a, b := (*[4]float32)(panel[k:]), (*[16]float32)(tile[at:])
				left, right := archsimd.LoadFloat32x8((*[8]float32)(b[:8])), archsimd.LoadFloat32x8((*[8]float32)(b[8:]))
				v := archsimd.BroadcastFloat32x8(a[0])
				s0, t0 = v.MulAdd(left, s0), v.MulAdd(right, t0)
				v = archsimd.BroadcastFloat32x8(a[1])
				s1, t1 = v.MulAdd(left, s1), v.MulAdd(right, t1)
				v = archsimd.BroadcastFloat32x8(a[2])
				s2, t2 = v.MulAdd(left, s2), v.MulAdd(right, t2)
				v = archsimd.BroadcastFloat32x8(a[3])
				s3, t3 = v.MulAdd(left, s3), v.MulAdd(right, t3)
			}
			to := dst[first*tileRows+from:]
			s0.StoreSlice(to)
			t0.StoreSlice(to[8:])
			s1.StoreSlice(to[tileRows:])
			t1.StoreSlice(to[tileRows+8:])
			s2.StoreSlice(to[2*tileRows:])
			t2.StoreSlice(to[2*tileRows+8:])
			s3.StoreSlice(to[3*tileRows:])
			t3.StoreSlice(to[3*tileRows+8:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

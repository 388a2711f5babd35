//go:build goexperiment.simd && amd64

package utility

import "simd/archsimd"

func init() {
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		multiply, accumulate = multiply256, accumulate256
	}
}

// multiply256 keeps the sums of four rows and two classes in registers.
func multiply256(dst, x, weights []float32, classes, dim int) {
	var ends [4][2][8]float32
	for r := 0; r < blockRows; r += 4 {
		for k := 0; k < classes; k += 2 {
			a, b, c, d := x[r*dim:(r+1)*dim], x[(r+1)*dim:(r+2)*dim], x[(r+2)*dim:(r+3)*dim], x[(r+3)*dim:(r+4)*dim]
			v, w := weights[k*dim:(k+1)*dim], weights[(k+1)*dim:(k+2)*dim]
			var av, aw, bv, bw, cv, cw, dv, dw archsimd.Float32x8
			for len(v) >= 32 && len(w) >= 32 && len(a) >= 32 && len(b) >= 32 && len(c) >= 32 && len(d) >= 32 {
				// Places in arrays are constants: slices of slices would not fit in registers.
				v32, w32, a32, b32, c32, d32 := (*[32]float32)(v), (*[32]float32)(w), (*[32]float32)(a), (*[32]float32)(b), (*[32]float32)(c), (*[32]float32)(d)
				left, right := archsimd.LoadFloat32x8((*[8]float32)(v32[:8])), archsimd.LoadFloat32x8((*[8]float32)(w32[:8]))
				row := archsimd.LoadFloat32x8((*[8]float32)(a32[:8]))
				av, aw = row.MulAdd(left, av), row.MulAdd(right, aw)
				row = archsimd.LoadFloat32x8((*[8]float32)(b32[:8]))
				bv, bw = row.MulAdd(left, bv), row.MulAdd(right, bw)
				row = archsimd.LoadFloat32x8((*[8]float32)(c32[:8]))
				cv, cw = row.MulAdd(left, cv), row.MulAdd(right, cw)
				row = archsimd.LoadFloat32x8((*[8]float32)(d32[:8]))
				dv, dw = row.MulAdd(left, dv), row.MulAdd(right, dw)
				left, right = archsimd.LoadFloat32x8((*[8]float32)(v32[8:16])), archsimd.LoadFloat32x8((*[8]float32)(w32[8:16]))
				row = archsimd.LoadFloat32x8((*[8]float32)(a32[8:16]))
				av, aw = row.MulAdd(left, av), row.MulAdd(right, aw)
				row = archsimd.LoadFloat32x8((*[8]float32)(b32[8:16]))
				bv, bw = row.MulAdd(left, bv), row.MulAdd(right, bw)
				row = archsimd.LoadFloat32x8((*[8]float32)(c32[8:16]))
				cv, cw = row.MulAdd(left, cv), row.MulAdd(right, cw)
				row = archsimd.LoadFloat32x8((*[8]float32)(d32[8:16]))
				dv, dw = row.MulAdd(left, dv), row.MulAdd(right, dw)
				left, right = archsimd.LoadFloat32x8((*[8]float32)(v32[16:24])), archsimd.LoadFloat32x8((*[8]float32)(w32[16:24]))
				row = archsimd.LoadFloat32x8((*[8]float32)(a32[16:24]))
				av, aw = row.MulAdd(left, av), row.MulAdd(right, aw)
				row = archsimd.LoadFloat32x8((*[8]float32)(b32[16:24]))
				bv, bw = row.MulAdd(left, bv), row.MulAdd(right, bw)
				row = archsimd.LoadFloat32x8((*[8]float32)(c32[16:24]))
				cv, cw = row.MulAdd(left, cv), row.MulAdd(right, cw)
				row = archsimd.LoadFloat32x8((*[8]float32)(d32[16:24]))
				dv, dw = row.MulAdd(left, dv), row.MulAdd(right, dw)
				left, right = archsimd.LoadFloat32x8((*[8]float32)(v32[24:])), archsimd.LoadFloat32x8((*[8]float32)(w32[24:]))
				row = archsimd.LoadFloat32x8((*[8]float32)(a32[24:]))
				av, aw = row.MulAdd(left, av), row.MulAdd(right, aw)
				row = archsimd.LoadFloat32x8((*[8]float32)(b32[24:]))
				bv, bw = row.MulAdd(left, bv), row.MulAdd(right, bw)
				row = archsimd.LoadFloat32x8((*[8]float32)(c32[24:]))
				cv, cw = row.MulAdd(left, cv), row.MulAdd(right, cw)
				row = archsimd.LoadFloat32x8((*[8]float32)(d32[24:]))
				dv, dw = row.MulAdd(left, dv), row.MulAdd(right, dw)
				a, b, c, d, v, w = a[32:], b[32:], c[32:], d[32:], v[32:], w[32:]
			}
			for len(v) >= 8 && len(w) >= 8 && len(a) >= 8 && len(b) >= 8 && len(c) >= 8 && len(d) >= 8 {
				left, right := archsimd.LoadFloat32x8((*[8]float32)(v)), archsimd.LoadFloat32x8((*[8]float32)(w))
				row := archsimd.LoadFloat32x8((*[8]float32)(a))
				av, aw = row.MulAdd(left, av), row.MulAdd(right, aw)
				row = archsimd.LoadFloat32x8((*[8]float32)(b))
				bv, bw = row.MulAdd(left, bv), row.MulAdd(right, bw)
				row = archsimd.LoadFloat32x8((*[8]float32)(c))
				cv, cw = row.MulAdd(left, cv), row.MulAdd(right, cw)
				row = archsimd.LoadFloat32x8((*[8]float32)(d))
				dv, dw = row.MulAdd(left, dv), row.MulAdd(right, dw)
				a, b, c, d, v, w = a[8:], b[8:], c[8:], d[8:], v[8:], w[8:]
			}
			// No scalar stands between vectors: see transport/sinkhorn/internal/kernel.
			av.Store(&ends[0][0])
			aw.Store(&ends[0][1])
			bv.Store(&ends[1][0])
			bw.Store(&ends[1][1])
			cv.Store(&ends[2][0])
			cw.Store(&ends[2][1])
			dv.Store(&ends[3][0])
			dw.Store(&ends[3][1])
			archsimd.ClearAVXUpperBits()
			for i, rest := range [4][]float32{a, b, c, d} {
				for j, other := range [2][]float32{v, w} {
					end := &ends[i][j]
					sum := (end[0] + end[4]) + (end[1] + end[5]) + (end[2] + end[6]) + (end[3] + end[7])
					for t, value := range rest {
						sum += value * other[t]
					}
					dst[(r+i)*classes+k+j] = sum
				}
			}
		}
	}
}

// accumulate256 keeps 32 columns of two classes in registers, and the rows' share of
// these columns in the nearest cache until all classes have them.
func accumulate256(dst, x, residuals []float32, classes, dim int) {
	whole := dim - dim%32
	for j := 0; j < whole; j += 32 {
		for k := 0; k < classes; k += 2 {
			first, second := dst[k*dim+j:][:32], dst[(k+1)*dim+j:][:32]
			v0, v1 := archsimd.LoadFloat32x8Slice(first), archsimd.LoadFloat32x8Slice(first[8:])
			v2, v3 := archsimd.LoadFloat32x8Slice(first[16:]), archsimd.LoadFloat32x8Slice(first[24:])
			w0, w1 := archsimd.LoadFloat32x8Slice(second), archsimd.LoadFloat32x8Slice(second[8:])
			w2, w3 := archsimd.LoadFloat32x8Slice(second[16:]), archsimd.LoadFloat32x8Slice(second[24:])
			for r := range blockRows {
				row := (*[32]float32)(x[r*dim+j:])
				left, right := archsimd.BroadcastFloat32x8(residuals[r*classes+k]), archsimd.BroadcastFloat32x8(residuals[r*classes+k+1])
				part := archsimd.LoadFloat32x8((*[8]float32)(row[:8]))
				v0, w0 = part.MulAdd(left, v0), part.MulAdd(right, w0)
				part = archsimd.LoadFloat32x8((*[8]float32)(row[8:16]))
				v1, w1 = part.MulAdd(left, v1), part.MulAdd(right, w1)
				part = archsimd.LoadFloat32x8((*[8]float32)(row[16:24]))
				v2, w2 = part.MulAdd(left, v2), part.MulAdd(right, w2)
				part = archsimd.LoadFloat32x8((*[8]float32)(row[24:]))
				v3, w3 = part.MulAdd(left, v3), part.MulAdd(right, w3)
			}
			v0.StoreSlice(first)
			v1.StoreSlice(first[8:])
			v2.StoreSlice(first[16:])
			v3.StoreSlice(first[24:])
			w0.StoreSlice(second)
			w1.StoreSlice(second[8:])
			w2.StoreSlice(second[16:])
			w3.StoreSlice(second[24:])
		}
	}
	for j := whole; j < dim; j += 8 {
		end := min(j+8, dim)
		for k := 0; k < classes; k += 2 {
			first, second := dst[k*dim+j:k*dim+end], dst[(k+1)*dim+j:(k+1)*dim+end]
			v, w := archsimd.LoadFloat32x8SlicePart(first), archsimd.LoadFloat32x8SlicePart(second)
			for r := range blockRows {
				part := archsimd.LoadFloat32x8SlicePart(x[r*dim+j : r*dim+end])
				v = part.MulAdd(archsimd.BroadcastFloat32x8(residuals[r*classes+k]), v)
				w = part.MulAdd(archsimd.BroadcastFloat32x8(residuals[r*classes+k+1]), w)
			}
			v.StoreSlicePart(first)
			w.StoreSlicePart(second)
		}
	}
	archsimd.ClearAVXUpperBits()
}

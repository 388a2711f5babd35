//go:build goexperiment.simd && amd64

package kernel

import "simd/archsimd"

// The same loops as for AVX-512 on half as wide registers.

func sum4(lanes *[4]float64) float64 { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) }

func planRow256(dst, v, cost []float64, u, rate float64) float64 {
	all := archsimd.BroadcastFloat64x4
	scale, hi, lo := all(log2e), all(-ln2Hi), all(-ln2Lo)
	whole, floor, ceiling := all(wholeBits), all(lowestExp), all(highestExp)
	c0, c1, c2, c3, c4, c5 := all(exp0), all(exp1), all(exp2), all(exp3), all(exp4), all(exp5)
	c6, c7, c8, c9, c10 := all(exp6), all(exp7), all(exp8), all(exp9), all(exp10)
	shift, slope := all(u), all(-rate)
	var total archsimd.Float64x4
	m := len(cost)
	dst, v = dst[:m], v[:m]
	j := 0
	for ; j+4 <= m; j += 4 {
		x := archsimd.LoadFloat64x4Slice(cost[j:]).MulAdd(slope, archsimd.LoadFloat64x4Slice(v[j:]).Add(shift))
		x = x.Max(floor).Min(ceiling)
		marked := x.MulAdd(scale, whole)
		k := marked.Sub(whole)
		r := k.MulAdd(lo, k.MulAdd(hi, x))
		p := c10.MulAdd(r, c9).MulAdd(r, c8).MulAdd(r, c7).MulAdd(r, c6).MulAdd(r, c5)
		p = p.MulAdd(r, c4).MulAdd(r, c3).MulAdd(r, c2).MulAdd(r, c1).MulAdd(r, c0)
		e := p.AsInt64x4().Add(marked.AsInt64x4().ShiftAllLeft(52)).AsFloat64x4()
		total = total.Add(e)
		e.StoreSlice(dst[j:])
	}
	var lanes [4]float64
	total.Store(&lanes)
	archsimd.ClearAVXUpperBits()
	return sum4(&lanes) + planRowPlain(dst[j:], v[j:], cost[j:], u, rate)
}

func addScaled256(acc, row []float64, weight float64) {
	w := archsimd.BroadcastFloat64x4(weight)
	acc = acc[:len(row)]
	j := 0
	for ; j+4 <= len(row); j += 4 {
		archsimd.LoadFloat64x4Slice(row[j:]).MulAdd(w, archsimd.LoadFloat64x4Slice(acc[j:])).StoreSlice(acc[j:])
	}
	archsimd.ClearAVXUpperBits()
	addScaledPlain(acc[j:], row[j:], weight)
}

func mixtureRow256(dst, x []float64, columns []float32, m, from int, c Mixture) {
	if len(dst) < 8 {
		mixtureRowPlain(dst, x, columns, m, from, c)
	} else {
		mixtureBlocks256(dst, x, columns, m, from, c)
	}
}

func mixtureBlocks256(dst, x []float64, columns []float32, m, from int, c Mixture) {
	mixed := mixes(c)
	squared, absolute := archsimd.BroadcastFloat64x4(c.Squared), archsimd.BroadcastFloat64x4(c.Absolute)
	var zero archsimd.Float64x4
	for j := 0; j < len(dst); j += 8 {
		j = min(j, len(dst)-8) // the last block may have columns of the one before, too
		var s0, s1, a0, a1 archsimd.Float64x4
		at := from + j
		if !mixed {
			for k := range x {
				xs, y := archsimd.BroadcastFloat64x4(x[k]), (*[8]float32)(columns[at:])
				d0 := xs.Sub(archsimd.LoadFloat32x4Slice(y[0:4]).ConvertToFloat64())
				d1 := xs.Sub(archsimd.LoadFloat32x4Slice(y[4:8]).ConvertToFloat64())
				s0, s1 = d0.MulAdd(d0, s0), d1.MulAdd(d1, s1)
				at += m
			}
		} else {
			for k := range x {
				xs, y := archsimd.BroadcastFloat64x4(x[k]), (*[8]float32)(columns[at:])
				d0 := xs.Sub(archsimd.LoadFloat32x4Slice(y[0:4]).ConvertToFloat64())
				d1 := xs.Sub(archsimd.LoadFloat32x4Slice(y[4:8]).ConvertToFloat64())
				s0, s1 = d0.MulAdd(d0, s0), d1.MulAdd(d1, s1)
				a0, a1 = a0.Add(d0.Max(zero.Sub(d0))), a1.Add(d1.Max(zero.Sub(d1)))
				at += m
			}
		}
		s0.Mul(squared).Add(a0.Mul(absolute)).StoreSlice(dst[j:])
		s1.Mul(squared).Add(a1.Mul(absolute)).StoreSlice(dst[j+4:])
	}
	archsimd.ClearAVXUpperBits()
}

func pullRow256(dst, weights, x []float64, columns []float32, m int, c Mixture) {
	mixed := mixes(c)
	var zero archsimd.Float64x4
	for k := range x {
		xs := archsimd.BroadcastFloat64x4(x[k])
		column := columns[k*m:][:m]
		var squared, absolute archsimd.Float64x4
		j := 0
		for ; j+4 <= m; j += 4 {
			d := xs.Sub(archsimd.LoadFloat32x4Slice(column[j:]).ConvertToFloat64())
			w := archsimd.LoadFloat64x4Slice(weights[j:])
			squared = d.MulAdd(w, squared)
			if mixed {
				absolute = absolute.Add(w.Masked(d.Greater(zero))).Sub(w.Masked(d.Less(zero)))
			}
		}
		var s, a [4]float64
		squared.Store(&s)
		absolute.Store(&a)
		archsimd.ClearAVXUpperBits()
		dst[k] += 2*c.Squared*sum4(&s) + c.Absolute*sum4(&a)
		if j < m {
			pullRowPlain(dst[k:k+1], weights[j:], x[k:k+1], column[j:], m-j, c)
		}
	}
}

func pullPair256(dst []float64, x, y []float32, weight float64, c Mixture) {
	squared, absolute, w := archsimd.BroadcastFloat64x4(2*c.Squared), archsimd.BroadcastFloat64x4(c.Absolute), archsimd.BroadcastFloat64x4(weight)
	var zero archsimd.Float64x4
	dst, y = dst[:len(x)], y[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		to, a, b := (*[4]float64)(dst[k:]), (*[4]float32)(x[k:]), (*[4]float32)(y[k:])
		d := archsimd.LoadFloat32x4(a).ConvertToFloat64().Sub(archsimd.LoadFloat32x4(b).ConvertToFloat64())
		sign := absolute.Masked(d.Greater(zero)).Sub(absolute.Masked(d.Less(zero)))
		archsimd.LoadFloat64x4(to).Add(d.Mul(squared).Add(sign).Mul(w)).Store(to)
	}
	archsimd.ClearAVXUpperBits()
	pullPairPlain(dst[k:], x[k:], y[k:], weight, c)
}

// Four rows by half a panel at a time: eight sums for sixteen registers.
func multiply256(dst []float64, stride, rows, lanes int, a []float64, panel []float64) {
	inner := len(panel) / PanelWidth
	a0, a1, a2, a3 := a[:inner], a[inner:][:inner], a[2*inner:][:inner], a[3*inner:][:inner]
	var sums [4][PanelWidth]float64
	for half := 0; half < PanelWidth; half += 8 {
		var s00, s01, s10, s11, s20, s21, s30, s31 archsimd.Float64x4
		for k := range a0 {
			b := (*[8]float64)(panel[k*PanelWidth+half:])
			b0, b1 := archsimd.LoadFloat64x4Slice(b[:4]), archsimd.LoadFloat64x4Slice(b[4:])
			v := archsimd.BroadcastFloat64x4(a0[k])
			s00, s01 = v.MulAdd(b0, s00), v.MulAdd(b1, s01)
			v = archsimd.BroadcastFloat64x4(a1[k])
			s10, s11 = v.MulAdd(b0, s10), v.MulAdd(b1, s11)
			v = archsimd.BroadcastFloat64x4(a2[k])
			s20, s21 = v.MulAdd(b0, s20), v.MulAdd(b1, s21)
			v = archsimd.BroadcastFloat64x4(a3[k])
			s30, s31 = v.MulAdd(b0, s30), v.MulAdd(b1, s31)
		}
		s00.StoreSlice(sums[0][half:])
		s01.StoreSlice(sums[0][half+4:])
		s10.StoreSlice(sums[1][half:])
		s11.StoreSlice(sums[1][half+4:])
		s20.StoreSlice(sums[2][half:])
		s21.StoreSlice(sums[2][half+4:])
		s30.StoreSlice(sums[3][half:])
		s31.StoreSlice(sums[3][half+4:])
	}
	archsimd.ClearAVXUpperBits()
	for i := range rows {
		copy(dst[i*stride:][:lanes], sums[i][:])
	}
}

func shiftRow256(dst []float64, x []float32, center []float64, factor float64) {
	f := archsimd.BroadcastFloat64x4(factor)
	dst, center = dst[:len(x)], center[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		v := archsimd.LoadFloat32x4Slice(x[k:]).ConvertToFloat64()
		v.Sub(archsimd.LoadFloat64x4Slice(center[k:])).Mul(f).StoreSlice(dst[k:])
	}
	archsimd.ClearAVXUpperBits()
	shiftRowPlain(dst[k:], x[k:], center[k:], factor)
}

func dotRow256(a, b []float64) float64 {
	var s0, s1, s2, s3 archsimd.Float64x4
	b = b[:len(a)]
	j := 0
	for ; j+16 <= len(a); j += 16 {
		p, q := (*[16]float64)(a[j:]), (*[16]float64)(b[j:])
		s0 = archsimd.LoadFloat64x4Slice(p[:4]).MulAdd(archsimd.LoadFloat64x4Slice(q[:4]), s0)
		s1 = archsimd.LoadFloat64x4Slice(p[4:8]).MulAdd(archsimd.LoadFloat64x4Slice(q[4:8]), s1)
		s2 = archsimd.LoadFloat64x4Slice(p[8:12]).MulAdd(archsimd.LoadFloat64x4Slice(q[8:12]), s2)
		s3 = archsimd.LoadFloat64x4Slice(p[12:]).MulAdd(archsimd.LoadFloat64x4Slice(q[12:]), s3)
	}
	var lanes [4]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(&lanes)
	archsimd.ClearAVXUpperBits()
	return sum4(&lanes) + dotRowPlain(a[j:], b[j:])
}

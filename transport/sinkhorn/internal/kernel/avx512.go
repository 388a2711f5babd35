//go:build goexperiment.simd && amd64

package kernel

import (
	"math"
	"simd/archsimd"
)

func init() {
	switch {
	case archsimd.X86.AVX512():
		PlanRow, AddScaled, MixtureRow, PullRow, Multiply, ShiftRow, DotRow, PullPair = planRow512, addScaled512, mixtureRow512, pullRow512, multiply512, shiftRow512, dotRow512, pullPair512
	case archsimd.X86.AVX2() && archsimd.X86.FMA():
		PlanRow, AddScaled, MixtureRow, PullRow, Multiply, ShiftRow, DotRow, PullPair = planRow256, addScaled256, mixtureRow256, pullRow256, multiply256, shiftRow256, dotRow256, pullPair256
	}
}

// e^x is 2^k·e^r with k = x/ln 2, rounded, and |r| ≤ ln 2/2. The polynomial
// interpolates e^r at the Chebyshev points of that interval; it is off by at
// most 3.3e-16 of e^r.
const (
	log2e = 1 / math.Ln2
	ln2Hi = 6.93147180369123816490e-01 // ln 2 in two parts, the first of 33 bits
	ln2Lo = 1.90821492927058770002e-10

	// Adding 1.5·2^52 rounds to a whole number k and leaves it in the low bits,
	// from where it is added to the exponent of the polynomial: p·2^k. (AVX-512
	// has instructions for both. They take twice the time.) Outside of
	// lowestExp … highestExp the exponent would wrap, so x stays within.
	wholeBits  = 0x1.8p52
	lowestExp  = -707
	highestExp = 709

	exp0  = 1
	exp1  = 1.0000000000000067423
	exp2  = 0.50000000000000056169
	exp3  = 0.16666666666554404471
	exp4  = 0.041666666666573142611
	exp5  = 0.0083333333856677824706
	exp6  = 0.0013888888932488598181
	exp7  = 0.00019841170270440068401
	exp8  = 0.000024801504346997687255
	exp9  = 2.764018079620985113e-6
	exp10 = 2.7626357241447222855e-7
)

func sum8(lanes *[8]float64) float64 {
	return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

// Only sixteen registers are in use by the compiler, so those that a loop needs
// all the time (total) are kept there by loading the constants each time.
var (
	all512 = func(v float64) (lanes [8]float64) {
		for i := range lanes {
			lanes[i] = v
		}
		return lanes
	}
	scale512, hi512, lo512         = all512(log2e), all512(-ln2Hi), all512(-ln2Lo)
	whole512, floor512, ceiling512 = all512(wholeBits), all512(lowestExp), all512(highestExp)
	c512                           = [11][8]float64{all512(exp0), all512(exp1), all512(exp2), all512(exp3), all512(exp4), all512(exp5), all512(exp6), all512(exp7), all512(exp8), all512(exp9), all512(exp10)}
)

func planRow512(dst, v, cost []float64, u, rate float64) float64 {
	shift, slope := archsimd.BroadcastFloat64x8(u), archsimd.BroadcastFloat64x8(-rate)
	var total archsimd.Float64x8
	m := len(cost)
	dst, v = dst[:m], v[:m]
	var restCost, restV, rest [8]float64 // what does not fill a register
	for j := 0; j < m; j += 8 {
		c, w, d := &restCost, &restV, &rest
		if j+8 <= m {
			c, w, d = (*[8]float64)(cost[j:]), (*[8]float64)(v[j:]), (*[8]float64)(dst[j:])
		} else {
			for i := range restV {
				restV[i] = math.Inf(-1) // e^lowestExp, next to nothing in the sum
			}
			copy(restCost[:], cost[j:])
			copy(restV[:], v[j:])
		}
		x := archsimd.LoadFloat64x8(c).MulAdd(slope, archsimd.LoadFloat64x8(w).Add(shift))
		x = x.Max(archsimd.LoadFloat64x8(&floor512)).Min(archsimd.LoadFloat64x8(&ceiling512))
		whole := archsimd.LoadFloat64x8(&whole512)
		marked := x.MulAdd(archsimd.LoadFloat64x8(&scale512), whole)
		k := marked.Sub(whole)
		r := k.MulAdd(archsimd.LoadFloat64x8(&lo512), k.MulAdd(archsimd.LoadFloat64x8(&hi512), x))
		p := archsimd.LoadFloat64x8(&c512[10]).MulAdd(r, archsimd.LoadFloat64x8(&c512[9])).MulAdd(r, archsimd.LoadFloat64x8(&c512[8]))
		p = p.MulAdd(r, archsimd.LoadFloat64x8(&c512[7])).MulAdd(r, archsimd.LoadFloat64x8(&c512[6])).MulAdd(r, archsimd.LoadFloat64x8(&c512[5]))
		p = p.MulAdd(r, archsimd.LoadFloat64x8(&c512[4])).MulAdd(r, archsimd.LoadFloat64x8(&c512[3])).MulAdd(r, archsimd.LoadFloat64x8(&c512[2]))
		p = p.MulAdd(r, archsimd.LoadFloat64x8(&c512[1])).MulAdd(r, archsimd.LoadFloat64x8(&c512[0]))
		e := p.AsInt64x8().Add(marked.AsInt64x8().ShiftAllLeft(52)).AsFloat64x8()
		total = total.Add(e)
		e.Store(d)
	}
	var lanes [8]float64
	total.Store(&lanes)
	archsimd.ClearAVXUpperBits()
	copy(dst[m/8*8:], rest[:])
	return sum8(&lanes)
}

func addScaled512(acc, row []float64, weight float64) {
	w := archsimd.BroadcastFloat64x8(weight)
	acc = acc[:len(row)]
	j := 0
	for ; j+8 <= len(row); j += 8 {
		archsimd.LoadFloat64x8Slice(row[j:]).MulAdd(w, archsimd.LoadFloat64x8Slice(acc[j:])).StoreSlice(acc[j:])
	}
	archsimd.ClearAVXUpperBits()
	addScaledPlain(acc[j:], row[j:], weight)
}

// mixes says whether a cost has absolutes. Compared as a number, that would be asked again
// wherever it is needed, by a scalar among vectors.
func mixes(c Mixture) bool { return math.Float64bits(c.Absolute)<<1 != 0 }

func mixtureRow512(dst, x []float64, columns []float32, m, from int, c Mixture) {
	if len(dst) < 32 {
		mixtureRow256(dst, x, columns, m, from, c)
	} else {
		mixtureBlocks512(dst, x, columns, m, from, c)
	}
}

// The blocks are of a function of their own: they need all registers, and the compiler would
// keep scalars that something else takes by loading them anew each time around.
func mixtureBlocks512(dst, x []float64, columns []float32, m, from int, c Mixture) {
	mixed := mixes(c)
	squared, absolute := archsimd.BroadcastFloat64x8(c.Squared), archsimd.BroadcastFloat64x8(c.Absolute)
	var zero archsimd.Float64x8
	for j := 0; j < len(dst); j += 32 {
		j = min(j, len(dst)-32) // the last block may have columns of the one before, too
		var s0, s1, s2, s3, a0, a1, a2, a3 archsimd.Float64x8
		at := from + j
		if !mixed {
			for k := range x {
				xs, y := archsimd.BroadcastFloat64x8(x[k]), (*[32]float32)(columns[at:])
				d0 := xs.Sub(archsimd.LoadFloat32x8Slice(y[0:8]).ConvertToFloat64())
				d1 := xs.Sub(archsimd.LoadFloat32x8Slice(y[8:16]).ConvertToFloat64())
				d2 := xs.Sub(archsimd.LoadFloat32x8Slice(y[16:24]).ConvertToFloat64())
				d3 := xs.Sub(archsimd.LoadFloat32x8Slice(y[24:32]).ConvertToFloat64())
				s0, s1, s2, s3 = d0.MulAdd(d0, s0), d1.MulAdd(d1, s1), d2.MulAdd(d2, s2), d3.MulAdd(d3, s3)
				at += m
			}
		} else {
			for k := range x {
				xs, y := archsimd.BroadcastFloat64x8(x[k]), (*[32]float32)(columns[at:])
				d0 := xs.Sub(archsimd.LoadFloat32x8Slice(y[0:8]).ConvertToFloat64())
				d1 := xs.Sub(archsimd.LoadFloat32x8Slice(y[8:16]).ConvertToFloat64())
				d2 := xs.Sub(archsimd.LoadFloat32x8Slice(y[16:24]).ConvertToFloat64())
				d3 := xs.Sub(archsimd.LoadFloat32x8Slice(y[24:32]).ConvertToFloat64())
				s0, s1, s2, s3 = d0.MulAdd(d0, s0), d1.MulAdd(d1, s1), d2.MulAdd(d2, s2), d3.MulAdd(d3, s3)
				a0, a1 = a0.Add(d0.Max(zero.Sub(d0))), a1.Add(d1.Max(zero.Sub(d1)))
				a2, a3 = a2.Add(d2.Max(zero.Sub(d2))), a3.Add(d3.Max(zero.Sub(d3)))
				at += m
			}
		}
		s0.Mul(squared).Add(a0.Mul(absolute)).StoreSlice(dst[j:])
		s1.Mul(squared).Add(a1.Mul(absolute)).StoreSlice(dst[j+8:])
		s2.Mul(squared).Add(a2.Mul(absolute)).StoreSlice(dst[j+16:])
		s3.Mul(squared).Add(a3.Mul(absolute)).StoreSlice(dst[j+24:])
	}
	archsimd.ClearAVXUpperBits()
}

func pullRow512(dst, weights, x []float64, columns []float32, m int, c Mixture) {
	mixed := mixes(c)
	var zero archsimd.Float64x8
	for k := range x {
		xs := archsimd.BroadcastFloat64x8(x[k])
		column := columns[k*m:][:m]
		var squared, absolute archsimd.Float64x8
		j := 0
		for ; j+8 <= m; j += 8 {
			d := xs.Sub(archsimd.LoadFloat32x8Slice(column[j:]).ConvertToFloat64())
			w := archsimd.LoadFloat64x8Slice(weights[j:])
			squared = d.MulAdd(w, squared)
			if mixed {
				absolute = absolute.Add(w.Masked(d.Greater(zero))).Sub(w.Masked(d.Less(zero)))
			}
		}
		var s, a [8]float64
		squared.Store(&s)
		absolute.Store(&a)
		archsimd.ClearAVXUpperBits()
		dst[k] += 2*c.Squared*sum8(&s) + c.Absolute*sum8(&a)
		if j < m {
			pullRowPlain(dst[k:k+1], weights[j:], x[k:k+1], column[j:], m-j, c)
		}
	}
}

func pullPair512(dst []float64, x, y []float32, weight float64, c Mixture) {
	squared, absolute, w := archsimd.BroadcastFloat64x8(2*c.Squared), archsimd.BroadcastFloat64x8(c.Absolute), archsimd.BroadcastFloat64x8(weight)
	var zero archsimd.Float64x8
	dst, y = dst[:len(x)], y[:len(x)]
	k := 0
	for ; k+8 <= len(x); k += 8 {
		to, a, b := (*[8]float64)(dst[k:]), (*[8]float32)(x[k:]), (*[8]float32)(y[k:])
		d := archsimd.LoadFloat32x8(a).ConvertToFloat64().Sub(archsimd.LoadFloat32x8(b).ConvertToFloat64())
		sign := absolute.Masked(d.Greater(zero)).Sub(absolute.Masked(d.Less(zero)))
		archsimd.LoadFloat64x8(to).Add(d.Mul(squared).Add(sign).Mul(w)).Store(to)
	}
	archsimd.ClearAVXUpperBits()
	pullPairPlain(dst[k:], x[k:], y[k:], weight, c)
}

func multiply512(dst []float64, stride, rows, lanes int, a []float64, panel []float64) {
	inner := len(panel) / PanelWidth
	a0, a1, a2, a3 := a[:inner], a[inner:][:inner], a[2*inner:][:inner], a[3*inner:][:inner]
	var s00, s01, s10, s11, s20, s21, s30, s31 archsimd.Float64x8
	for k := range a0 {
		b := (*[PanelWidth]float64)(panel[k*PanelWidth:])
		b0, b1 := archsimd.LoadFloat64x8Slice(b[:8]), archsimd.LoadFloat64x8Slice(b[8:])
		v := archsimd.BroadcastFloat64x8(a0[k])
		s00, s01 = v.MulAdd(b0, s00), v.MulAdd(b1, s01)
		v = archsimd.BroadcastFloat64x8(a1[k])
		s10, s11 = v.MulAdd(b0, s10), v.MulAdd(b1, s11)
		v = archsimd.BroadcastFloat64x8(a2[k])
		s20, s21 = v.MulAdd(b0, s20), v.MulAdd(b1, s21)
		v = archsimd.BroadcastFloat64x8(a3[k])
		s30, s31 = v.MulAdd(b0, s30), v.MulAdd(b1, s31)
	}
	if rows == 4 && lanes == PanelWidth {
		d := dst[:PanelWidth]
		s00.StoreSlice(d[:8])
		s01.StoreSlice(d[8:])
		d = dst[stride:][:PanelWidth]
		s10.StoreSlice(d[:8])
		s11.StoreSlice(d[8:])
		d = dst[2*stride:][:PanelWidth]
		s20.StoreSlice(d[:8])
		s21.StoreSlice(d[8:])
		d = dst[3*stride:][:PanelWidth]
		s30.StoreSlice(d[:8])
		s31.StoreSlice(d[8:])
		archsimd.ClearAVXUpperBits()
		return
	}
	var sums [4][PanelWidth]float64
	s00.StoreSlice(sums[0][:8])
	s01.StoreSlice(sums[0][8:])
	s10.StoreSlice(sums[1][:8])
	s11.StoreSlice(sums[1][8:])
	s20.StoreSlice(sums[2][:8])
	s21.StoreSlice(sums[2][8:])
	s30.StoreSlice(sums[3][:8])
	s31.StoreSlice(sums[3][8:])
	archsimd.ClearAVXUpperBits()
	for i := range rows {
		copy(dst[i*stride:][:lanes], sums[i][:])
	}
}

func shiftRow512(dst []float64, x []float32, center []float64, factor float64) {
	f := archsimd.BroadcastFloat64x8(factor)
	dst, center = dst[:len(x)], center[:len(x)]
	k := 0
	for ; k+8 <= len(x); k += 8 {
		v := archsimd.LoadFloat32x8Slice(x[k:]).ConvertToFloat64()
		v.Sub(archsimd.LoadFloat64x8Slice(center[k:])).Mul(f).StoreSlice(dst[k:])
	}
	archsimd.ClearAVXUpperBits()
	shiftRowPlain(dst[k:], x[k:], center[k:], factor)
}

func dotRow512(a, b []float64) float64 {
	var s0, s1, s2, s3 archsimd.Float64x8
	b = b[:len(a)]
	j := 0
	for ; j+32 <= len(a); j += 32 {
		p, q := (*[32]float64)(a[j:]), (*[32]float64)(b[j:])
		s0 = archsimd.LoadFloat64x8Slice(p[:8]).MulAdd(archsimd.LoadFloat64x8Slice(q[:8]), s0)
		s1 = archsimd.LoadFloat64x8Slice(p[8:16]).MulAdd(archsimd.LoadFloat64x8Slice(q[8:16]), s1)
		s2 = archsimd.LoadFloat64x8Slice(p[16:24]).MulAdd(archsimd.LoadFloat64x8Slice(q[16:24]), s2)
		s3 = archsimd.LoadFloat64x8Slice(p[24:]).MulAdd(archsimd.LoadFloat64x8Slice(q[24:]), s3)
	}
	var lanes [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(&lanes)
	archsimd.ClearAVXUpperBits()
	return sum8(&lanes) + dotRowPlain(a[j:], b[j:])
}

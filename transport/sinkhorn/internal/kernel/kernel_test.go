package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// set is one implementation of the inner loops.
type set struct {
	name       string
	planRow    func(dst, v, cost []float64, u, rate float64) float64
	addScaled  func(acc, row []float64, weight float64)
	mixtureRow func(dst, x []float64, columns []float32, m, from int, c Mixture)
	pullRow    func(dst, weights, x []float64, columns []float32, m int, c Mixture)
	multiply   func(dst []float64, stride, rows, lanes int, a []float64, panel []float64)
	shiftRow   func(dst []float64, x []float32, center []float64, factor float64)
	dotRow     func(a, b []float64) float64
	pullPair   func(dst []float64, x, y []float32, weight float64, c Mixture)
}

// sets are what this processor can run; simd_test.go adds to them.
var sets = []set{{"plain", planRowPlain, addScaledPlain, mixtureRowPlain, pullRowPlain, multiplyPlain, shiftRowPlain, dotRowPlain, pullPairPlain}}

// Every implementation is compared with sums in plain Go by the definition, for
// lengths around the widths of registers.
func TestKernelsComputeTheirDefinition(t *testing.T) {
	for _, k := range sets {
		t.Run(k.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for _, m := range []int{1, 3, 7, 8, 9, 31, 32, 33, 65, 100} {
				const dim = 5
				x, columns := make([]float64, dim), make([]float32, dim*m)
				for i := range x {
					x[i] = float64(float32(rng.NormFloat64()))
				}
				for i := range columns {
					columns[i] = float32(rng.NormFloat64())
					if i%11 == 0 {
						columns[i] = float32(x[i/m]) // no difference: the slope of |t| at 0
					}
				}
				v, cost, weights := make([]float64, m), make([]float64, m), make([]float64, m)
				for j := range m {
					v[j], cost[j], weights[j] = rng.NormFloat64(), 300*rng.Float64(), rng.Float64()
				}
				u, rate := 2.5, 2.
				dst := make([]float64, m)
				sum, want := k.planRow(dst, v, cost, u, rate), 0.
				for j := range m {
					e := math.Exp(u + v[j] - rate*cost[j])
					want += e
					near(t, "plan", dst[j], e, 2e-13*e) // the exponent itself is rounded to 1e-13
				}
				near(t, "sum of the plan", sum, want, 2e-13*want)

				want = 0
				for j := range m {
					want += v[j] * cost[j]
				}
				near(t, "dot product", k.dotRow(v, cost), want, 1e-11)
				acc := append([]float64(nil), v...)
				k.addScaled(acc, cost, 0.3)
				for j := range m {
					near(t, "sum", acc[j], v[j]+0.3*cost[j], 1e-13)
				}
				shifted := make([]float64, m)
				k.shiftRow(shifted, columns[:m], v, -2)
				for j := range m {
					near(t, "shift", shifted[j], -2*(float64(columns[j])-v[j]), 0)
				}
				a, panel := make([]float64, 4*m), make([]float64, m*PanelWidth)
				for i := range a {
					a[i] = rng.NormFloat64()
				}
				for i := range panel {
					panel[i] = rng.NormFloat64()
				}
				for rows := range 5 {
					const stride, untouched = 40, -7.
					lanes := 1 + m%PanelWidth
					product := make([]float64, 4*stride)
					for i := range product {
						product[i] = untouched
					}
					k.multiply(product, stride, rows, lanes, a, panel)
					for i, got := range product {
						want := untouched
						if i/stride < rows && i%stride < lanes {
							want = 0
							for inner := range m {
								want = math.FMA(a[i/stride*m+inner], panel[inner*PanelWidth+i%stride], want)
							}
						}
						near(t, "product", got, want, 0) // in this very order: see rows
					}
				}
				for _, c := range []Mixture{{1, 0}, {0, 1}, {0.5, 3}} {
					from := m / 3
					k.mixtureRow(dst[:m-from], x, columns, m, from, c)
					pulled := make([]float64, dim)
					k.pullRow(pulled, weights, x, columns, m, c)
					wantPull, y := make([]float64, dim), make([]float32, dim)
					for j := range m {
						for i := range y {
							y[i] = columns[i*m+j]
						}
						var cost float64
						for i := range y {
							d := x[i] - float64(y[i])
							cost += c.Squared*d*d + c.Absolute*math.Abs(d)
							slope := 2 * c.Squared * d
							if d != 0 {
								slope += math.Copysign(c.Absolute, d)
							}
							wantPull[i] += weights[j] * slope
						}
						if j >= from {
							near(t, "cost", dst[j-from], cost, 1e-13)
						}
					}
					for i := range pulled {
						near(t, "pull", pulled[i], wantPull[i], 1e-12)
					}
					one, other := columns[:m], columns[dim*m-m:]
					pair, wantPair := slices.Clone(v), slices.Clone(v)
					k.pullPair(pair, one, other, -0.7, c)
					pullPairPlain(wantPair, one, other, -0.7, c)
					for i := range pair {
						near(t, "pair's pull", pair[i], wantPair[i], 0) // rounded likewise
					}
				}
			}
		})
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Fatalf("%s is %v; want %v ± %v", what, got, want, tolerance)
	}
}

// The exponential to its last digits, over its whole range, and what is outside.
func TestKernelsExponential(t *testing.T) {
	for _, k := range sets {
		v, zero, dst := make([]float64, 4000), make([]float64, 4000), make([]float64, 4000)
		for j := range v {
			v[j] = -700 + 1400*float64(j)/float64(len(v))
		}
		k.planRow(dst, v, zero, 0, 1)
		for j, x := range v {
			near(t, k.name+": e^x", dst[j], math.Exp(x), 1e-15*math.Exp(x))
		}
		for j := range v {
			v[j] = -800 * math.Pow(10, float64(j%20)) // up to 1e22
		}
		if sum := k.planRow(dst, v, zero, 0, 1); !(sum >= 0 && sum < 1e-280) {
			t.Errorf("%s: exponentials of less than −800 add up to %v; want next to nothing", k.name, sum)
		}
		// A length that fills no register, from a start far away.
		for j := range v[:3] {
			v[j] = -1e5
		}
		near(t, k.name+": sum of three", k.planRow(dst[:3], v[:3], zero[:3], 1e5, 1), 3, 1e-12)
		for j := range v {
			v[j] = 1000
		}
		if sum := k.planRow(dst, v, zero, 0, 1); !(sum > 1e280) {
			t.Errorf("%s: exponentials of 1000 add up to %v; want more than 1e280, which is seen", k.name, sum)
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	const m, dim = 2000, 64
	one, other := make([]float32, m), make([]float32, m)
	for j := range one {
		one[j], other[j] = float32(j%37), float32(j%29)
	}
	dst, v, cost := make([]float64, m), make([]float64, m), make([]float64, m)
	x, columns := make([]float64, dim), make([]float32, dim*m)
	for j := range cost {
		cost[j] = float64(j % 37)
	}
	for _, k := range sets {
		for _, loop := range []struct {
			name string
			run  func()
		}{
			{"product", func() { k.multiply(dst, PanelWidth, 4, PanelWidth, v[:4*dim], cost[:dim*PanelWidth]) }},
			{"plan", func() { k.planRow(dst, v, cost, -1, 0.7) }},
			{"dot", func() { k.dotRow(dst, v) }},
			{"add", func() { k.addScaled(dst, v, 0.7) }},
			{"squares", func() { k.mixtureRow(dst, x, columns, m, 0, Mixture{1, 0}) }},
			{"mixture", func() { k.mixtureRow(dst, x, columns, m, 0, Mixture{1, 1}) }},
			{"pair", func() { k.pullPair(dst, one, other, 0.1, Mixture{1, 1}) }},
			{"pull", func() { k.pullRow(dst[:dim], v, x, columns, m, Mixture{1, 0}) }},
		} {
			b.Run(loop.name+"/"+k.name, func(b *testing.B) {
				for b.Loop() {
					loop.run()
				}
			})
		}
	}
}

package sinkhorn

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"molehill/transport/sinkhorn/internal/kernel"
)

const (
	scaleBlock  = 10    // iterations that share a kernel
	scaleLimit  = 1e100 // of a scaling
	scaleMargin = 0.8   // of the tolerance: where the sweeps stop
)

// Scale returns the potentials of balanced transport for costs that are known already,
// [n·m] row by row, between masses a, [n], and b, [m], at least 0 and divided by their
// sums here. It is for one core, and for problems of so few points that Solve spends
// its time on logarithms of each of them: for 50 by 90 it takes a third of that. Of the
// solver's settings it takes Epsilon, Tolerance and MaxIterations.
//
// It goes as package graph does on a device. Blocks of iterations scale one kernel
// K_ij = exp((f_i + g_j − C_ij)/ε), v ← 1/Kᵀ(a∘u), u ← 1/K(b∘v), and then move the
// scalings into the potentials (Schmitzer 2019); ε falls by a factor of four from
// block to block, from a sixteenth of the largest cost.
func (s Solver) Scale(costs, a, b []float64) (Potentials, error) {
	s, err := s.checked()
	if err != nil {
		return Potentials{}, err
	}
	if a, err = shares("a", a); err == nil {
		b, err = shares("b", b)
	}
	n, m := len(a), len(b)
	switch {
	case err != nil:
		return Potentials{}, err
	case s.Reach != 0 || s.Start != nil || s.Online:
		return Potentials{}, fmt.Errorf("sinkhorn: Scale is for balanced transport that begins anew, with its costs in memory; leave out Reach, Start and Online")
	case len(costs) != n*m:
		return Potentials{}, fmt.Errorf("sinkhorn: %d costs between %d and %d points; give one for each pair", len(costs), n, m)
	}
	if sum := floats.Sum(costs); math.IsNaN(sum) || math.IsInf(sum, 0) {
		return Potentials{}, fmt.Errorf("sinkhorn: costs that are not finite, or overflow")
	}
	t := scaled{costs: costs, a: a, b: b, kernel: make([]float64, n*m), u: make([]float64, n), v: make([]float64, m), columns: make([]float64, m)}
	t.minima()
	for t.epsilon = max(s.Epsilon, slices.Max(costs)/16); ; t.epsilon = max(s.Epsilon, t.epsilon/4) {
		off := t.block()
		if s.MaxIterations -= scaleBlock; s.MaxIterations <= 0 || t.epsilon == s.Epsilon && off <= scaleMargin*s.Tolerance {
			break
		}
	}
	t.epsilon = s.Epsilon
	t.settle()
	return t.Potentials, nil
}

func shares(name string, weights []float64) ([]float64, error) {
	sum := floats.Sum(weights)
	if !(sum > 0) || math.IsInf(sum, 0) || slices.Min(weights) < 0 {
		return nil, fmt.Errorf("sinkhorn: masses %s of sum %v; they are at least 0, and not all of them 0", name, sum)
	}
	shares := slices.Clone(weights)
	floats.Scale(1/sum, shares)
	return shares, nil
}

// scaled is a problem of Scale under way.
type scaled struct {
	Potentials
	costs, kernel []float64 // [n·m]
	a, u          []float64 // [n]
	b, v, columns []float64 // [m]
	epsilon       float64
}

// row is row i of a matrix.
func (t *scaled) row(matrix []float64, i int) []float64 {
	m := len(t.b)
	return matrix[i*m : (i+1)*m : (i+1)*m]
}

// minima are the first potentials, those of the kernel's limit as ε → 0 among points
// that have mass: each row and each column of the first kernel has an entry 1, and of
// those that count none is above it.
func (t *scaled) minima() {
	t.F, t.G = make([]float64, len(t.a)), make([]float64, len(t.b))
	for j := range t.G {
		t.G[j] = math.Inf(1)
	}
	for i := range t.F {
		costs := t.row(t.costs, i)
		t.F[i] = math.Inf(1)
		for j, c := range costs {
			if t.b[j] > 0 {
				t.F[i] = min(t.F[i], c)
			}
		}
		if t.a[i] == 0 {
			continue
		}
		for j, c := range costs {
			t.G[j] = min(t.G[j], c-t.F[i])
		}
	}
}

// block makes iterations and returns how far the columns' marginals are off.
func (t *scaled) block() (off float64) {
	for j, g := range t.G {
		t.v[j] = g / t.epsilon
	}
	for i, f := range t.F {
		kernel.PlanRow(t.row(t.kernel, i), t.v, t.row(t.costs, i), f/t.epsilon, 1/t.epsilon)
		for j, k := range t.row(t.kernel, i) {
			if k < 1e-150 {
				t.kernel[i*len(t.b)+j] = 0 // products of it are no numbers below the normal ones, which take a hundred times as long
			}
		}
		t.u[i] = 1
	}
	weighed := make([]float64, len(t.b)) // b∘v
	for range scaleBlock {
		t.sum()
		for j, sum := range t.columns {
			t.v[j] = bounded(1 / sum)
			weighed[j] = t.b[j] * t.v[j]
		}
		for i := range t.u {
			t.u[i] = bounded(1 / kernel.DotRow(t.row(t.kernel, i), weighed))
		}
	}
	t.sum()
	for j, sum := range t.columns {
		off += t.b[j] * math.Abs(t.v[j]*sum-1)
		t.G[j] += t.epsilon * math.Log(t.v[j])
	}
	for i, u := range t.u {
		t.F[i] += t.epsilon * math.Log(u)
	}
	return off
}

// sum writes Kᵀ(a∘u) to columns.
func (t *scaled) sum() {
	clear(t.columns)
	for i, u := range t.u {
		kernel.AddScaled(t.columns, t.row(t.kernel, i), t.a[i]*u)
	}
}

func bounded(u float64) float64 { return min(max(u, 1/scaleLimit), scaleLimit) }

// settle makes the rows' half of an iteration at ε itself, with sums that nothing
// overflows: where the limit cut the iterations short, at a larger ε perhaps, the
// kernel could be infinite, and now its rows sum to 1.
func (t *scaled) settle() {
	for i := range t.F {
		costs, most, sum := t.row(t.costs, i), math.Inf(-1), 0.
		for j, c := range costs {
			if t.b[j] > 0 {
				most = max(most, (t.G[j]-c)/t.epsilon)
			}
		}
		for j, c := range costs {
			if t.b[j] > 0 {
				sum += t.b[j] * math.Exp((t.G[j]-c)/t.epsilon-most)
			}
		}
		t.F[i] = -t.epsilon * (most + math.Log(sum))
	}
}

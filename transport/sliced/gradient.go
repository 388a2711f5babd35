package sliced

import (
	"fmt"
	"math"
	"slices"

	"molehill/privacy/clip"
	"molehill/transport"
)

// Outputs are what a sliced loss sees of a network g_θ on n records: the
// outputs and their derivatives by the r parameters θ, in full. They are the
// reference for training, which never writes the Jacobians down.
type Outputs struct {
	Dim, Parameters int       // d and r
	Values          []float64 // g_θ(x_i), [n, d]
	Jacobians       []float64 // J_θ g_θ(x_i), [n, d, r]; nil where outputs do not depend on θ
}

// Len returns n.
func (o Outputs) Len() int {
	if o.Dim < 1 {
		return 0
	}
	return len(o.Values) / o.Dim
}

// Clip returns a copy with ‖g_θ(x_i)‖ ≤ radius and ‖J_θ g_θ(x_i)‖ ≤ steepness in
// spectral norm, whatever the records are: 004's inner clipping (Eq. 5), which
// clips each of the d rows of a Jacobian to steepness/√d (Remark A.2). An output
// or a row that is not finite becomes zero.
func (o Outputs) Clip(radius, steepness float64) (Outputs, error) {
	c := o
	c.Values, c.Jacobians = slices.Clone(o.Values), slices.Clone(o.Jacobians)
	if err := clip.Rows(c.Values, o.Dim, radius); err != nil {
		return Outputs{}, err
	}
	if c.Jacobians != nil {
		if err := clip.Rows(c.Jacobians, o.Parameters, steepness/math.Sqrt(float64(o.Dim))); err != nil {
			return Outputs{}, err
		}
	}
	return c, nil
}

func (o Outputs) check(u Directions, parameters int) error {
	if err := u.check(o.Dim); err != nil {
		return err
	}
	if len(o.Values) == 0 || len(o.Values)%o.Dim != 0 {
		return fmt.Errorf("sliced: %d outputs of dimension %d; want [n, %[2]d] numbers of at least one record", len(o.Values), o.Dim)
	}
	if o.Jacobians != nil && (o.Parameters != parameters || len(o.Jacobians) != len(o.Values)*o.Parameters) {
		return fmt.Errorf("sliced: %d numbers of Jacobians by %d parameters; want [%d, %d, %d]", len(o.Jacobians), o.Parameters, o.Len(), o.Dim, parameters)
	}
	for i, v := range o.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("sliced: output %d has %v; clip outputs before their gradient", i/o.Dim, v)
		}
	}
	return nil
}

// Gradient returns ∇_θ SW²₂(g_θ#P_X, h_θ#P_Z) over directions u, [r], of the
// outputs x of n and z of m records (004, Theorem A.1; for d = 1 and one
// direction its Theorem 4.1):
//
//	Σ_i J_iᵀ·∂SW²₂/∂g_θ(x_i) + Σ_j J_jᵀ·∂SW²₂/∂h_θ(z_j)
//
// with the derivatives of OutputGradients. Clipped outputs make it what
// GradientLimits bounds.
func Gradient(x, z Outputs, u Directions) ([]float64, error) {
	parameters := x.Parameters
	if x.Jacobians == nil {
		parameters = z.Parameters
	}
	for _, o := range []Outputs{x, z} {
		if err := o.check(u, parameters); err != nil {
			return nil, err
		}
	}
	byX, byZ := OutputGradients(x.Values, z.Values, u)
	gradient := make([]float64, parameters)
	for _, side := range []struct{ by, jacobians []float64 }{{byX, x.Jacobians}, {byZ, z.Jacobians}} {
		if side.jacobians == nil {
			continue
		}
		for row, weight := range side.by {
			for p, v := range side.jacobians[row*parameters : (row+1)*parameters] {
				gradient[p] += weight * v
			}
		}
	}
	return gradient, nil
}

// OutputGradients returns the derivatives of SW²₂ over the k directions u by the
// outputs x, [n, d], and z, [m, d] (004, Proposition 3.2):
//
//	∂SW²₂/∂x_i = (2/(n·k))·Σ_l θ_l·(⟨θ_l, x_i⟩ − T_l(x_i))
//
// where T_l(x_i) is the mean of what the optimal plan on direction l gives to
// x_i.
//
// Where projections coincide, as those of clipped outputs often do, the plan is
// not unique, and the paper takes any. Here records that coincide share what the
// plan gives to all of them. That is the mean over all ways to break the tie, so
// every bound for a fixed way holds, and the gradient does not depend on the
// order of the records, as Definition 2.1 of 004 asks: neighbours are equal up
// to a permutation. With ties broken by position a mere permutation can move the
// gradient by 4·M·L, n/3 times the sensitivity of Theorem 4.1.
func OutputGradients(x, z []float64, u Directions) (byX, byZ []float64) {
	n, m := len(x)/u.Dim, len(z)/u.Dim
	byX, byZ = make([]float64, len(x)), make([]float64, len(z))
	left, right := newLine(n), newLine(m)
	for l := range u.Count {
		direction := u.Row(l)
		left.project(x, direction)
		right.project(z, direction)
		transport.Couple(n, m, func(i, j, mass int) {
			a, b := left.order[i], right.order[j]
			left.targets[a] += float64(mass) / float64(m) * right.at[b]
			right.targets[b] += float64(mass) / float64(n) * left.at[a]
		})
		left.pull(byX, direction, 2/(float64(n)*float64(u.Count)))
		right.pull(byZ, direction, 2/(float64(m)*float64(u.Count)))
	}
	return byX, byZ
}

// line is one side of a plan on a direction.
type line struct {
	at      []float64 // projections
	order   []int     // that sorts them
	targets []float64 // T(x_i)
}

func newLine(n int) line {
	return line{at: make([]float64, n), order: make([]int, n), targets: make([]float64, n)}
}

func (l line) project(points []float64, direction []float32) {
	for i := range l.at {
		l.at[i], l.order[i], l.targets[i] = 0, i, 0
		for c, d := range direction {
			l.at[i] += points[i*len(direction)+c] * float64(d)
		}
	}
	slices.SortFunc(l.order, func(a, b int) int {
		switch {
		case l.at[a] < l.at[b]:
			return -1
		case l.at[a] > l.at[b]:
			return 1
		}
		return a - b
	})
}

// pull adds weight·(projection − target) along the direction to each point's
// derivative, ties at their mean target.
func (l line) pull(by []float64, direction []float32, weight float64) {
	for from := 0; from < len(l.order); {
		var sum float64
		to := from
		for ; to < len(l.order) && l.at[l.order[to]] == l.at[l.order[from]]; to++ {
			sum += l.targets[l.order[to]]
		}
		target := sum / float64(to-from)
		for _, i := range l.order[from:to] {
			for c, d := range direction {
				by[i*len(direction)+c] += weight * (l.at[i] - target) * float64(d)
			}
		}
		from = to
	}
}

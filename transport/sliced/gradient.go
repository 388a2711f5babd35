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
	return o.clipped(radius, func(jacobians []float64) error {
		return clip.Rows(jacobians, o.Parameters, steepness/math.Sqrt(float64(o.Dim)))
	})
}

// ClipExact is Clip that clips the singular values of Jacobians in place of their rows
// (004, Remark A.2): the same bound, and less is lost. A Jacobian that is not finite
// becomes zero.
func (o Outputs) ClipExact(radius, steepness float64) (Outputs, error) {
	return o.clipped(radius, func(jacobians []float64) error {
		return clip.Singular(jacobians, o.Dim, o.Parameters, steepness)
	})
}

func (o Outputs) clipped(radius float64, jacobians func([]float64) error) (Outputs, error) {
	c := o
	c.Values, c.Jacobians = slices.Clone(o.Values), slices.Clone(o.Jacobians)
	if err := clip.Rows(c.Values, o.Dim, radius); err != nil {
		return Outputs{}, err
	}
	if c.Jacobians != nil {
		if err := jacobians(c.Jacobians); err != nil {
			return Outputs{}, err
		}
	}
	return c, nil
}

func (o Outputs) check(u Directions, parameters int) error {
	if err := u.Check(o.Dim); err != nil {
		return err
	}
	if len(o.Values) == 0 || len(o.Values)%o.Dim != 0 {
		return fmt.Errorf("sliced: %d outputs of dimension %d; want [n, %[2]d] numbers of at least one record", len(o.Values), o.Dim)
	}
	if parameters < 0 {
		return fmt.Errorf("sliced: derivatives by %d parameters; want at least 0", parameters)
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

// gradient returns ∇_θ SW²₂(g_θ#P_X, h_θ#P_Z) over directions u, [r], of the
// outputs x of n and z of m records (004, Theorem A.1; for d = 1 and one
// direction its Theorem 4.1):
//
//	Σ_i J_iᵀ·∂SW²₂/∂g_θ(x_i) + Σ_j J_jᵀ·∂SW²₂/∂h_θ(z_j)
//
// with the derivatives of OutputGradients. Clipped outputs make it what Limits
// bound.
func gradient(x, z Outputs, u Directions) ([]float64, error) {
	parameters := x.Parameters
	if x.Jacobians == nil {
		parameters = z.Parameters
	}
	for _, o := range []Outputs{x, z} {
		if err := o.check(u, parameters); err != nil {
			return nil, err
		}
	}
	_, byX, byZ, err := OutputGradients(x.Values, z.Values, u)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, parameters)
	for _, side := range []struct{ by, jacobians []float64 }{{byX, x.Jacobians}, {byZ, z.Jacobians}} {
		if side.jacobians == nil {
			continue
		}
		for row, weight := range side.by {
			for p, v := range side.jacobians[row*parameters : (row+1)*parameters] {
				sum[p] += weight * v
			}
		}
	}
	return sum, nil
}

// OutputGradients returns SW²₂ over the k directions u and its derivatives by the
// outputs x, [n, d], and z, [m, d] (004, Proposition 3.2):
//
//	∂SW²₂/∂x_i = (2/(n·k))·Σ_l θ_l·(⟨θ_l, x_i⟩ − T_l(x_i))
//
// where T_l(x_i) is the mean of what the optimal plan on direction l gives to
// x_i. It is all in double precision, where SWGradient is faster: what bounds are proved of.
//
// Where projections coincide, as those of clipped outputs often do, the plan is
// not unique, and the paper takes any. Here records that coincide share what the
// plan gives to all of them. That is the mean over all ways to break the tie, so
// every bound for a fixed way holds, and the gradient does not depend on the
// order of the records, as Definition 2.1 of 004 asks: neighbours are equal up
// to a permutation. With ties broken by position a mere permutation can move the
// gradient by 4·M·L, n/3 times the sensitivity of Theorem 4.1.
func OutputGradients(x, z []float64, u Directions) (power float64, byX, byZ []float64, err error) {
	for _, values := range [][]float64{x, z} {
		if err := (Outputs{Dim: u.Dim, Values: values}).check(u, 0); err != nil {
			return 0, nil, nil, err
		}
	}
	byX, byZ = make([]float64, len(x)), make([]float64, len(z))
	lines := make([]onLine, min(u.Count, linesAtOnce))
	for first := 0; first < u.Count; first += len(lines) {
		lines = lines[:min(len(lines), u.Count-first)]
		transport.InParallel(len(lines), func(l int) { lines[l].solve(x, z, u.Row(first+l)) })
		for l := range lines { // one after the other, the same on any number of cores
			on := &lines[l]
			if on.err != nil {
				return 0, nil, nil, on.err
			}
			power += on.power / float64(u.Count)
			addAlong(byX, on.byX, u.Row(first+l), u.Count)
			addAlong(byZ, on.byZ, u.Row(first+l), u.Count)
		}
	}
	return power, byX, byZ, nil
}

// linesAtOnce bounds the memory for directions that are dealt with side by side.
const linesAtOnce = 32

// onLine is what two samples come to on one direction.
type onLine struct {
	line     transport.Line
	power    float64
	byX, byZ []float64 // derivatives by projections
	err      error
}

func (o *onLine) solve(x, z []float64, direction []float32) {
	d := len(direction)
	if len(o.line.X) == 0 {
		o.line = transport.Line{X: make([]float64, len(x)/d), Y: make([]float64, len(z)/d)}
	}
	projectOutputs(o.line.X, x, direction)
	projectOutputs(o.line.Y, z, direction)
	coupling, err := o.line.Solve()
	if err == nil {
		o.power, err = coupling.Cost(2)
	}
	if err == nil {
		o.byX, o.byZ, err = coupling.Gradient(2)
	}
	o.err = err
}

func projectOutputs(at, outputs []float64, direction []float32) {
	for i := range at {
		at[i] = 0
		for c, d := range direction {
			at[i] += outputs[i*len(direction)+c] * float64(d)
		}
	}
}

// addAlong adds each point's derivative on one of count directions to by.
func addAlong(by, derivatives []float64, direction []float32, count int) {
	for i, v := range derivatives {
		for c, d := range direction {
			by[i*len(direction)+c] += v / float64(count) * float64(d)
		}
	}
}

package sinkhorn

import (
	"math"

	"molehill/transport/sinkhorn/internal/kernel"
)

// Cost is a ground cost c(x, y) between points of R^dim. The costs of this
// package are computed many at a time; any other implementation works too, one
// pair at a time, if several goroutines may use it at once.
type Cost interface {
	// At returns c(x, y); x and y are [dim].
	At(x, y []float32) float64
	// ByX adds weight·∂c/∂x at (x, y) to dst, [dim].
	ByX(dst []float64, x, y []float32, weight float64)
	// ByY adds weight·∂c/∂y at (x, y) to dst, [dim].
	ByY(dst []float64, x, y []float32, weight float64)
}

// Mixture is Squared·‖x−y‖₂² + Absolute·‖x−y‖₁, the cost of 001 Section 4.4
// with Squared = 1 and Absolute = m. The derivative of |t| at 0 is taken as 0.
type Mixture struct {
	Squared, Absolute float64 // both ≥ 0, not both 0
}

// SquaredL2 is ‖x−y‖₂², the cost of W₂².
var SquaredL2 Cost = Mixture{Squared: 1}

// L1 is ‖x−y‖₁.
var L1 Cost = Mixture{Absolute: 1}

// L2 is the Euclidean distance ‖x−y‖₂, the cost of W₁. Its derivative where
// points coincide is taken as 0.
var L2 Cost = Euclidean{}

// Euclidean is ‖x−y‖₂.
type Euclidean struct{}

// Func is a cost of one's own. Its functions are called by several goroutines at
// once.
type Func struct {
	Value func(x, y []float32) float64
	// Slopes adds weight·∂c/∂x to dx and weight·∂c/∂y to dy, each [dim] or nil.
	// Without it there are no gradients by points.
	Slopes func(dx, dy []float64, x, y []float32, weight float64)
}

// At implements Cost.
func (c Mixture) At(x, y []float32) float64 {
	var squares, absolutes float64
	for k := range x {
		d := float64(x[k]) - float64(y[k])
		squares += d * d
		absolutes += math.Abs(d)
	}
	return c.Squared*squares + c.Absolute*absolutes
}

// ByX implements Cost.
func (c Mixture) ByX(dst []float64, x, y []float32, weight float64) {
	kernel.PullPair(dst, x, y, weight, kernel.Mixture(c))
}

// ByY implements Cost.
func (c Mixture) ByY(dst []float64, x, y []float32, weight float64) { c.ByX(dst, y, x, weight) }

// At implements Cost.
func (Euclidean) At(x, y []float32) float64 {
	return math.Sqrt(Mixture{Squared: 1}.At(x, y))
}

// ByX implements Cost.
func (c Euclidean) ByX(dst []float64, x, y []float32, weight float64) {
	if distance := c.At(x, y); distance > 0 {
		Mixture{Squared: 1}.ByX(dst, x, y, weight/(2*distance))
	}
}

// ByY implements Cost.
func (c Euclidean) ByY(dst []float64, x, y []float32, weight float64) { c.ByX(dst, y, x, weight) }

// At implements Cost.
func (c Func) At(x, y []float32) float64 { return c.Value(x, y) }

// ByX implements Cost. Without Slopes what it adds is NaN.
func (c Func) ByX(dst []float64, x, y []float32, weight float64) { c.slopes(dst, nil, x, y, weight) }

// ByY implements Cost. Without Slopes what it adds is NaN.
func (c Func) ByY(dst []float64, x, y []float32, weight float64) { c.slopes(nil, dst, x, y, weight) }

func (c Func) slopes(dx, dy []float64, x, y []float32, weight float64) {
	if c.Slopes != nil {
		c.Slopes(dx, dy, x, y, weight)
		return
	}
	for _, d := range [][]float64{dx, dy} {
		for k := range d {
			d[k] = math.NaN()
		}
	}
}

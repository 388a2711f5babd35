package graph

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/transport"
	"molehill/transport/sinkhorn"
)

// numbers are the settings that a program takes as its first input.
const (
	epsilonAt = iota
	reachAt
	toleranceAt
	scalingAt
	numbers
)

// build is a program as a graph. Its inputs are those of Executor.inputs.
func (e *Executor) build(k program, in []*Node) []*Node {
	next := func(wanted bool) (v *Node) {
		if wanted {
			v, in = in[0], in[1:]
		}
		return v
	}
	number, iterations := next(true), next(true)
	setting := func(at int) *Node { return Reshape(Slice(number, AxisElem(at))) }
	s := settings{
		epsilon: setting(epsilonAt), reach: setting(reachAt), tolerance: setting(toleranceAt), scaling: setting(scalingAt),
		iterations: iterations, unbalanced: k.unbalanced, block: k.block,
	}
	x := Measure{Points: next(true), Weights: next(k.weightsX)}
	f := next(k.startF)
	y, g := x, f
	if !k.same {
		y, g = Measure{Points: next(true), Weights: next(k.weightsY)}, next(k.startG)
	}
	cost := e.Cost
	if k.cost != nil {
		cost, _ = onGraph(k.cost.(sinkhorn.Cost)) // kind has seen that there is one
	}
	r := solve(x, y, f, g, cost, s)
	out := []*Node{r.F, r.G, r.Value, r.Transport, r.MarginalError, r.Iterations}
	if k.wantPlans {
		out = append(out, r.Plan)
	}
	if k.wantGradients {
		// A self term has one node for both sides; each is to have its own gradient,
		// and by symmetry they are halves.
		by := Gradient(ReduceAllSum(r.Value), x.Points, y.Points)
		if k.same {
			by[0] = MulScalar(by[0], 0.5)
			by[1] = by[0]
		}
		out = append(out, by...)
	}
	return out
}

// inputs returns what a program takes, as tensors.
func (e *Executor) inputs(problems []sinkhorn.Problem, s sinkhorn.Solver, settings Sinkhorn, k program) []any {
	values := make([]float64, numbers)
	values[epsilonAt], values[reachAt] = settings.Epsilon, settings.Reach
	values[toleranceAt], values[scalingAt] = settings.tolerance(), settings.scaling()
	in := []any{tensor(k.double, values, numbers), tensors.FromScalar(int32(settings.Iterations))}
	side := func(of func(p sinkhorn.Problem) transport.Measure, weighted bool, start []float64) {
		n, dim := of(problems[0]).Len(), of(problems[0]).Dim
		var points, weights, potentials []float64
		for _, p := range problems {
			m := of(p)
			for _, v := range m.Data {
				points = append(points, float64(v))
			}
			if m.Weights == nil || !k.unbalanced {
				weights = append(weights, m.Shares()...) // of any scale, which float32 might not hold
			} else {
				weights = append(weights, m.Weights...)
			}
			potentials = append(potentials, start...)
		}
		in = append(in, tensor(k.double, points, len(problems), n, dim))
		if weighted {
			in = append(in, tensor(k.double, weights, len(problems), n))
		}
		if start != nil {
			in = append(in, tensor(k.double, potentials, len(problems), n))
		}
	}
	var start sinkhorn.Potentials
	if s.Start != nil {
		start = *s.Start
	}
	side(func(p sinkhorn.Problem) transport.Measure { return p.X }, k.weightsX, start.F)
	if !k.same {
		side(func(p sinkhorn.Problem) transport.Measure { return p.Y }, k.weightsY, start.G)
	}
	return in
}

// tensor returns values as float64 or float32.
func tensor(double bool, values []float64, dims ...int) *tensors.Tensor {
	if double {
		return tensors.FromFlatDataAndDimensions(values, dims...)
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(single, dims...)
}

// results takes a program's outputs apart, one result a problem.
func (e *Executor) results(outputs []*tensors.Tensor, problems int, k program) ([]*Result, error) {
	var flat [][]float64
	iterations := 0
	for _, t := range outputs {
		if t.DType() == dtypes.Int32 {
			iterations = int(tensors.ToScalar[int32](t))
			continue
		}
		values, err := floats(t)
		if err != nil {
			return nil, err
		}
		flat = append(flat, values)
		t.MustFinalizeAll()
	}
	results := make([]*Result, problems)
	for i := range results {
		own := func(values []float64) []float64 {
			size := len(values) / problems
			return values[i*size : (i+1)*size : (i+1)*size]
		}
		r := &Result{
			Potentials: sinkhorn.Potentials{F: own(flat[0]), G: own(flat[1])},
			Dual:       flat[2][i], Transport: flat[3][i], MarginalError: flat[4][i], Iterations: iterations,
		}
		rest := flat[5:]
		if k.wantPlans {
			r.Plan, rest = own(rest[0]), rest[1:]
		}
		if k.wantGradients {
			r.ByX, r.ByY = own(rest[0]), own(rest[1])
		}
		results[i] = r
	}
	return results, nil
}

func floats(t *tensors.Tensor) ([]float64, error) {
	if t.DType() == dtypes.Float64 {
		return tensors.CopyFlatData[float64](t)
	}
	single, err := tensors.CopyFlatData[float32](t)
	values := make([]float64, len(single))
	for i, v := range single {
		values[i] = float64(v)
	}
	return values, err
}

package matching_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/ghost"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/transport/sliced"
)

// small is a model with a convolution, two outputs in the middle and a loss behind.
var small = matching.Model{
	Input:   []int{3, 3, 1},
	Outputs: 2,
	Inner: layer.Sequence{
		layer.Conv2D{Name: "a", In: 1, Out: 2, Kernel: 2, Stride: 1}, layer.Func(graph.Tanh), layer.Flatten,
		layer.LayerNorm{Name: "n", Channels: 8}, layer.Dense{Name: "b", In: 8, Out: 2},
	},
	Outer:  layer.Sequence{layer.Dense{Name: "c", In: 2, Out: 3}},
	Target: []int{3},
	Loss: func(output, target *graph.Node) *graph.Node {
		return graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1)
	},
}

// other has the layers that small has not.
var other = matching.Model{
	Input: small.Input, Outputs: 2, Target: small.Target, Loss: small.Loss,
	Outer: layer.Sequence{layer.Branches{layer.Dense{Name: "c", In: 2, Out: 2}, layer.Sequence{layer.Dense{Name: "d", In: 2, Out: 1}, layer.Func(graph.Tanh)}}},
	Inner: layer.Sequence{
		layer.Residual{Main: layer.Sequence{layer.Conv2D{Name: "a", In: 1, Out: 1, Kernel: 3, Stride: 1, Padding: 1}, layer.Func(graph.Tanh)}, Shortcut: layer.Sequence{}},
		layer.ConvTranspose2D{Name: "t", In: 1, Out: 2, Kernel: 2, Stride: 2}, layer.Func(graph.Tanh), layer.AvgPool2D(2), layer.Flatten,
		layer.Unbiased{Layer: layer.Dense{Name: "b", In: 18, Out: 2}},
	},
}

// folded has those without parameters that both have not, as Table 3's network does, and
// ends on the sphere, as ours does.
var folded = matching.Model{
	Input: small.Input, Outputs: 2, Outer: small.Outer, Target: small.Target, Loss: small.Loss,
	Inner: layer.Sequence{
		layer.Conv2D{Name: "a", In: 1, Out: 2, Kernel: 2, Stride: 1, Padding: 1}, layer.LeakyReLU(0.2), layer.MaxPool2D(2), layer.Upsample(2),
		layer.Conv2D{Name: "b", In: 2, Out: 2, Kernel: 3, Stride: 1, Padding: 1}, layer.ReLU, layer.AvgPool2D(2), layer.Flatten,
		layer.Dense{Name: "d", In: 8, Out: 8}, layer.Fold(2, 2, 2), layer.Upsample(2), layer.LeakyReLU(0.1), layer.MaxPool2D(2), layer.Flatten,
		layer.Dense{Name: "e", In: 8, Out: 2},
		layer.Normalize,
	},
}

func normals(rng *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(scale * rng.NormFloat64())
	}
	return x
}

func directions(d int) sliced.Directions {
	return sliced.Orthonormal(d, 4, rand.New(rand.NewPCG(9, 9)))
}

// batch is of 12 records in two pairs of groups of other sizes, and two to spare.
func batch(seed uint64) matching.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	return matching.Batch{
		X: normals(rng, 12*9, 1), Target: normals(rng, 12*3, 1), Alpha: 0.3, Directions: directions(2),
		Pairs: []matching.Pair{{A: []int{0, 4, 7}, B: []int{1, 2}}, {A: []int{3, 5}, B: []int{6, 9, 10}}},
	}
}

func start(m matching.Model, seed uint64) layer.Params {
	params := layer.Init(m.Network(), seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, p := range params {
		for i := range p.Value {
			p.Value[i] += 0.2 * float32(rng.NormFloat64())
		}
	}
	return params
}

func learner(t *testing.T, b *backend.Backend, m matching.Model) *matching.Learner {
	t.Helper()
	l, err := matching.New(b, m, start(m, 1), train.Optimizer{Name: train.SGD})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// written writes the gradients of a model's outputs, [n][d][r], and losses, [n][r],
// down, with outputs, [n][d].
func written(t *testing.T, b *backend.Backend, m matching.Model, params layer.Params, of matching.Batch) (outputs [][]float64, jacobians [][][]float64, losses [][]float64) {
	t.Helper()
	exec, err := graph.NewExec(b.Engine, func(in []*graph.Node) (out []*graph.Node) {
		weights, split := in[2:], len(m.Inner.Params())
		inner := m.Inner.Apply(in[0], weights[:split])
		loss := graph.ReduceAllSum(m.Loss(m.Outer.Apply(inner, weights[split:]), in[1]))
		by := func(scalar *graph.Node) *graph.Node {
			var flat []*graph.Node
			for i, g := range graph.Gradient(scalar, weights...) {
				if g == nil {
					g = graph.ZerosLike(weights[i])
				}
				flat = append(flat, graph.Reshape(g, -1))
			}
			return graph.Concatenate(flat, 0)
		}
		out = []*graph.Node{inner, by(loss)}
		for c := range m.Outputs {
			out = append(out, by(graph.ReduceAllSum(graph.SliceAxis(inner, 1, graph.AxisElem(c)))))
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	wide := func(v []float32) (w []float64) {
		for _, x := range v {
			w = append(w, float64(x))
		}
		return w
	}
	for i := range len(of.X) / 9 {
		inputs := []any{tensors.FromFlatDataAndDimensions(of.X[i*9:i*9+9], 1, 3, 3, 1), tensors.FromFlatDataAndDimensions(of.Target[i*3:i*3+3], 1, 3)}
		for _, p := range params {
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
		}
		found, err := exec.Call(inputs...)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]float64
		for _, row := range found[2:] {
			rows = append(rows, wide(tensors.MustCopyFlatData[float32](row)))
		}
		outputs = append(outputs, wide(tensors.MustCopyFlatData[float32](found[0])))
		losses = append(losses, wide(tensors.MustCopyFlatData[float32](found[1])))
		jacobians = append(jacobians, rows)
	}
	return outputs, jacobians, losses
}

// below is what is left of a limit on gradients.
const below = 1 - matching.Margin

// clipped is v with a norm of at most bound.
func clipped(v []float64, bound float64) []float64 {
	scale := min(1, bound/norm(v))
	to := make([]float64, len(v))
	for i, x := range v {
		to[i] = scale * x
	}
	return to
}

func norm(v []float64) (length float64) {
	for _, x := range v {
		length = math.Hypot(length, x)
	}
	return length
}

// spectral is a Jacobian, [d][r], with singular values of at most bound.
func spectral(j [][]float64, bound float64) [][]float64 {
	a := mat.NewDense(len(j), len(j[0]), nil)
	for c, row := range j {
		a.SetRow(c, row)
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		panic("no singular values")
	}
	var u, v, us, product mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	for k := range values {
		values[k] = min(values[k], bound*below)
	}
	us.Mul(&u, mat.NewDiagDense(len(values), values))
	product.Mul(&us, v.T())
	to := make([][]float64, len(j))
	for c := range to {
		to[c] = mat.Row(nil, c, &product)
	}
	return to
}

// reference is the gradient of a batch with every Jacobian written down. A record with a
// number that is not finite has output 0 and no gradients.
func reference(t *testing.T, b *backend.Backend, m matching.Model, of matching.Batch, c matching.Clipping) []float64 {
	t.Helper()
	outputs, jacobians, losses := written(t, b, m, start(m, 1), of)
	n, d := len(outputs), m.Outputs
	total := make([]float64, len(losses[0]))
	for i := range n {
		all := append([][]float64{outputs[i], losses[i]}, jacobians[i]...)
		if sum := norm(slices.Concat(all...)); sum-sum != 0 {
			for _, values := range all {
				clear(values)
			}
		}
	}
	for _, g := range losses {
		for p, v := range clipped(g, c.Loss*below) {
			total[p] += (1 - of.Alpha) / float64(n) * v
		}
	}
	for _, pair := range of.Pairs {
		var x, z []float64
		for _, i := range pair.A {
			x = append(x, clipped(outputs[i], c.Output)...)
		}
		for _, i := range pair.B {
			z = append(z, clipped(outputs[i], c.Output)...)
		}
		for k := 0; k < len(pair.Points); k += d {
			point := make([]float64, d)
			for e := range point {
				point[e] = float64(pair.Points[k+e])
			}
			z = append(z, clipped(point, c.Output)...)
		}
		_, byX, byZ, err := sliced.OutputGradients(x, z, of.Directions)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []struct {
			rows []int
			by   []float64
		}{{pair.A, byX}, {pair.B, byZ}} {
			for k, i := range side.rows {
				j := jacobians[i]
				if c.Exact {
					j = spectral(j, c.Jacobian)
				}
				for e, row := range j {
					if !c.Exact {
						row = clipped(row, c.Jacobian*below/math.Sqrt(float64(d)))
					}
					for p, v := range row {
						total[p] += of.Alpha / float64(len(of.Pairs)) * side.by[k*d+e] * v
					}
				}
			}
		}
	}
	return total
}

// inGo is the backend that has graphs ready at once.
func inGo(t *testing.T) *backend.Backend {
	t.Helper()
	b, err := backend.Candidate{Name: backend.Go}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A φ without parameters has no Jacobians: what is left is the gradient of the losses.
func TestInnerPartWithoutParameters(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		m := small
		m.Inner, m.Outputs = layer.Sequence{layer.Flatten}, 9
		m.Outer = layer.Sequence{layer.Dense{Name: "c", In: 9, Out: 3}}
		l := learner(t, b, m)
		of := batch(1)
		of.Pairs = []matching.Pair{{A: []int{0, 2}, B: []int{1, 3}}}
		of.Directions = sliced.Orthonormal(9, 2, rand.New(rand.NewPCG(1, 2)))
		for _, exact := range []bool{false, true} {
			c := matching.Clipping{Output: 0.5, Jacobian: 1, Loss: 3, Exact: exact}
			both, err := l.Gradient(of, c)
			if err != nil {
				t.Fatal(err)
			}
			alone := of
			alone.Alpha = 0
			losses, err := l.Gradient(alone, c)
			if err != nil {
				t.Fatal(err)
			}
			for p, v := range losses.Values {
				if want := (1 - of.Alpha) * v; !(math.Abs(both.Values[p]-want) <= 1e-6*(1+math.Abs(want))) {
					t.Errorf("parameter %d: %v, want %v", p, both.Values[p], want)
				}
			}
			if !(both.Distance > 0) {
				t.Errorf("distance %v", both.Distance)
			}
		}
	})
}

// The gradient is that of clipped Jacobians written down, by either rule, whether all,
// some or none of the records are clipped.
func TestGradientIsThatOfClippedJacobians(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, m := range []matching.Model{small, other, folded} {
			l := learner(t, b, m)
			for seed, c := range []matching.Clipping{
				{Output: 0.2, Jacobian: 2, Loss: 3},
				{Output: 0.2, Jacobian: 2, Loss: 3, Exact: true},
				{Output: 0.05, Jacobian: 0.1, Loss: 0.01},
				{Output: 0.05, Jacobian: 0.1, Loss: 0.01, Exact: true},
				{Output: 100, Jacobian: 1000, Loss: 1000},
				{Output: 100, Jacobian: 1000, Loss: 1000, Exact: true},
			} {
				of := batch(uint64(seed))
				if seed == 3 || seed == 4 { // losses alone, some and none of them clipped
					of.Alpha = 0
				}
				if seed%3 == 0 {
					of.Pairs[1] = matching.Pair{A: []int{3, 5}, Points: normals(rand.New(rand.NewPCG(4, 4)), 2*7, 0.4)}
				}
				got, err := l.Gradient(of, c)
				if err != nil {
					t.Fatal(err)
				}
				want := reference(t, b, m, of, c)
				difference := make([]float64, len(want))
				for p, v := range got.Values {
					difference[p] = float64(v) - want[p]
				}
				if off := norm(difference) / norm(want); !(off <= 1e-5) {
					t.Errorf("%+v: off by %.2g of %v", c, off, norm(want))
				}
				some := got.ClippedLoss > 0 && (of.Alpha == 0 || got.ClippedOutput > 0 && got.ClippedJacobian > 0)
				if all := c.Jacobian > 10; some == all {
					t.Errorf("%+v: shares that were clipped are %v, %v and %v", c, got.ClippedOutput, got.ClippedJacobian, got.ClippedLoss)
				}
			}
		}
	})
}

// A batch of more records than are looked at together has the gradient that it should: where
// each record occurs as often as the others it is that of the records alone. They stand in
// their order, so that blocks hold other ones, and one of the last block is no number.
func TestGradientOfManyRecords(t *testing.T) {
	const times = ghost.Most/12 + 1
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		l := learner(t, b, small)
		few := batch(1)
		few.X[9*9+4] = float32(math.NaN())
		many := matching.Batch{Alpha: few.Alpha, Directions: few.Directions}
		for i := range 12 {
			many.X = append(many.X, slices.Repeat(few.X[i*9:(i+1)*9], times)...)
			many.Target = append(many.Target, slices.Repeat(few.Target[i*3:(i+1)*3], times)...)
		}
		all := func(rows []int) (repeated []int) {
			for _, i := range rows {
				for k := range times {
					repeated = append(repeated, i*times+k)
				}
			}
			return repeated
		}
		for _, pair := range few.Pairs {
			many.Pairs = append(many.Pairs, matching.Pair{A: all(pair.A), B: all(pair.B)})
		}
		for _, exact := range []bool{false, true} {
			c := matching.Clipping{Output: 0.2, Jacobian: 2, Loss: 3, Exact: exact}
			got, err := l.Gradient(many, c)
			if err != nil {
				t.Fatal(err)
			}
			want := reference(t, inGo(t), small, few, c)
			difference := make([]float64, len(want))
			for p, v := range got.Values {
				difference[p] = v - want[p]
			}
			if off := norm(difference) / norm(want); !(off <= 1e-5) {
				t.Errorf("exact %v: %d records have a gradient that is off by %.2g of %v", exact, 12*times, off, norm(want))
			}
		}
	})
}

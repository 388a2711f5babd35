package generator

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// The gradient of ⟨image, direction⟩ by each parameter is that of central
// differences, in training.
func TestImagesGradients(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range small {
			t.Run(c.Architecture, func(t *testing.T) {
				unlessSlow(t, b, c)
				checkGradients(t, b, c)
			})
		}
	})
}

func checkGradients(t *testing.T, b *backend.Backend, c Images) {
	const n = 6
	network := c.Network()
	params := layer.Init(network, 4)
	input, output := c.Size()
	z := draw(t, c, 5, n)
	rng := rand.New(rand.NewPCG(6, 6))
	direction := noise(rng, n, output)
	for i := range params { // larger than they start, so that differences are not lost in rounding
		if !params[i].Tracked {
			for k := range params[i].Value {
				params[i].Value[k] *= 2
			}
		}
	}
	exec, err := NewExec(b.Engine, func(in []*Node) []*Node {
		y, after := layer.Train(network, in[0], in[2:])
		outputs := append([]*Node{y}, Gradient(ReduceAllSum(Mul(y, in[1])), in[2:]...)...)
		for i, node := range after {
			if node == nil {
				node = in[2+i]
			}
			outputs = append(outputs, node)
		}
		return outputs
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	run := func() [][]float32 {
		t.Helper()
		args := []any{tensors.FromFlatDataAndDimensions(z.Data, n, input), tensors.FromFlatDataAndDimensions(direction.Data, n, output)}
		for _, p := range params {
			args = append(args, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
		}
		outputs, err := exec.Call(args...)
		if err != nil {
			t.Fatal(err)
		}
		var flat [][]float32
		for _, o := range outputs {
			flat = append(flat, tensors.MustCopyFlatData[float32](o))
		}
		return flat
	}
	if c.Architecture == BigGAN { // to spectral norms at which u holds still
		for range 100 {
			for i, value := range run()[1+len(params):] {
				if strings.HasSuffix(params[i].Name, ".u") {
					params[i].Value = value
				}
			}
		}
	}
	value := func() (sum float64) {
		for i, y := range run()[0] {
			sum += float64(y) * float64(direction.Data[i])
		}
		return sum
	}
	gradients := run()[1 : 1+len(params)]
	for i, p := range params {
		if p.Tracked || c.Architecture == BigGAN && p.Name == "generator.dense.bias" {
			continue // of one pixel, the normalisation takes the bias away
		}
		// Along the gradient the derivative is its norm.
		var norm float64
		for _, g := range gradients[i] {
			norm += float64(g) * float64(g)
		}
		norm = math.Sqrt(norm)
		start := slices.Clone(p.Value)
		h := 5e-4 / max(1, norm/100) // steep values bend soon, and are above float32's rounding
		move := func(by float64) float64 {
			for k := range p.Value {
				p.Value[k] = start[k] + float32(by*float64(gradients[i][k])/norm)
			}
			return value()
		}
		got := (move(h) - move(-h)) / (2 * h)
		copy(p.Value, start)
		if !(norm >= 1e-3 && math.Abs(got-norm) <= 0.02*norm+5e-3) { // ReLUs' corners, and float32
			t.Errorf("along the gradient by %s: %.5f by differences, its norm is %.5f", p.Name, got, norm)
		}
	}
}

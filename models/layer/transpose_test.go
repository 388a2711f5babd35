package layer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// transposed covers the decoders' shapes, and kernels and strides that do not
// divide each other.
var transposed = []struct {
	c    layer.ConvTranspose2D
	h, w int
}{
	{layer.ConvTranspose2D{In: 3, Out: 4, Kernel: 2, Stride: 2}, 3, 5},
	{layer.ConvTranspose2D{In: 9, Out: 3, Kernel: 4, Stride: 2, Padding: 1}, 3, 5},
	{layer.ConvTranspose2D{In: 3, Out: 4, Kernel: 4, Stride: 1}, 1, 1},
	{layer.ConvTranspose2D{In: 3, Out: 2, Kernel: 5, Stride: 2, Padding: 1}, 1, 1},
	{layer.ConvTranspose2D{In: 2, Out: 3, Kernel: 3, Stride: 2, Padding: 1}, 4, 3},
	{layer.ConvTranspose2D{In: 2, Out: 2, Kernel: 5, Stride: 3, Padding: 2}, 2, 3},
	{layer.ConvTranspose2D{In: 2, Out: 2, Kernel: 1, Stride: 2}, 2, 2},
	{layer.ConvTranspose2D{In: 2, Out: 3, Kernel: 8, Stride: 2, Padding: 3}, 1, 2},
	{layer.ConvTranspose2D{In: 2, Out: 2, Kernel: 5, Stride: 3, Padding: 1}, 3, 2},
}

// transpose is the definition, in float64: the value, and the gradients of
// ⟨value, cotangent⟩ by the input, the weight and the bias.
func transpose(c layer.ConvTranspose2D, x []float32, n, h, w int, params layer.Params, cotangent []float32) [4][]float32 {
	high, wide := (h-1)*c.Stride-2*c.Padding+c.Kernel, (w-1)*c.Stride-2*c.Padding+c.Kernel
	weight, bias := params[0].Value, params[1].Value
	y := make([]float64, n*high*wide*c.Out)
	byX, byWeight, byBias := make([]float64, len(x)), make([]float64, len(weight)), make([]float64, len(bias))
	for i := range y {
		y[i] = float64(bias[i%c.Out])
		byBias[i%c.Out] += float64(cotangent[i])
	}
	for i := range n {
		for row := range h {
			for col := range w {
				for dy := range c.Kernel {
					for dx := range c.Kernel {
						top, left := c.Stride*row+dy-c.Padding, c.Stride*col+dx-c.Padding
						if top < 0 || top >= high || left < 0 || left >= wide {
							continue
						}
						for in := range c.In {
							for out := range c.Out {
								from, by := ((i*h+row)*w+col)*c.In+in, ((in*c.Kernel+dy)*c.Kernel+dx)*c.Out+out
								to := ((i*high+top)*wide+left)*c.Out + out
								y[to] += float64(x[from]) * float64(weight[by])
								byX[from] += float64(cotangent[to]) * float64(weight[by])
								byWeight[by] += float64(cotangent[to]) * float64(x[from])
							}
						}
					}
				}
			}
		}
	}
	var all [4][]float32
	for i, exact := range [][]float64{y, byX, byWeight, byBias} {
		for _, v := range exact {
			all[i] = append(all[i], float32(v))
		}
	}
	return all
}

// Values and gradients are those of the definition, however computed.
func TestConvTransposeIsItsDefinition(t *testing.T) {
	const n = 2
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, shape := range transposed {
			c, h, w := shape.c, shape.h, shape.w
			c.Name = "up"
			params := layer.Init(c, 1)
			rng := rand.New(rand.NewPCG(1, 1))
			x := random(rng, n, h, w, c.In)
			cotangent := random(rng, n, (h-1)*c.Stride-2*c.Padding+c.Kernel, (w-1)*c.Stride-2*c.Padding+c.Kernel, c.Out)
			want := transpose(c, tensors.MustCopyFlatData[float32](x), n, h, w, params, tensors.MustCopyFlatData[float32](cotangent))
			for _, method := range []layer.Method{layer.Native, layer.Products} {
				c.Method = method
				got := compile(t, b, c)(x, params, cotangent)
				for i, name := range []string{"value", "gradient by x", "gradient by weight", "gradient by bias"} {
					if d := distance(t, got[i], want[i]); !(d <= 1e-5) {
						t.Errorf("%+v of %d×%d: %s differs from the definition by %.1e", c, h, w, name, d)
					}
				}
			}
		}
	})
}

package layer_test

import (
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

// The result is the largest of each block and the gradient goes to it alone.
func TestMaxPoolIsItsDefinition(t *testing.T) {
	const n, channels = 3, 2
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct{ height, width, size int }{{4, 6, 2}, {5, 7, 2}, {7, 3, 3}, {2, 2, 1}} {
			rng := rand.New(rand.NewPCG(3, 3))
			rows, columns := c.height/c.size, c.width/c.size
			x, cotangent := random(rng, n, c.height, c.width, channels), random(rng, n, rows, columns, channels)
			values, weights := tensors.MustCopyFlatData[float32](x), tensors.MustCopyFlatData[float32](cotangent)
			gradient := make([]float32, len(values))
			var want []float32
			for i := range n * rows * columns * channels {
				channel, column, row, image := i%channels, i/channels%columns, i/channels/columns%rows, i/channels/columns/rows
				best := -1
				for dy := range c.size {
					for dx := range c.size {
						at := ((image*c.height+row*c.size+dy)*c.width+column*c.size+dx)*channels + channel
						if best < 0 || values[at] > values[best] {
							best = at
						}
					}
				}
				want = append(want, values[best])
				gradient[best] = weights[i]
			}
			got := compile(t, b, layer.MaxPool2D(c.size))(x, nil, cotangent)
			if !slices.Equal(got[0], want) {
				t.Errorf("%+v: %v, want %v", c, got[0], want)
			}
			if !(distance(t, got[1], gradient) <= 0) {
				t.Errorf("%+v: gradient %v, want %v", c, got[1], gradient)
			}
		}
	})
}

// Of equal values, such as the zeros that ReLUs leave, one alone gets the gradient.
func TestMaxPoolOfEqualValues(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, size := range []int{2, 3} {
			x := tensors.FromFlatDataAndDimensions(make([]float32, 36), 1, 6, 6, 1)
			rows := 6 / size
			weights := make([]float32, rows*rows)
			for i := range weights {
				weights[i] = float32(1 + i)
			}
			got := compile(t, b, layer.MaxPool2D(size))(x, nil, tensors.FromFlatDataAndDimensions(weights, 1, rows, rows, 1))[1]
			for block, weight := range weights {
				var own []float32
				for i, v := range got {
					if i/6/size*rows+i%6/size == block && v != 0 {
						own = append(own, v)
					}
				}
				if !slices.Equal(own, []float32{weight}) {
					t.Errorf("blocks of %d×%[1]d equal values: gradients %v, want one of %v", size, own, weight)
				}
			}
		}
	})
}

func TestMaxPoolRefusesSmallImages(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if err := refusal(b, layer.MaxPool2D(3), tensors.FromFlatDataAndDimensions(make([]float32, 6), 1, 2, 3, 1), nil); err == nil {
			t.Error("blocks of 3×3 of 2×3 pixels are not refused")
		}
	})
}

// refusal is the error of building and running l's graph on x.
func refusal(b *backend.Backend, l layer.Layer, x *tensors.Tensor, params layer.Params) error {
	exec, err := NewExec(b.Engine, func(in []*Node) []*Node { return []*Node{l.Apply(in[0], in[1:])} })
	if err != nil {
		return err
	}
	defer exec.Finalize()
	clone, err := x.LocalClone()
	if err != nil {
		return err
	}
	inputs := []any{clone}
	for _, p := range params {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
	}
	_, err = exec.Call(inputs...)
	return err
}

// What no network is made of is refused in words, not with Go's of a division by 0.
func TestSlipsAreRefusedInWords(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		l    layer.Layer
		want string
	}{
		{layer.MaxPool2D(0), "layer: expected blocks of 1×1 or more pixels to pool, found 0×0"},
		{layer.AvgPool2D(-1), "found -1×-1"},
		{layer.Upsample(0), "layer: expected pixels to be repeated 1 or more times, found 0"},
		{layer.Sequence{layer.Dense{Name: "d", In: 3, Out: 1}}, "layer: expected 2 parameters for a sequence, found 0; give one for each of its Params"},
	} {
		err := refusal(b, c.l, tensors.FromFlatDataAndDimensions(make([]float32, 6), 1, 2, 3, 1), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}

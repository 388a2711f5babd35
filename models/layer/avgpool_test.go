package layer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// The result is the mean of each block, and each of its pixels gets an equal share of
// the gradient; pixels that fill no block get none.
func TestAvgPoolIsItsDefinition(t *testing.T) {
	const n, channels = 3, 2
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct{ height, width, size int }{{4, 6, 2}, {5, 7, 2}, {7, 3, 3}, {2, 2, 1}} {
			rng := rand.New(rand.NewPCG(4, 4))
			rows, columns := c.height/c.size, c.width/c.size
			x, cotangent := random(rng, n, c.height, c.width, channels), random(rng, n, rows, columns, channels)
			values, weights := tensors.MustCopyFlatData[float32](x), tensors.MustCopyFlatData[float32](cotangent)
			gradient := make([]float32, len(values))
			want := make([]float32, n*rows*columns*channels)
			share := 1 / float32(c.size*c.size)
			for i := range want {
				channel, column, row, image := i%channels, i/channels%columns, i/channels/columns%rows, i/channels/columns/rows
				for dy := range c.size {
					for dx := range c.size {
						at := ((image*c.height+row*c.size+dy)*c.width+column*c.size+dx)*channels + channel
						want[i] += share * values[at]
						gradient[at] = share * weights[i]
					}
				}
			}
			got := compile(t, b, layer.AvgPool2D(c.size))(x, nil, cotangent)
			if d := distance(t, got[0], want); !(d <= 1e-6) {
				t.Errorf("%+v: %v, want %v", c, got[0], want)
			}
			if d := distance(t, got[1], gradient); !(d <= 1e-6) {
				t.Errorf("%+v: gradient %v, want %v", c, got[1], gradient)
			}
		}
	})
}

func TestAvgPoolRefusesSmallImages(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if err := refusal(b, layer.AvgPool2D(3), tensors.FromFlatDataAndDimensions(make([]float32, 6), 1, 2, 3, 1), nil); err == nil {
			t.Error("blocks of 3×3 of 2×3 pixels are not refused")
		}
	})
}

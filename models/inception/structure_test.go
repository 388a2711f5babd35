package inception

import (
	"context"
	"math"
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// syntheticFeatures compares the features of the synthetic network with those
// of a second writing of the network in plain Go. In the synthetic network all
// channels of a convolution are equal, so one plane stands for them and a sum
// over the inputs weighs planes by how many channels they stand for.
func syntheticFeatures(t *testing.T, n *Network) {
	want := reference()
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if b.Name == backend.Go && !thorough() {
			t.Skip("the Go backend takes a while; set MOLEHILL_THOROUGH")
		}
		features, err := n.Features(context.Background(), b, picture(1, 40, 20, 1), 40, 20, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if features.Dim != Full || features.Len() != 1 || len(want) != Full {
			t.Fatalf("%d features of %d images, %d in the reference", features.Dim, features.Len(), len(want))
		}
		for c, v := range features.Row(0) {
			if !(math.Abs(float64(v)-want[c]) <= 1e-4*want[c]) {
				t.Fatalf("feature %d is %v, want %v", c, v, want[c])
			}
		}
	})
}

// plane is an activation that count channels share.
type plane struct {
	count         int
	height, width int
	at            []float64
}

func newPlane(count, height, width int) plane {
	return plane{count, height, width, make([]float64, height*width)}
}

// windows calls each with what of every window lies in the plane, where windows
// of the given size start at multiples of stride, less the padding.
func (p plane) windows(height, width, stride int, same bool, each func(inside []float64) float64) plane {
	var top, left int
	rows, columns := (p.height-height)/stride+1, (p.width-width)/stride+1
	if same {
		top, left, rows, columns = (height-1)/2, (width-1)/2, p.height, p.width
	}
	out := newPlane(p.count, rows, columns)
	for y := range rows {
		for x := range columns {
			var inside []float64
			for i := range height {
				for j := range width {
					if r, c := y*stride+i-top, x*stride+j-left; r >= 0 && r < p.height && c >= 0 && c < p.width {
						inside = append(inside, p.at[r*p.width+c])
					}
				}
			}
			out.at[y*columns+x] = each(inside)
		}
	}
	return out
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

// reference is the whole synthetic network on picture(1, 40, 20, 1), written
// down layer by layer from the publication's description of the graph.
func reference() []float64 {
	layer := 0
	conv := func(in []plane, out, height, width, stride int, same bool) []plane {
		channels := 0
		total := newPlane(1, in[0].height, in[0].width)
		for _, p := range in {
			channels += p.count
			for i, v := range p.at {
				total.at[i] += float64(p.count) * v
			}
		}
		i := layer
		layer++
		k := (1 + float64(i%3)) / (1.5 * float64(height*width*channels))
		mu, variance, beta := 0.1*float64(i%4), 0.5+0.25*float64(i%5), 0.2+0.01*float64(i%7)
		y := total.windows(height, width, stride, same, func(v []float64) float64 {
			return max(0, (k*sum(v)-mu)/math.Sqrt(variance+0.001)+beta)
		})
		y.count = out
		return []plane{y}
	}
	pool := func(in []plane, stride int, same bool, of func([]float64) float64) (out []plane) {
		for _, p := range in {
			out = append(out, p.windows(3, 3, stride, same, of))
		}
		return out
	}
	one := func(in []plane, out int) []plane { return conv(in, out, 1, 1, 1, true) }

	// Preparation: bilinear at i·size/299, then (x − 128)/128, three times.
	pixels := picture(1, 40, 20, 1)
	at := func(y, x int) float64 { return math.Round(255 * float64(pixels[min(y, 39)*20+min(x, 19)])) }
	image := newPlane(3, 299, 299)
	for i := range 299 {
		for j := range 299 {
			y, x := float64(i)*40/299, float64(j)*20/299
			r, c := int(y), int(x)
			fy, fx := y-float64(r), x-float64(c)
			v := (at(r, c)*(1-fx)+at(r, c+1)*fx)*(1-fy) + (at(r+1, c)*(1-fx)+at(r+1, c+1)*fx)*fy
			image.at[i*299+j] = (v - 128) / 128
		}
	}
	x := conv([]plane{image}, 32, 3, 3, 2, false)
	x = conv(x, 32, 3, 3, 1, false)
	x = conv(x, 64, 3, 3, 1, true)
	x = pool(x, 2, false, slices.Max[[]float64])
	x = one(x, 80)
	x = conv(x, 192, 3, 3, 1, false)
	x = pool(x, 2, false, slices.Max[[]float64])
	for _, pooled := range []int{32, 64, 64} {
		x = slices.Concat(
			one(x, 64),
			conv(one(x, 48), 64, 5, 5, 1, true),
			conv(conv(one(x, 64), 96, 3, 3, 1, true), 96, 3, 3, 1, true),
			one(pool(x, 1, true, mean), pooled))
	}
	x = slices.Concat(
		conv(x, 384, 3, 3, 2, false),
		conv(conv(one(x, 64), 96, 3, 3, 1, true), 96, 3, 3, 2, false),
		pool(x, 2, false, slices.Max[[]float64]))
	for _, w := range []int{128, 160, 160, 192} {
		first := one(x, 192)
		second := conv(conv(one(x, w), w, 1, 7, 1, true), 192, 7, 1, 1, true)
		third := conv(conv(conv(conv(one(x, w), w, 7, 1, 1, true), w, 1, 7, 1, true), w, 7, 1, 1, true), 192, 1, 7, 1, true)
		x = slices.Concat(first, second, third, one(pool(x, 1, true, mean), 192))
	}
	x = slices.Concat(
		conv(one(x, 192), 320, 3, 3, 2, false),
		conv(conv(conv(one(x, 192), 192, 1, 7, 1, true), 192, 7, 1, 1, true), 192, 3, 3, 2, false),
		pool(x, 2, false, slices.Max[[]float64]))
	for _, of := range []func([]float64) float64{mean, slices.Max[[]float64]} {
		first := one(x, 320)
		second := one(x, 384)
		second = slices.Concat(conv(second, 384, 1, 3, 1, true), conv(second, 384, 3, 1, 1, true))
		third := conv(one(x, 448), 384, 3, 3, 1, true)
		third = slices.Concat(conv(third, 384, 1, 3, 1, true), conv(third, 384, 3, 1, 1, true))
		x = slices.Concat(first, second, third, one(pool(x, 1, true, of), 192))
	}
	var features []float64
	for _, p := range x {
		features = append(features, slices.Repeat([]float64{mean(p.at)}, p.count)...)
	}
	return features
}

func TestEvaluationOrderHasNoSayInTheReference(t *testing.T) {
	// The reference numbers its layers as it calls them, which is the order of
	// the structure's parameters.
	if n := len(convs(full())); n != 94 {
		t.Errorf("%d convolutions, want 94", n)
	}
	if n := len(convs(cut())); n != 70 {
		t.Errorf("%d convolutions up to mixed_7, want 70", n)
	}
	if x := reference(); len(x) != Full || slices.Min(x) == slices.Max(x) {
		t.Errorf("%d features", len(x))
	}
}

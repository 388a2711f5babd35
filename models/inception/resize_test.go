package inception

import (
	"math"
	"testing"
)

func TestInterpolationIsTensorFlows(t *testing.T) {
	// Output i lies at i·size/299: no half pixels, and not the corners aligned.
	for _, size := range []int{1, 2, 28, 32, 64, 299, 310, 1000} {
		m := interpolation(size)
		for i := range Side {
			// Interpolating the line y = x gives the place, up to the last pixel.
			var place, sum float64
			for x := range size {
				place += float64(m[x][i]) * float64(x)
				sum += float64(m[x][i])
			}
			want := min(float64(i)*float64(size)/Side, float64(size-1))
			if !(math.Abs(place-want) <= 1e-6*float64(size) && math.Abs(sum-1) <= 1e-6) {
				t.Fatalf("size %d: output %d lies at %v with weights adding up to %v; want %v, 1", size, i, place, sum, want)
			}
			// Two neighbours at most take part.
			for x := range size {
				if m[x][i] != 0 && !(math.Abs(float64(x)-want) < 1) {
					t.Fatalf("size %d: output %d takes pixel %d", size, i, x)
				}
			}
		}
	}
	for i, row := range interpolation(Side) {
		for j, v := range row {
			if (i == j) != (v == 1) {
				t.Fatalf("a picture of the right size changes at %d, %d: %v", i, j, v)
			}
		}
	}
}

// Package glyph draws labelled images of digits that look much like MNIST's:
// white strokes on black, 28×28, centred by mass. They come from the digits of
// the Go fonts (Bigelow & Holmes, BSD licence), each drawn through a random
// warp, thinned or thickened. No person ever wrote them, so they are public by
// construction.
//
// Everything is integer arithmetic: a seed gives the same pixels on every
// machine.
package glyph

import (
	"context"
	"runtime"
	"sync"

	"molehill/pkg/dataset/internal/draw"
)

// Side is the height and width of an image in pixels.
const Side = 28

// Pixels is the number of pixels of an image.
const Pixels = Side * Side

// fraction is the number of bits behind the point of a coordinate.
const fraction = 16

// Draw returns n images, [n, 28, 28] with values from 0 to 255, and their
// labels, [n], uniform from 0 to 9. Image i depends on seed, set and i alone:
// more of them start with the same ones, and sets (such as training and test)
// of one seed are independent. All processors draw. The error is ctx's, or
// says that a font cannot be read.
func Draw(ctx context.Context, n int, seed, set uint64) (pixels []byte, labels []int, err error) {
	stencils, err := stencils()
	if err != nil {
		return nil, nil, err
	}
	n = max(n, 0)
	pixels, labels = make([]byte, n*Pixels), make([]int, n)
	const chunk = 256
	starts := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			random := draw.New("glyph")
			for start := range starts {
				for i := start; i < min(start+chunk, n); i++ {
					random.Reset("glyph", seed, set, uint64(i))
					labels[i] = random.Below(10)
					font := random.Below(len(stencils))
					paint(pixels[i*Pixels:(i+1)*Pixels], stencils[font][labels[i]], newWarp(random), newPen(random))
				}
			}
		})
	}
	for start := 0; start < n && ctx.Err() == nil; start += chunk {
		starts <- start
	}
	close(starts)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return pixels, labels, nil
}

// warp maps the pixels of an image to the pixels of a stencil, by a
// polynomial of second degree in u and v, the distances from the image's
// centre to the right and downwards in half pixels:
//
//	c₀ + c₁u + c₂v + c₃u² + c₄uv + c₅v²
//
// in stencil pixels << fraction from the stencil's centre of mass. The first
// three terms are an affine map; the others bend strokes as a hand does.
type warp struct{ x, y [6]int64 }

// newWarp draws a warp. It stays near the identity: shifts up to one pixel,
// heights from 80 to 105 % and widths from 80 to 140 % of the font's, a slant
// from −11° to 14°, turns up to 12°.
func newWarp(random *draw.Stream) warp {
	const one = 1 << fraction
	// milli draws a multiple of one in thousandths.
	milli := func(low, high int) int64 { return int64(random.Between(low, high)) * one / 1000 }
	times := func(a, b int64) int64 { return a * b >> fraction }

	const halfPixel = fine / 2
	wide, high := milli(714, 1250), milli(950, 1250)
	slant, turn := milli(-200, 250), milli(-210, 210)
	// Slanted, then scaled: the point (wide·(u + slant·v), high·v). Then
	// turned by (1, −turn; turn, 1), a rotation that also scales by at most 2 %.
	slanted := times(wide, slant)
	w := warp{
		x: [6]int64{0, wide, slanted - times(turn, high)},
		y: [6]int64{0, times(turn, wide), high + times(turn, slanted)},
	}
	for _, c := range []*[6]int64{&w.x, &w.y} {
		c[0] = milli(-1000, 1000) * fine
		c[1], c[2] = c[1]*halfPixel, c[2]*halfPixel
		// At the edge of the digit (u, v = ±20) each bends by up to one pixel.
		for i := 3; i < 6; i++ {
			c[i] = milli(-10, 10)
		}
		// The mean u² and v² over a digit are near 64 and 144: without their
		// bends the centre stays where it is.
		c[0] -= 64*c[3] + 144*c[5]
	}
	return w
}

// pen turns coverage into brightness: nothing up to threshold, then rising by
// slope/16 for each level of coverage. A low threshold thickens strokes.
type pen struct{ threshold, slope int64 }

func newPen(random *draw.Stream) pen {
	return pen{threshold: int64(random.Between(30, 110)), slope: int64(random.Between(32, 64))}
}

// paint draws one image.
func paint(image []byte, s *stencil, w warp, p pen) {
	for row := range Side {
		v := int64(2*row - Side + 1)
		for column := range Side {
			u := int64(2*column - Side + 1)
			x := w.x[0] + u*(w.x[1]+u*w.x[3]+v*w.x[4]) + v*(w.x[2]+v*w.x[5])
			y := w.y[0] + u*(w.y[1]+u*w.y[3]+v*w.y[4]) + v*(w.y[2]+v*w.y[5])
			level := s.at(s.x+x, s.y+y) - p.threshold
			image[row*Side+column] = uint8(min(max(level*p.slope>>4, 0), 255))
		}
	}
}

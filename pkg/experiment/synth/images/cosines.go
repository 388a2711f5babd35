package images

import (
	"cmp"
	"math"
	"slices"

	"molehill/pkg/dataset/pictures"
)

// cosines is the public code of images of any size: their lowest frequencies, as
// JPEG has them. Of an image with pixels in [0, 1], less ½ each, it takes the
// orthonormal cosine transform (Ahmed, Natarajan & Rao 1974) of brightness, and of
// the two differences of colour if it has colours, and keeps the coefficients of the
// lowest frequencies,
//
//	z = gain·c / (½·√(height·width)),
//
// shortened to norm 1 where they are longer. The point z of the ball becomes the
// point (z, √(1 − ‖z‖²)) of a sphere, so that what is proved for points of a sphere
// holds. All of it is fixed by the images' size: an image's code depends on that
// image alone.
type cosines struct {
	shape  pictures.Shape
	waves  []wave
	unit   float64     // ½·√(height·width)
	rows   [][]float64 // of the frequency u along a column of pixels, [highest u + 1][height]
	lines  [][]float64 // of the frequency v along a row of pixels, [highest v + 1][width]
	planes int         // brightness, or brightness and two differences of colour
}

// wave is a coefficient that is kept.
type wave struct {
	plane, u, v int
	gain        float64
}

// The gains bring coefficients to sizes that differ less: those of images fall with
// the frequency (Field 1987), and the mean brightness differs most. Those of
// brightness were chosen on MNIST, which is public; that of colours was not tried.
const (
	gainOfMean   = 0.5
	gainOfColour = 1.5
	// partOfColour is how many times fewer coefficients are of colours.
	partOfColour = 3
)

func gain(w wave) float64 {
	frequency := math.Hypot(float64(w.u), float64(w.v))
	switch {
	case w.plane > 0:
		return gainOfColour * math.Sqrt(max(1, frequency))
	case frequency == 0:
		return gainOfMean
	}
	return math.Sqrt(frequency)
}

// newCosines returns the code with so many coefficients, at most as many as an image
// has.
func newCosines(shape pictures.Shape, coefficients int) *cosines {
	c := &cosines{shape: shape, unit: 0.5 * math.Sqrt(float64(shape.Height*shape.Width)), planes: shape.Channels}
	order := frequencies(shape.Height, shape.Width)
	take := func(plane, count int) {
		for _, w := range order[:min(count, len(order))] {
			w.plane = plane
			w.gain = gain(w)
			c.waves = append(c.waves, w)
		}
	}
	ofBrightness := coefficients
	if c.planes == 3 {
		each := max(1, coefficients/partOfColour/2)
		ofBrightness = max(1, coefficients-2*each)
		for plane := 1; plane <= 2; plane++ {
			take(plane, each)
		}
	}
	take(0, ofBrightness)
	var u, v int
	for _, w := range c.waves {
		u, v = max(u, w.u), max(v, w.v)
	}
	c.rows, c.lines = basis(u+1, shape.Height), basis(v+1, shape.Width)
	return c
}

// frequencies lists those of an image, the lowest first: by the waves across as many
// pixels both ways.
func frequencies(height, width int) (order []wave) {
	// 64 by 64 are more than any code keeps.
	for u := range min(height, mostWaves) {
		for v := range min(width, mostWaves) {
			order = append(order, wave{u: u, v: v})
		}
	}
	long := float64(max(height, width))
	of := func(w wave) float64 {
		return math.Hypot(float64(w.u)*long/float64(height), float64(w.v)*long/float64(width))
	}
	slices.SortStableFunc(order, func(a, b wave) int { return cmp.Compare(of(a), of(b)) })
	return order
}

const mostWaves = 64

// basis returns the orthonormal cosines of the lowest frequencies, [count][size].
func basis(count, size int) [][]float64 {
	b := make([][]float64, count)
	for k := range b {
		b[k] = make([]float64, size)
		scale := math.Sqrt(2 / float64(size))
		if k == 0 {
			scale = math.Sqrt(1 / float64(size))
		}
		for i := range b[k] {
			b[k][i] = scale * math.Cos(math.Pi*(float64(i)+0.5)*float64(k)/float64(size))
		}
	}
	return b
}

// dim is that of the points.
func (c *cosines) dim() int { return len(c.waves) + 1 }

// toPoint writes the point of an image, [Dim] with pixels in [0, 1], to dst, [dim].
func (c *cosines) toPoint(dst, image []float32) {
	coefficients := c.transform(c.split(image))
	z := make([]float64, len(c.waves))
	var squares float64
	for i, w := range c.waves {
		z[i] = w.gain * coefficients[w.plane][w.u*len(c.lines)+w.v] / c.unit
		squares += z[i] * z[i]
	}
	shorter := 1.
	if squares > 1 {
		shorter = 1 / math.Sqrt(squares)
	}
	for i, v := range z {
		dst[i] = float32(v * shorter)
	}
	dst[len(z)] = float32(math.Sqrt(max(0, 1-squares)))
}

// toImage writes the image of a point to dst, pixels in [0, 1].
func (c *cosines) toImage(dst, point []float32) {
	planes := make([][]float64, c.planes)
	high, wide := c.shape.Height, c.shape.Width
	for p := range planes {
		planes[p] = make([]float64, high*wide)
		// Frequency by frequency along columns first: high·wide additions for each v.
		sums := make([]float64, high*len(c.lines))
		for i, w := range c.waves {
			if w.plane != p {
				continue
			}
			value := float64(point[i]) * c.unit / w.gain
			for y, at := range c.rows[w.u] {
				sums[y*len(c.lines)+w.v] += value * at
			}
		}
		for y := range high {
			row := planes[p][y*wide : (y+1)*wide]
			for v, line := range c.lines {
				value := sums[y*len(c.lines)+v]
				if value == 0 {
					continue
				}
				for x, at := range line {
					row[x] += value * at
				}
			}
		}
	}
	for i := range high * wide {
		light := planes[0][i] + 0.5
		if c.planes == 1 {
			dst[i] = pixel(light)
			continue
		}
		blue, red := planes[1][i], planes[2][i]
		r, b := light+1.402*red, light+1.772*blue
		dst[3*i], dst[3*i+1], dst[3*i+2] = pixel(r), pixel((light-0.299*r-0.114*b)/0.587), pixel(b)
	}
}

// split takes ½ off the pixels, and colours apart into brightness and the two
// differences (BT.601), which are all within [−½, ½].
func (c *cosines) split(image []float32) [][]float64 {
	planes := make([][]float64, c.planes)
	for p := range planes {
		planes[p] = make([]float64, c.shape.Height*c.shape.Width)
	}
	for i := range planes[0] {
		if c.planes == 1 {
			planes[0][i] = level(image[i]) - 0.5
			continue
		}
		r, g, b := level(image[3*i]), level(image[3*i+1]), level(image[3*i+2])
		light := 0.299*r + 0.587*g + 0.114*b
		planes[0][i], planes[1][i], planes[2][i] = light-0.5, (b-light)/1.772, (r-light)/1.402
	}
	return planes
}

// transform returns the coefficients of each plane, [planes][u·count(v) + v].
func (c *cosines) transform(planes [][]float64) [][]float64 {
	out := make([][]float64, len(planes))
	wide, count := c.shape.Width, len(c.lines)
	for p, plane := range planes {
		out[p] = make([]float64, len(c.rows)*count)
		for y := range c.shape.Height {
			row := plane[y*wide : (y+1)*wide]
			for v, line := range c.lines {
				var sum float64
				for x, at := range line {
					sum += at * row[x]
				}
				for u := range c.rows {
					out[p][u*count+v] += c.rows[u][y] * sum
				}
			}
		}
	}
	return out
}

// level is a pixel as it is taken: within [0, 1], 0 for what is no number.
func level(v float32) float64 {
	if v > 0 { // false for NaN
		return float64(min(v, 1))
	}
	return 0
}

// pixel brings a value to [0, 1].
func pixel(v float64) float32 { return float32(min(max(v, 0), 1)) }

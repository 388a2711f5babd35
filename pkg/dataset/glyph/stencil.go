package glyph

import "sync"

const (
	// fine is how many stencil pixels make one pixel of an image.
	fine = 4
	// boxHeight is the height of an upright digit in pixels of an image:
	// MNIST fits its digits into a box of 20×20.
	boxHeight = 20
	// samples is how many lines and columns of sample points a stencil pixel has.
	samples = 4
	// margin is empty space around a stencil, in stencil pixels. It keeps the
	// blur inside.
	margin = 2 * blurRadius
	// blurRadius of each of two box blurs, in stencil pixels. Together they
	// span 9 of them, 2.25 pixels of an image: more than it takes against
	// aliasing, so that a later threshold can move the edges of strokes.
	blurRadius = 2
)

// stencil is a digit of one font: coverage from 0 to 255, four times finer
// than the images that are drawn through it.
type stencil struct {
	width, height int
	cover         []uint8 // [height, width]
	x, y          int64   // centre of mass in stencil pixels << fraction
}

// at returns the coverage at (x, y), in stencil pixels << fraction, between
// the four pixels around it. Outside the stencil it is 0.
func (s *stencil) at(x, y int64) int64 {
	column, row := int(x>>fraction), int(y>>fraction)
	if column < 0 || row < 0 || column >= s.width-1 || row >= s.height-1 {
		return 0
	}
	const bits = 8 // of the way between pixels: enough for 256 levels
	dx, dy := x>>(fraction-bits)&(1<<bits-1), y>>(fraction-bits)&(1<<bits-1)
	here := s.cover[row*s.width+column:]
	below := here[s.width:]
	top := int64(here[0])<<bits + dx*(int64(here[1])-int64(here[0]))
	bottom := int64(below[0])<<bits + dx*(int64(below[1])-int64(below[0]))
	return (top<<bits + dy*(bottom-top)) >> (2 * bits)
}

// newStencil fills an outline (non-zero winding) on a grid of sample points,
// counts the points in each stencil pixel, and blurs.
func newStencil(o outline) *stencil {
	low, high := o.bounds()
	const rows = boxHeight * fine * samples
	tall := high.y - low.y
	columns := (high.x-low.x)*rows/tall + 1
	width := columns/samples + 1 + 2*margin
	height := boxHeight*fine + 2*margin
	count := make([]int, width*height)

	// column returns the first sample column whose points are not left of x.
	column := func(x int) int { return ((x-low.x)*2*rows + tall - 1) / (2 * tall) }
	var found []crossing
	for row := range rows {
		found = o.crossings(low.y+(2*row+1)*tall/(2*rows), found)
		line := count[(row/samples+margin)*width+margin:]
		inside := 0
		for i, c := range found {
			if inside += c.turn; inside == 0 || i+1 == len(found) {
				continue
			}
			for j := column(c.x); j < column(found[i+1].x); j++ {
				line[j/samples]++
			}
		}
	}
	count = blurRows(count, width)
	count = blurRows(transpose(count, width), height)
	count = transpose(count, height)

	s := &stencil{width: width, height: height, cover: make([]uint8, len(count))}
	var mass, massX, massY int64
	for i, c := range count {
		s.cover[i] = uint8(c * 255 / fullCount)
		mass += int64(c)
		massX += int64(c) * int64(i%width)
		massY += int64(c) * int64(i/width)
	}
	s.x, s.y = massX<<fraction/mass, massY<<fraction/mass
	return s
}

// fullCount is what blurring makes of a pixel in the midst of covered ones.
const fullCount = samples * samples * blurSide * blurSide * blurSide * blurSide

const blurSide = 2*blurRadius + 1

// blurRows sums each row of an image over boxes of blurSide, twice. Pixels
// outside count as empty.
func blurRows(count []int, width int) []int {
	for range 2 {
		summed := make([]int, len(count))
		for start := 0; start < len(count); start += width {
			for i := range width {
				for j := max(0, i-blurRadius); j <= min(width-1, i+blurRadius); j++ {
					summed[start+i] += count[start+j]
				}
			}
		}
		count = summed
	}
	return count
}

// transpose swaps rows and columns of an image with rows of the given width.
func transpose(count []int, width int) []int {
	height := len(count) / width
	turned := make([]int, len(count))
	for i, c := range count {
		turned[i%width*height+i/width] = c
	}
	return turned
}

// stencils returns the digits of every font, made on first use.
var stencils = sync.OnceValues(func() ([][10]*stencil, error) {
	outlines, err := loadOutlines()
	if err != nil {
		return nil, err
	}
	all := make([][10]*stencil, len(outlines))
	for i := range outlines {
		for digit, o := range outlines[i] {
			all[i][digit] = newStencil(o)
		}
	}
	return all, nil
})

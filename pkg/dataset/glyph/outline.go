package glyph

import (
	"fmt"
	"slices"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomediumitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are the Go fonts whose digits differ; the small capitals have the
// digits of Go Regular.
var fonts = [][]byte{
	goregular.TTF, goitalic.TTF, gomedium.TTF, gomediumitalic.TTF, gobold.TTF, gobolditalic.TTF,
	gomono.TTF, gomonoitalic.TTF, gomonobold.TTF, gomonobolditalic.TTF,
}

// point is in font units, y downwards.
type point struct{ x, y int }

// outline is the closed curves of a character as polygons.
type outline [][]point

// readOutline returns the outline of a digit at one font unit per pixel.
func readOutline(f *sfnt.Font, buffer *sfnt.Buffer, digit int) (outline, error) {
	index, err := f.GlyphIndex(buffer, rune('0'+digit))
	if err != nil {
		return nil, fmt.Errorf("glyph: digit %d has no index: %w", digit, err)
	}
	segments, err := f.LoadGlyph(buffer, index, fixed.Int26_6(f.UnitsPerEm()), nil)
	if err != nil {
		return nil, fmt.Errorf("glyph: digit %d has no outline: %w", digit, err)
	}
	var o outline
	var pen point
	for _, s := range segments {
		to := [3]point{}
		for i, a := range s.Args {
			to[i] = point{int(a.X), int(a.Y)}
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			o, pen = append(o, []point{to[0]}), to[0]
		case sfnt.SegmentOpLineTo:
			o.add(to[0])
			pen = to[0]
		case sfnt.SegmentOpQuadTo:
			o.addCurve(pen, to[0], to[1])
			pen = to[1]
		default:
			return nil, fmt.Errorf("glyph: digit %d has a segment of kind %d; a TrueType font has none", digit, s.Op)
		}
	}
	return o, nil
}

func (o outline) add(p point) { o[len(o)-1] = append(o[len(o)-1], p) }

// addCurve adds the quadratic Bézier curve a, b, c as chords.
func (o outline) addCurve(a, b, c point) {
	const chords = 16
	for k := 1; k <= chords; k++ {
		l := chords - k
		o.add(point{
			(l*l*a.x + 2*k*l*b.x + k*k*c.x) / (chords * chords),
			(l*l*a.y + 2*k*l*b.y + k*k*c.y) / (chords * chords),
		})
	}
}

// bounds returns the corners of the smallest box around o.
func (o outline) bounds() (low, high point) {
	low, high = o[0][0], o[0][0]
	for _, polygon := range o {
		for _, p := range polygon {
			low = point{min(low.x, p.x), min(low.y, p.y)}
			high = point{max(high.x, p.x), max(high.y, p.y)}
		}
	}
	return low, high
}

// crossing is where an outline crosses a horizontal line, and whether it goes
// down (+1) or up (−1) there.
type crossing struct{ x, turn int }

// crossings returns where o crosses the line at y, from left to right.
// Between two of them the sum of turns so far, if not zero, means inside.
func (o outline) crossings(y int, found []crossing) []crossing {
	found = found[:0]
	for _, polygon := range o {
		a := polygon[len(polygon)-1]
		for _, b := range polygon {
			top, bottom, turn := a, b, 1
			if a.y > b.y {
				top, bottom, turn = b, a, -1
			}
			if top.y <= y && y < bottom.y {
				x := top.x + (bottom.x-top.x)*(y-top.y)/(bottom.y-top.y)
				found = append(found, crossing{x, turn})
			}
			a = b
		}
	}
	slices.SortFunc(found, func(a, b crossing) int { return a.x - b.x })
	return found
}

// loadOutlines reads the digits of every font, by font and digit.
func loadOutlines() ([][10]outline, error) {
	all := make([][10]outline, len(fonts))
	var buffer sfnt.Buffer
	for i, ttf := range fonts {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("glyph: font %d of the Go fonts cannot be read: %w", i, err)
		}
		for digit := range all[i] {
			if all[i][digit], err = readOutline(f, &buffer, digit); err != nil {
				return nil, err
			}
		}
		all[i][0] = all[i][0].withoutSlash()
	}
	return all, nil
}

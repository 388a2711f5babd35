// Package sheet is the paper that figures are drawn on: colours and type, a frame with title, picture
// and notes, axes, and the ways out as PNG, SVG and PDF.
//
// Lengths are in points (1/72 inch) with the origin in the lower left corner, as in gonum.org/v1/plot/vg.
// One CSS pixel of a notebook is 0.75 points.
package sheet

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CSS is the length of one CSS pixel, of which a notebook is about 900 wide.
const CSS = vg.Length(0.75)

// NotebookWidth is the default width of a figure.
const NotebookWidth = 900 * CSS

// Ink and greys.
var (
	Black  = color.NRGBA{0x1a, 0x1a, 0x1a, 0xff} // data ink and titles
	Grey   = color.NRGBA{0x59, 0x59, 0x59, 0xff} // tick labels and notes
	Silver = color.NRGBA{0xb0, 0xb0, 0xb0, 0xff} // axes and frames
	Haze   = color.NRGBA{0xf5, 0xf5, 0xf5, 0xff} // every other row
	Mist   = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff} // grid lines
	White  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// Colours that remain distinct to colour-blind readers (M. Okabe, K. Ito, "Color Universal Design",
// 2008), in the order in which figures use them. Their yellow is too pale on white and is left out.
var (
	Blue       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Vermillion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	Green      = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	Purple     = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	Orange     = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	Sky        = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}

	colours = []color.NRGBA{Blue, Vermillion, Green, Purple, Orange, Sky, Black}
)

// Colour returns the colour of series i; there are seven, then they repeat, with other dashes and markers.
func Colour(i int) color.NRGBA { return colours[i%len(colours)] }

// muted are colours for up to ten classes of points (P. Tol, "Colour Schemes", 2021), and a grey.
var muted = []color.NRGBA{
	{0x33, 0x22, 0x88, 0xff}, {0xcc, 0x66, 0x77, 0xff}, {0x11, 0x77, 0x33, 0xff}, {0xdd, 0xaa, 0x33, 0xff}, {0x88, 0xcc, 0xee, 0xff},
	{0x88, 0x22, 0x55, 0xff}, {0x44, 0xaa, 0x99, 0xff}, {0x99, 0x99, 0x33, 0xff}, {0xaa, 0x44, 0x99, 0xff}, {0x55, 0x55, 0x55, 0xff},
}

// ClassMarker draws a point of a class; colour and shape both vary, so that classes can be told
// apart in grey print.
func ClassMarker(c *draw.Canvas, class int, at vg.Point, radius vg.Length) {
	Marker(c, class, muted[class%len(muted)], at, radius, 0)
}

// Tint mixes c with white; weight 1 is c itself and 0 is white. Tints are opaque, so that a picture
// keeps few distinct colours and compresses well.
func Tint(c color.NRGBA, weight float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(255 + weight*(float64(v)-255))) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}

var dashes = [][]vg.Length{nil, {7, 3}, {2, 2}, {9, 3, 2, 3}, {12, 4}, {5, 2, 2, 2, 2, 2}, {4, 4}}

// dash and marker are the pattern and the shape that series i has beside its colour, seven of each. A round
// through the colours moves patterns on by one and shapes by two, so that of 49 series no two share two of
// the three: in grey print, too, each differs from all others.
func dash(i int) int   { return (i + i/len(colours)) % len(dashes) }
func marker(i int) int { return (i + 2*(i/len(colours))) % len(dashes) }

// Stroke returns the line style of series i: colour and dash pattern both vary, so that lines can be
// told apart in grey print.
func Stroke(i int, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: Colour(i), Width: width, Dashes: dashes[dash(i)]}
}

// Line returns a solid line style.
func Line(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

// Marker draws the filled shape of series i centred on p. A white edge lifts it off the line below it.
func Marker(c *draw.Canvas, i int, fill color.Color, p vg.Point, radius, edge vg.Length) {
	outline := func(corners int, turn float64, r vg.Length) vg.Path {
		var path vg.Path
		for k := range corners {
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(k)/float64(corners))
			q := vg.Point{X: p.X + r*vg.Length(cos), Y: p.Y + r*vg.Length(sin)}
			if k == 0 {
				path.Move(q)
			} else {
				path.Line(q)
			}
		}
		path.Close()
		return path
	}
	shape := func(grow vg.Length) vg.Path {
		r := radius + grow
		switch marker(i) {
		case 1:
			return outline(4, math.Pi/4, 1.2*r) // square
		case 2:
			return outline(3, math.Pi/2, 1.4*r) // triangle
		case 3:
			return outline(4, math.Pi/2, 1.35*r) // diamond
		case 4:
			return outline(3, -math.Pi/2, 1.4*r) // triangle on its tip
		case 5:
			return outline(5, math.Pi/2, 1.25*r) // pentagon
		case 6:
			return outline(6, 0, 1.15*r) // hexagon
		default:
			return Disc(p, r)
		}
	}
	if edge > 0 {
		c.SetColor(White)
		c.Fill(shape(edge))
	}
	c.SetColor(fill)
	c.Fill(shape(0))
}

// Disc is a circle as four Bézier curves. The PDF canvas draws the arcs of vg.Path open, so circles
// avoid them.
func Disc(p vg.Point, r vg.Length) vg.Path {
	const k = 0.5522847498 // control points at this distance touch the circle to 0.03 %
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: p.X + r*x, Y: p.Y + r*y} }
	var path vg.Path
	path.Move(at(1, 0))
	path.CubeTo(at(1, k), at(k, 1), at(0, 1))
	path.CubeTo(at(-k, 1), at(-1, k), at(-1, 0))
	path.CubeTo(at(-1, -k), at(-k, -1), at(0, -1))
	path.CubeTo(at(k, -1), at(1, -k), at(1, 0))
	path.Close()
	return path
}

package viz

import (
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Annotated is Curves with words beside the data, where a legend would make the
// eye travel. A line that a note names needs no name of its own.
type Annotated struct {
	Curves
	Verticals []float64 // dashed lines at these X, for notes to name
	Notes     []Note
}

// Note is a word on a chart. It stands to the right of its place and above it, in
// the colour of a line, or on the other side where the chart ends on this one, and
// within the chart in any case. Notes outside the axes are not drawn.
type Note struct {
	X, Y        float64 // its place in the data
	Text        string
	Line        int  // of the line whose colour it has, from 1; 0 is black
	Dot         bool // with a dot at the place
	Left, Below bool // to the left of the place; below it
}

// PNG implements Figure.
func (f Annotated) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Annotated) Save(path string) error { return save(path, f) }

func (f Annotated) illustrate() (*picture, error) {
	p, err := f.Curves.illustrate()
	if err != nil {
		return nil, err
	}
	for i, at := range f.Verticals {
		p.chart.Layers = append(p.chart.Layers, vertical(&sheet.Style{Index: i}, at))
	}
	p.chart.Layers = append(p.chart.Layers, sheet.Layer(f.draw))
	return p, nil
}

// draw sets all notes.
func (f Annotated) draw(c *draw.Canvas, x, y func(float64) vg.Length) {
	for _, n := range f.Notes {
		okX, okY := sheet.Range{Log: f.X.Log}, sheet.Range{Log: f.Y.Log}
		if !okX.Add(n.X) || !okY.Add(n.Y) {
			continue
		}
		at := vg.Point{X: x(n.X), Y: y(n.Y)}
		if !c.Contains(at) {
			continue
		}
		ink := sheet.Black
		if n.Line > 0 {
			ink = sheet.Colour(n.Line - 1)
		}
		n.write(c, at, sheet.LabelType.Tinted(ink))
		if n.Dot {
			sheet.Marker(c, 0, ink, at, 3.4, 1)
		}
	}
}

// write sets the text beside a point, with a white edge that keeps lines off the
// letters.
func (n Note) write(c *draw.Canvas, at vg.Point, style sheet.Type) {
	const gap, edge = 5, 1.6
	width, height := style.Width(n.Text), 0.69*style.Size // of capitals
	from := vg.Point{
		X: beside(at.X, gap, width, c.Min.X, c.Max.X, n.Left),
		Y: beside(at.Y, gap, height, c.Min.Y, c.Max.Y, n.Below),
	}
	style = style.Align(0, 0)
	for i := range 12 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 6)
		style.Tinted(sheet.White).Draw(c, vg.Point{X: from.X + edge*vg.Length(cos), Y: from.Y + edge*vg.Length(sin)}, n.Text)
	}
	style.Draw(c, from, n.Text)
}

// beside returns where words of a length start that stand after a place, or before
// it, with a gap: on the other side where they do not fit on this one, and between
// low and high where they fit on neither.
func beside(at, gap, length, low, high vg.Length, before bool) vg.Length {
	fitsBefore, fitsAfter := at-gap-length >= low, at+gap+length <= high
	from := at + gap
	if fitsBefore && (before || !fitsAfter) {
		from = at - gap - length
	}
	return max(low, min(from, high-length))
}

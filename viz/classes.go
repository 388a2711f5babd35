package viz

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Classes shows points of the plane, each in the colour and the shape of its class.
type Classes struct {
	Title, Caption string
	X              []float32 // [n, 2] row-major, drawn in their order, so that no class lies on top of the others
	Class          []int     // [n], indices into Names
	Names          []string  // of the classes
	Below          []float32 // [m, 2], points in grey below the others; nil for none
	LabelX, LabelY string    // of the axes
	Region         Region    // of the plane; the zero Region fits the points
	Width          int       // in CSS pixels; 0 means 560
}

// Heading returns the title.
func (f Classes) Heading() string { return f.Title }

// PNG implements Figure.
func (f Classes) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Classes) Save(path string) error { return save(path, f) }

func (f Classes) caption() string { return f.Caption }

func (f Classes) illustrate() (*picture, error) {
	if 2*len(f.Class) != len(f.X) {
		return nil, errLength("Classes", "Class", len(f.Class), "points X", len(f.X)/2)
	}
	var left dropped
	below, err := planar("Below of Classes", f.Below, &left)
	if err != nil {
		return nil, err
	}
	var points []point
	var classes []int
	for i, class := range f.Class {
		if class < 0 || class >= len(f.Names) {
			return nil, fmt.Errorf("viz: point %d of Classes is of class %d: expected one of the %d of Names, from 0", i, class, len(f.Names))
		}
		one, err := planar("X of Classes", f.X[2*i:2*i+2], &left)
		if err != nil {
			return nil, err
		}
		for _, p := range one { // none if it is not finite
			points, classes = append(points, p), append(classes, class)
		}
	}
	if len(points) == 0 {
		return nil, errEmpty("Classes", "point")
	}
	region, err := f.Region.around(points, below)
	if err != nil {
		return nil, err
	}
	var legend []sheet.Entry
	for class, name := range f.Names {
		legend = append(legend, sheet.Entry{Name: name, Point: true, Draw: func(c *draw.Canvas, at, _ vg.Point) {
			sheet.ClassMarker(c, class, at, 3)
		}})
	}
	cloud := sheet.Layer(func(c *draw.Canvas, x, y func(float64) vg.Length) {
		at := func(p point) (vg.Point, bool) {
			q := vg.Point{X: x(p.x), Y: y(p.y)}
			return q, c.Contains(q)
		}
		c.SetColor(sheet.Mist)
		for _, p := range below {
			if q, ok := at(p); ok {
				c.Fill(sheet.Disc(q, 1))
			}
		}
		for i, p := range points {
			if q, ok := at(p); ok {
				sheet.ClassMarker(c, classes[i], q, 2)
			}
		}
	})
	chart := region.chart(f.LabelX, f.LabelY)
	chart.Layers, chart.Legend = []plot.Plotter{cloud}, legend
	return region.picture(chart, f.Width, left, points), nil
}

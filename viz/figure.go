// Package viz is what is seen: figures as plain values, tables, and live progress, shown inline in a
// GoNB notebook and silent elsewhere.
//
// A figure is a struct literal; nothing is drawn before it is shown or saved:
//
//	loss := viz.Curves{
//		Title: "Training",
//		X:     viz.Axis{Label: "step"},
//		Y:     viz.Axis{Label: "loss", Log: true},
//		Lines: []viz.Line{{Name: "train", Y: train}, {Name: "held out", Y: heldOut}},
//	}
//	viz.Show(loss)             // in a notebook: below the cell
//	err := loss.Save("loss.pdf") // anywhere: .png, .svg or .pdf
//
// Colours remain distinct to colour-blind readers, and dashes and markers tell series apart in grey.
// Values that cannot be drawn (NaN, ±∞, values ≤ 0 on a logarithmic axis) are left out and counted below
// the picture; empty data and lengths that do not match are errors. No input makes this package panic.
package viz

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Figure is a picture as a value.
type Figure interface {
	// Heading is the title drawn above the picture, "" for none.
	Heading() string
	// PNG writes the picture with two dots for each CSS pixel and at most 256 colours.
	PNG(w io.Writer) error
	// Save writes a .png, .svg or .pdf file, as the path ends. The file appears whole or not at all.
	Save(path string) error
}

// Axis describes one axis of a chart.
type Axis struct {
	Label    string  // what it measures, with its unit: "time (s)"
	Log      bool    // logarithmic; values ≤ 0 are left out and counted
	Min, Max float64 // what to span; without Min < Max the axis fits the data
}

// Reference is a value that data are compared with, drawn as a dashed line across the chart.
type Reference struct {
	Name  string
	Value float64
}

// picture is the body of a figure: either a chart, or a drawing without axes.
type picture struct {
	chart  *sheet.Chart
	draw   func(c draw.Canvas) // where chart is nil
	aspect float64             // height over width, 0 if free
	width  vg.Length           // the natural width of the body, 0: as wide as the notebook
	height vg.Length           // the natural height of the body, 0: from width and aspect
	pixels vg.Length           // width of an image grid in its own pixels, 0 for others
	notes  []string            // what was left out
}

// illustrator is a figure of this package, which can stand alone or in a cell of Panels.
type illustrator interface {
	Figure
	illustrate() (*picture, error)
	caption() string
}

// writePNG is the PNG method of every figure.
func writePNG(w io.Writer, f illustrator) error {
	s, err := compose(f)
	if err != nil {
		return err
	}
	return s.PNG(w, sheet.Resolution)
}

// save is the Save method of every figure.
func save(path string, f illustrator) error {
	s, err := compose(f)
	if err != nil {
		return err
	}
	return s.Save(path)
}

// picturing is illustrate, where functions of the caller's that panic, and pointers
// to no figure, are errors.
func picturing(f illustrator) (p *picture, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p, err = nil, fmt.Errorf("viz: a %T could not be drawn: %v", f, cause)
		}
	}()
	return f.illustrate()
}

// compose puts a figure's picture on a sheet.
func compose(f illustrator) (*sheet.Sheet, error) {
	p, err := picturing(f)
	if err != nil {
		return nil, err
	}
	s := &sheet.Sheet{Title: f.Heading(), Width: sheet.NotebookWidth, Photo: p.pixels > 0}
	if f.caption() != "" {
		s.Notes = append(s.Notes, f.caption())
	}
	s.Notes = append(s.Notes, p.notes...)
	if p.width > 0 {
		s.SetBodyWidth(p.width)
	}
	switch width := s.BodyWidth(); {
	case p.height > 0:
		s.Height = p.height
	case p.chart != nil && p.chart.Equal:
		s.Height = equalHeight(p.chart, width) + sheet.LegendHeight(p.chart.Legend, width)
	case p.chart != nil:
		s.Height = 300 + sheet.LegendHeight(p.chart.Legend, width)
	default:
		s.Height = width * vg.Length(p.aspect)
	}
	s.Body = p.draw
	if p.chart != nil {
		s.Body = p.chart.Draw
	}
	return s, nil
}

// equalHeight returns the height at which a chart with equal axes fills the width.
func equalHeight(chart *sheet.Chart, width vg.Length) vg.Length {
	data := width - chart.Left(width) - sheet.Right
	return data*vg.Length(chart.Aspect()) + chart.Bottom() + sheet.TickType.Size/2
}

// errEmpty says which figure has nothing to draw.
func errEmpty(figure, what string) error {
	return fmt.Errorf("viz: %s has no %s to draw: give at least one finite value", figure, what)
}

// errLength names two lengths that should agree.
func errLength(what, first string, n int, second string, m int) error {
	return fmt.Errorf("viz: %s: %s has %d values and %s has %d: they must have equal lengths", what, first, n, second, m)
}

// size turns CSS pixels into a length and refuses negative ones.
func size(pixels int, otherwise vg.Length) vg.Length {
	if pixels <= 0 {
		return otherwise
	}
	return vg.Length(pixels) * sheet.CSS
}

// Plot is a figure around a plot of gonum.org/v1/plot, for pictures that this package does not have.
type Plot struct {
	Title, Caption string
	Plot           *plot.Plot
	Width, Height  int // in CSS pixels; 0 means 640 × 400
}

// Heading returns the title.
func (f Plot) Heading() string { return f.Title }

// PNG implements Figure.
func (f Plot) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Plot) Save(path string) error { return save(path, f) }

func (f Plot) caption() string { return f.Caption }

func (f Plot) illustrate() (*picture, error) {
	if f.Plot == nil {
		return nil, errors.New("viz: Plot has no plot: set its field Plot, for example to plot.New()")
	}
	width, height := size(f.Width, 640*sheet.CSS), size(f.Height, 400*sheet.CSS)
	return &picture{draw: f.Plot.Draw, aspect: float64(height / width), width: width, height: height}, nil
}

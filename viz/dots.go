package viz

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Dots compares values of several rows (say, methods) under several conditions (say, ε), as a dot plot
// (W. S. Cleveland, "The Elements of Graphing Data", 1985): one line for each row, one colour and shape
// for each condition. On a logarithmic axis equal distances are equal ratios.
type Dots struct {
	Title, Caption string
	X              Axis // of the values
	Rows           []string
	Conditions     []string
	Values         [][]float64 // [len(Rows)][len(Conditions)]; NaN where there is none
	Low, High      [][]float64 // ends of error bars in the shape of Values, or nil
	References     []Reference // vertical: a floor, a published number
	Width          int         // in CSS pixels; 0 means the width of a notebook
}

// Heading returns the title.
func (f Dots) Heading() string { return f.Title }

// PNG implements Figure.
func (f Dots) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Dots) Save(path string) error { return save(path, f) }

func (f Dots) caption() string { return f.Caption }

func (f Dots) illustrate() (*picture, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	span := sheet.Range{Log: f.X.Log}
	chart := &sheet.Chart{Grid: true}
	styles := make([]*sheet.Style, len(f.Conditions))
	for j, name := range f.Conditions {
		style := &sheet.Style{Index: j}
		styles[j] = style
		chart.Legend = append(chart.Legend, sheet.Entry{Name: name, Style: style, Point: true, Draw: func(c *draw.Canvas, at, _ vg.Point) {
			sheet.Marker(c, style.Index, sheet.Colour(style.Index), at, 3.6, 0)
		}})
	}
	for i, r := range f.References {
		if span.Add(r.Value) {
			style := &sheet.Style{Index: i}
			chart.Legend = append(chart.Legend, referenceEntry(style, r.Name))
			chart.Layers = append(chart.Layers, vertical(style, r.Value))
		}
	}
	missing, drawn := 0, 0
	for i := range f.Rows {
		for j := range f.Conditions {
			if math.IsNaN(f.Values[i][j]) {
				missing++
				continue
			}
			if !span.Add(f.Values[i][j]) {
				continue
			}
			drawn++
			if f.Low != nil {
				if low, ok := lowEnd(&span, f.Low[i][j]); ok && span.Add(f.High[i][j]) {
					chart.Layers = append(chart.Layers, f.bar(i, j, low, styles[j]))
				}
			}
			chart.Layers = append(chart.Layers, f.dot(i, j, styles[j]))
		}
	}
	if drawn == 0 {
		return nil, errEmpty("Dots", "value")
	}
	chart.X = span.Axis(f.X.Label, f.X.Min, f.X.Max)
	rows := slices.Clone(f.Rows)
	slices.Reverse(rows) // the first row on top
	chart.Y = sheet.Axis{Categories: rows, Min: -0.5, Max: float64(len(rows)) - 0.5}
	p := &picture{chart: chart, notes: span.Notes(), width: size(f.Width, 0)}
	if outside := f.outside(chart.X); outside > 0 {
		p.notes = append(p.notes, fmt.Sprintf("Not drawn: %s beyond the axis.", sheet.Count(outside, "value")))
	}
	if missing > 0 {
		p.notes = append(p.notes, fmt.Sprintf("No dot for %d of %d combinations, which have no value.", missing, len(f.Rows)*len(f.Conditions)))
	}
	width := size(f.Width, sheet.NotebookWidth) - 18
	chart.Names = 0.4 * width // the data need room, too
	each := max(30, 12+11*vg.Length(len(f.Conditions)))
	for _, name := range rows {
		each = max(each, 8+sheet.LabelType.Leading()*vg.Length(len(chart.NameLines(name))))
	}
	p.height = each*vg.Length(len(rows)) + chart.Bottom() + sheet.TickType.Size/2 + sheet.LegendHeight(chart.Legend, width)
	return p, nil
}

// outside counts values that an axis can show and does not reach.
func (f Dots) outside(axis sheet.Axis) (count int) {
	for _, row := range f.Values {
		for _, v := range row {
			if r := (sheet.Range{Log: axis.Log}); r.Add(v) && (v < axis.Min || v > axis.Max) {
				count++
			}
		}
	}
	return count
}

// check compares all shapes.
func (f Dots) check() error {
	if len(f.Rows) == 0 || len(f.Conditions) == 0 {
		return fmt.Errorf("viz: Dots has %s and %s: give at least one of each",
			sheet.Count(len(f.Rows), "row"), sheet.Count(len(f.Conditions), "condition"))
	}
	if (f.Low == nil) != (f.High == nil) {
		return fmt.Errorf("viz: Dots has only one end of its error bars: set both Low and High, or none")
	}
	for _, field := range []struct {
		name   string
		values [][]float64
	}{{"Values", f.Values}, {"Low", f.Low}, {"High", f.High}} {
		if field.values == nil && field.name != "Values" {
			continue
		}
		if len(field.values) != len(f.Rows) {
			return errLength("Dots", field.name, len(field.values), "Rows", len(f.Rows))
		}
		for i, row := range field.values {
			if len(row) != len(f.Conditions) {
				return errLength(fmt.Sprintf("row %q of Dots", f.Rows[i]), field.name, len(row), "Conditions", len(f.Conditions))
			}
		}
	}
	return nil
}

// level returns where condition j of row i stands on the vertical axis: the values of a row lie one below
// the other, so that equal ones do not hide each other, around the row's name.
func (f Dots) level(i, j int) float64 {
	rank, m := 0.0, 0.0
	for k, v := range f.Values[i] {
		if math.IsNaN(v) {
			continue
		}
		if k < j {
			rank++
		}
		m++
	}
	step := min(0.2, 0.8/float64(len(f.Conditions)))
	return float64(len(f.Rows)-1-i) - step*(rank-(m-1)/2)
}

func (f Dots) dot(i, j int, style *sheet.Style) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		if at := (vg.Point{X: x(f.Values[i][j]), Y: y(f.level(i, j))}); c.Contains(at) {
			sheet.Marker(c, style.Index, sheet.Colour(style.Index), at, 3.6, 0)
		}
	}
}

func (f Dots) bar(i, j int, low float64, style *sheet.Style) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		at := y(f.level(i, j))
		ends := []vg.Point{{X: orEnd(low, x, c.Min.X), Y: at}, {X: x(f.High[i][j]), Y: at}}
		c.StrokeLines(sheet.Line(sheet.Colour(style.Index), 1.4), c.ClipLinesXY(ends)...)
	}
}

func vertical(style *sheet.Style, value float64) sheet.Layer {
	return func(c *draw.Canvas, x, _ func(float64) vg.Length) {
		if at := x(value); c.ContainsX(at) {
			c.StrokeLine2(referenceLine(style), at, c.Min.Y, at, c.Max.Y)
		}
	}
}

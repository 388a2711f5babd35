package viz

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Plan shows a transport plan: two weighted samples, and a line between each two points that it couples,
// the wider and darker the more mass goes there.
type Plan struct {
	Title, Caption string
	Dim            int       // 2 (0 means 2): points of the plane; 1: numbers, X above and Y below
	X, Y           []float32 // [n, Dim] and [m, Dim] row-major
	A, B           []float64 // weights of X and Y, [n] and [m], discs have areas like them; nil: equal
	Links          []Link
	Names          [2]string // of X and Y
	LabelX, LabelY string    // of the axes; a line has no LabelY
	Region         Region    // of the plane; the zero Region fits the points
	Width          int       // in CSS pixels; 0 means 560, and 640 on the line
}

// Link is an entry of a plan: Mass goes from point From of X to point To of Y.
type Link struct {
	From, To int
	Mass     float64
}

// Heading returns the title.
func (f Plan) Heading() string { return f.Title }

// PNG implements Figure.
func (f Plan) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Plan) Save(path string) error { return save(path, f) }

func (f Plan) caption() string { return f.Caption }

// faint is the share of the heaviest link below which a link would not be seen.
const faint = 0.001

func (f Plan) illustrate() (*picture, error) {
	if f.Dim == 0 {
		f.Dim = 2
	}
	samples, weights, err := f.samples()
	if err != nil {
		return nil, err
	}
	links, notes, err := f.links(len(samples[0]), len(samples[1]))
	if err != nil {
		return nil, err
	}
	var legend []sheet.Entry
	for k, name := range f.Names {
		if name != "" {
			legend = append(legend, sheet.Entry{Name: name, Point: true, Draw: func(c *draw.Canvas, at, _ vg.Point) {
				sheet.Marker(c, 2*k, pair[k], at, 3, 0)
			}})
		}
	}
	if f.Dim == 1 {
		var span sheet.Range
		for _, p := range slices.Concat(samples[0], samples[1]) {
			span.Add(p.x)
		}
		chart := &sheet.Chart{X: span.Axis(f.LabelX, 0, 0), Y: sheet.Axis{Min: -0.12, Max: 1.12}, Bare: true,
			Layers: []plot.Plotter{coupled(samples, weights, links)}, Legend: legend}
		if !sheet.Close(span.Min, span.Max) {
			room := 0.04 * (span.Max - span.Min)
			chart.X.Min, chart.X.Max = span.Min-room, span.Max+room
		}
		return &picture{width: size(f.Width, 640*sheet.CSS), height: 190, notes: notes, draw: func(c draw.Canvas) { drawHalf(c, chart) }}, nil
	}
	region, err := f.Region.around(samples[0], samples[1])
	if err != nil {
		return nil, err
	}
	chart := region.chart(f.LabelX, f.LabelY)
	chart.Layers, chart.Legend = []plot.Plotter{coupled(samples, weights, links)}, legend
	p := region.picture(chart, f.Width, dropped{}, slices.Concat(samples[0], samples[1]))
	p.notes = append(notes, p.notes...)
	return p, nil
}

// samples checks both samples; those of the line stand at heights 1 and 0.
func (f Plan) samples() (samples [2][]point, weights [2][]float64, err error) {
	if f.Dim != 1 && f.Dim != 2 {
		return samples, weights, fmt.Errorf("viz: Dim of Plan is %d: expected 1, a line, or 2, the plane", f.Dim)
	}
	for k, values := range [][]float32{f.X, f.Y} {
		side := string("XY"[k])
		for i, v := range values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return samples, weights, fmt.Errorf("viz: point %d of %s of Plan is not finite: leave it out of the plan, too", i/f.Dim, side)
			}
		}
		if f.Dim == 1 {
			for _, v := range values {
				samples[k] = append(samples[k], point{float64(v), float64(1 - k)})
			}
		} else if samples[k], err = planar(side+" of Plan", values, new(dropped)); err != nil {
			return samples, weights, err
		}
		n := len(samples[k])
		if n == 0 {
			return samples, weights, fmt.Errorf("viz: Plan has no point in %s to draw: give at least one in each sample", side)
		}
		weights[k] = [][]float64{f.A, f.B}[k]
		if weights[k] == nil {
			weights[k] = slices.Repeat([]float64{1}, n)
		}
		name := string("AB"[k])
		if len(weights[k]) != n {
			return samples, weights, errLength("Plan", name, len(weights[k]), "points "+side, n)
		}
		for i, w := range weights[k] {
			if !(w >= 0) || math.IsInf(w, 1) {
				return samples, weights, fmt.Errorf("viz: weight %s[%d] of Plan is %v: expected a finite number ≥ 0", name, i, w)
			}
		}
	}
	return samples, weights, nil
}

// links returns the links that can be seen, the light ones first, each with its share of the heaviest.
func (f Plan) links(n, m int) (seen []Link, notes []string, err error) {
	heaviest, total, hidden := 0.0, 0.0, 0.0
	for i, l := range f.Links {
		switch {
		case l.From < 0 || l.From >= n || l.To < 0 || l.To >= m:
			return nil, nil, fmt.Errorf("viz: link %d of Plan goes from point %d of %d to point %d of %d: there are no such points", i, l.From, n, l.To, m)
		case !(l.Mass >= 0) || math.IsInf(l.Mass, 1):
			return nil, nil, fmt.Errorf("viz: link %d of Plan has mass %v: expected a finite number ≥ 0", i, l.Mass)
		}
		heaviest, total = max(heaviest, l.Mass), total+l.Mass
	}
	for _, l := range f.Links {
		if !(l.Mass >= faint*heaviest) || l.Mass == 0 {
			hidden += l.Mass
			continue
		}
		l.Mass /= heaviest
		seen = append(seen, l)
	}
	if hidden > 0.005*total {
		notes = append(notes, fmt.Sprintf("Too faint to draw: links that carry %.0f %% of the mass.", 100*hidden/total))
	}
	slices.SortStableFunc(seen, func(a, b Link) int { return cmp.Compare(a.Mass, b.Mass) })
	return seen, notes, nil
}

// coupled draws links below the points of both samples.
func coupled(samples [2][]point, weights [2][]float64, links []Link) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		at := func(p point) vg.Point { return vg.Point{X: x(p.x), Y: y(p.y)} }
		for _, l := range links {
			ends := []vg.Point{at(samples[0][l.From]), at(samples[1][l.To])}
			// Sixteen shades: the file of a plan with thousands of links stays small.
			shade := math.Ceil(16*math.Sqrt(l.Mass)) / 16
			style := sheet.Line(sheet.Tint(sheet.Black, 0.1+0.5*shade), vg.Length(0.4+2.4*l.Mass)*crowdedness(len(links)))
			c.StrokeLines(style, c.ClipLinesXY(ends)...)
		}
		for k, points := range samples {
			typical := slices.Max(weights[k])
			// Discs of a small picture, one of many in panels, are smaller.
			largest := 4.5 * min(1, c.Size().X/roomy)
			for i, p := range points {
				radius := largest * crowdedness(len(points)) * vg.Length(math.Sqrt(weights[k][i]/typical))
				if q := at(p); radius > 0 && c.Contains(q) {
					sheet.Marker(c, 2*k, pair[k], q, radius, 0.6)
				}
			}
		}
	}
}

// roomy is the width of a picture by itself.
const roomy = 270 * sheet.CSS

// crowdedness shrinks what is drawn n times.
func crowdedness(n int) vg.Length {
	return vg.Length(math.Pow(max(float64(n), 12)/12, -0.3))
}

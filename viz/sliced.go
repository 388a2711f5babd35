package viz

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Slice teaches the first half of a sliced distance: points of the plane, a line through their middle,
// and where they fall on it. Beside the plane stand the histograms of the projections ⟨x, θ⟩.
type Slice struct {
	Title, Caption string
	X, Y           []float32  // [n, 2] and [m, 2] row-major; Y may be nil
	Names          [2]string  // of X and Y
	Theta          [2]float64 // the direction; its length does not matter
}

// Heading returns the title.
func (f Slice) Heading() string { return f.Title }

// PNG implements Figure.
func (f Slice) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Slice) Save(path string) error { return save(path, f) }

func (f Slice) caption() string { return f.Caption }

func (f Slice) illustrate() (*picture, error) {
	var left dropped
	x, err := planar("X of Slice", f.X, &left)
	if err != nil {
		return nil, err
	}
	y, err := planar("Y of Slice", f.Y, &left)
	if err != nil {
		return nil, err
	}
	length := math.Hypot(f.Theta[0], f.Theta[1])
	switch {
	case !(length > 0) || math.IsInf(length, 0):
		return nil, fmt.Errorf("viz: the direction Theta of Slice is %v: expected a finite vector that is not zero", f.Theta)
	case len(x) == 0:
		return nil, errEmpty("Slice", "point")
	}
	theta := point{f.Theta[0] / length, f.Theta[1] / length}
	region := fitted(x, y)
	plane := region.chart("", "")
	plane.Layers = []plot.Plotter{projections(x, y, theta, region)}
	line, err := histograms([2][]float64{along(x, theta), along(y, theta)}, f.Names)
	if err != nil {
		return nil, err
	}
	line.X.Label = "projection ⟨x, θ⟩"
	const width, room = 640 * sheet.CSS, 28
	side := (width - room) * 0.52
	legend := sheet.LegendHeight(line.Legend, width-side-room)
	height := min(side*vg.Length(plane.Aspect()), 340)
	return &picture{width: width, height: height + legend, notes: left.notes(), draw: func(c draw.Canvas) {
		box := draw.Crop(c, 0, side-(c.Max.X-c.Min.X), 0, -legend)
		plane.DrawData(box, false, false)
		drawHalf(draw.Crop(c, side+room, 0, 0, 0), line)
	}}, nil
}

// drawHalf draws a chart of densities, whose vertical axis needs no numbers.
func drawHalf(c draw.Canvas, chart *sheet.Chart) {
	c = sheet.DrawLegend(c, chart.Legend)
	chart.DrawData(draw.Crop(c, 0, -4, chart.Bottom(), 0), true, false)
}

// along projects points on a direction.
func along(points []point, theta point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.x*theta.x + p.y*theta.y
	}
	return out
}

// colours of X and Y in the teaching figures: those of the first two lines of a chart, so that two groups
// have the same colours in both.
var pair = [2]color.NRGBA{sheet.Colour(0), sheet.Colour(1)}

// projections draws two clouds, the line, the feet of all points on it, and the way of some of them.
func projections(x, y []point, theta point, r Region) sheet.Layer {
	middle := point{(r.MinX + r.MaxX) / 2, (r.MinY + r.MaxY) / 2}
	return func(c *draw.Canvas, mapX, mapY func(float64) vg.Length) {
		at := func(p point) vg.Point { return vg.Point{X: mapX(p.x), Y: mapY(p.y)} }
		foot := func(p point) point {
			t := (p.x-middle.x)*theta.x + (p.y-middle.y)*theta.y
			return point{middle.x + t*theta.x, middle.y + t*theta.y}
		}
		far := math.Hypot(r.MaxX-r.MinX, r.MaxY-r.MinY)
		line := []vg.Point{
			at(point{middle.x - far*theta.x, middle.y - far*theta.y}),
			at(point{middle.x + far*theta.x, middle.y + far*theta.y}),
		}
		for k, cloud := range [][]point{x, y} {
			for i := 0; i < len(cloud); i += max(len(cloud)/24, 1) {
				c.StrokeLines(sheet.Line(sheet.Tint(pair[k], 0.45), 0.6), c.ClipLinesXY([]vg.Point{at(cloud[i]), at(foot(cloud[i]))})...)
			}
		}
		c.StrokeLines(sheet.Line(sheet.Black, 1.2), c.ClipLinesXY(line)...)
		if ends := c.ClipLinesXY(line); len(ends) > 0 { // name the direction where the line leaves the picture
			end := ends[0][1]
			beside := vg.Point{X: end.X - 16*vg.Length(theta.x) + 9*vg.Length(theta.y), Y: end.Y - 16*vg.Length(theta.y) - 9*vg.Length(theta.x)}
			sheet.HeadType.Align(0.5, 0.5).Draw(c, beside, "θ")
		}
		for k, points := range [][]point{x, y} {
			for _, p := range points {
				sheet.Marker(c, 2*k, pair[k], at(p), 2.1, 0.5)
				q := at(foot(p))
				tick := vg.Point{X: vg.Length(-theta.y) * 3, Y: vg.Length(theta.x) * 3}
				c.StrokeLines(sheet.Line(pair[k], 0.8), c.ClipLinesXY([]vg.Point{q.Sub(tick), q.Add(tick)})...)
			}
		}
	}
}

// Matching teaches the second half of a sliced distance: on a line, optimal transport keeps the order.
// Lines join equal quantiles of two samples, which may differ in size, and never cross.
type Matching struct {
	Title, Caption string
	X, Y           []float32 // [n] and [m]: X above, Y below
	Names          [2]string // of X and Y
	LabelX         string    // of the line
}

// Heading returns the title.
func (f Matching) Heading() string { return f.Title }

// PNG implements Figure.
func (f Matching) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Matching) Save(path string) error { return save(path, f) }

func (f Matching) caption() string { return f.Caption }

func (f Matching) illustrate() (*picture, error) {
	var span sheet.Range
	sorted := func(values []float32) []float64 {
		var out []float64
		for _, v := range values {
			if span.Add(float64(v)) {
				out = append(out, float64(v))
			}
		}
		slices.Sort(out)
		return out
	}
	x, y := sorted(f.X), sorted(f.Y)
	if len(x) == 0 || len(y) == 0 {
		return nil, fmt.Errorf("viz: Matching has %d finite values in X and %d in Y: expected at least one in each", len(x), len(y))
	}
	chart, err := histograms([2][]float64{x, y}, f.Names)
	if err != nil {
		return nil, err
	}
	chart.X.Label = f.LabelX
	top, low := chart.Layers[0], mirrored(chart.Layers[1])
	lines := min(max(len(x), len(y)), 40)
	chart.Layers = []plot.Plotter{inBand(top, 0.62, 1), inBand(low, 0, 0.38), sheet.Layer(func(c *draw.Canvas, mapX, _ func(float64) vg.Length) {
		for k := range lines {
			q := (float64(k) + 0.5) / float64(lines)
			from, to := x[int(q*float64(len(x)))], y[int(q*float64(len(y)))]
			c.StrokeLines(sheet.Line(sheet.Tint(sheet.Black, 0.55), 0.7),
				[]vg.Point{{X: mapX(from), Y: c.Y(0.61)}, {X: mapX(to), Y: c.Y(0.39)}})
		}
	})}
	return &picture{width: 640 * sheet.CSS, height: 285, notes: span.Notes(), draw: func(c draw.Canvas) { drawHalf(c, chart) }}, nil
}

// inBand draws a layer in a part of the height.
func inBand(layer plot.Plotter, low, high float64) plot.Plotter {
	return sheet.Layer(func(c *draw.Canvas, x, _ func(float64) vg.Length) {
		band := *c
		band.Min.Y, band.Max.Y = c.Y(low), c.Y(high)
		layer.(sheet.Layer)(&band, x, func(v float64) vg.Length { return band.Y(v / 1.05) })
	})
}

// mirrored turns a layer upside down.
func mirrored(layer plot.Plotter) plot.Plotter {
	return sheet.Layer(func(c *draw.Canvas, x, y func(float64) vg.Length) {
		layer.(sheet.Layer)(c, x, func(v float64) vg.Length { return c.Min.Y + c.Max.Y - y(v) })
	})
}

// histograms draws the distributions of two samples over each other, the highest bar 1 high. The second
// may be empty.
func histograms(samples [2][]float64, names [2]string) (*sheet.Chart, error) {
	var span sheet.Range
	for _, sample := range samples {
		for _, v := range sample {
			span.Add(v)
		}
	}
	if span.Empty() {
		return nil, errEmpty("a histogram", "value")
	}
	axis := span.Axis("", 0, 0)
	if !sheet.Close(span.Min, span.Max) {
		room := 0.04 * (span.Max - span.Min)
		axis.Min, axis.Max = span.Min-room, span.Max+room
	}
	bins := min(max(int(3*math.Cbrt(float64(max(len(samples[0]), len(samples[1]))))), 14), 40)
	chart := &sheet.Chart{X: axis, Y: sheet.Axis{Max: 1.05}, Bare: true}
	var heights [2][]float64
	tallest := 0.0
	for k, sample := range samples {
		heights[k] = make([]float64, bins)
		for _, v := range sample {
			b := min(int(float64(bins)*(v-axis.Min)/(axis.Max-axis.Min)), bins-1)
			heights[k][b] += 1 / float64(len(sample))
			tallest = max(tallest, heights[k][b])
		}
	}
	for k := range samples {
		if len(samples[k]) == 0 {
			continue
		}
		for b := range heights[k] {
			heights[k][b] /= tallest
		}
		chart.Layers = append(chart.Layers, steps(heights[k], axis, pair[k]))
		if names[k] != "" {
			chart.Legend = append(chart.Legend, sheet.Entry{Name: names[k], Point: true, Draw: func(c *draw.Canvas, at, _ vg.Point) {
				sheet.Marker(c, 2*k, pair[k], at, 3, 0)
			}})
		}
	}
	return chart, nil
}

// steps draws a histogram as an outline over a pale fill.
func steps(heights []float64, axis sheet.Axis, colour color.NRGBA) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		outline := []vg.Point{{X: x(axis.Min), Y: y(0)}}
		for b, h := range heights {
			left := axis.Min + (axis.Max-axis.Min)*float64(b)/float64(len(heights))
			right := axis.Min + (axis.Max-axis.Min)*float64(b+1)/float64(len(heights))
			outline = append(outline, vg.Point{X: x(left), Y: y(h)}, vg.Point{X: x(right), Y: y(h)})
		}
		outline = append(outline, vg.Point{X: x(axis.Max), Y: y(0)})
		shade := colour
		shade.A = 0x50
		c.FillPolygon(shade, outline)
		c.StrokeLines(sheet.Line(colour, 1.2), outline)
	}
}

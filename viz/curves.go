package viz

import (
	"fmt"
	"image/color"
	"io"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Curves is a line chart. Its legend stands above the data and never covers them.
type Curves struct {
	Title, Caption string
	X, Y           Axis
	Lines          []Line
	References     []Reference // horizontal
	Width, Height  int         // in CSS pixels; 0 means the width of a notebook and 400 high
}

// Line is one curve of a chart. A value that is not finite interrupts it. One that goes only across or up
// and down, such as a histogram, has no markers.
type Line struct {
	Name      string
	X         []float64 // [n], or nil for 1, 2, …, n
	Y         []float64 // [n]
	Low, High []float64 // [n] each, the borders of a band around the line, or nil
}

// Append puts a point behind the others of a line, with a band of ±deviation around it; a
// deviation that is no number counts as 0. All points of a line are put there so.
func (l *Line) Append(x, y, deviation float64) {
	if math.IsNaN(deviation) {
		deviation = 0
	}
	l.X, l.Y = append(l.X, x), append(l.Y, y)
	l.Low, l.High = append(l.Low, y-deviation), append(l.High, y+deviation)
}

// Add puts a point into the line of a name, in the order of x, which is made if there is
// none, with a band of ±deviation around it; a deviation that is no number counts as 0.
// A line without a band gets one as wide as the line where it was. A line whose lengths
// do not agree stays as it is: drawing it says so.
func (f *Curves) Add(name string, x, y, deviation float64) {
	if math.IsNaN(deviation) {
		deviation = 0
	}
	k := slices.IndexFunc(f.Lines, func(l Line) bool { return l.Name == name })
	if k < 0 {
		k, f.Lines = len(f.Lines), append(f.Lines, Line{Name: name})
	}
	complete, err := f.Lines[k].complete(k)
	if err != nil {
		return
	}
	l := &f.Lines[k]
	if *l = complete; l.Low == nil {
		l.Low, l.High = slices.Clone(l.Y), slices.Clone(l.Y)
	}
	at, _ := slices.BinarySearch(l.X, x)
	l.X, l.Y = slices.Insert(l.X, at, x), slices.Insert(l.Y, at, y)
	l.Low, l.High = slices.Insert(l.Low, at, y-deviation), slices.Insert(l.High, at, y+deviation)
}

// Heading returns the title.
func (f Curves) Heading() string { return f.Title }

// PNG implements Figure.
func (f Curves) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Curves) Save(path string) error { return save(path, f) }

func (f Curves) caption() string { return f.Caption }

func (f Curves) illustrate() (*picture, error) {
	rangeX, rangeY := sheet.Range{Log: f.X.Log}, sheet.Range{Log: f.Y.Log}
	chart := &sheet.Chart{Grid: true}
	var bands, lines []plot.Plotter
	for i, line := range f.Lines {
		line, err := line.complete(i)
		if err != nil {
			return nil, err
		}
		runs := line.runs(&rangeX, &rangeY)
		style := &sheet.Style{Index: i}
		if line.Low != nil {
			bands = append(bands, line.band(style, &rangeX, &rangeY))
		}
		lines = append(lines, drawRuns(style, i, len(f.Lines), runs, !line.stepped()))
		if line.Name != "" {
			chart.Legend = append(chart.Legend, lineEntry(style, line.Name, !line.stepped()))
		}
	}
	if rangeX.Empty() || rangeY.Empty() {
		name := "Curves"
		if f.Title != "" {
			name = fmt.Sprintf("Curves %q", f.Title)
		}
		return nil, errEmpty(name, "line")
	}
	var marks []plot.Plotter
	for i, r := range f.References {
		if rangeY.Add(r.Value) {
			style := &sheet.Style{Index: i}
			marks = append(marks, horizontal(style, r.Value))
			chart.Legend = append(chart.Legend, referenceEntry(style, r.Name))
		}
	}
	chart.X = rangeX.Axis(f.X.Label, f.X.Min, f.X.Max)
	if f.X.Min >= f.X.Max && !f.X.Log { // curves run from edge to edge
		if !sheet.Close(rangeX.Min, rangeX.Max) {
			chart.X.Min, chart.X.Max = rangeX.Min, rangeX.Max
		}
	}
	chart.Y = rangeY.Axis(f.Y.Label, f.Y.Min, f.Y.Max)
	chart.Layers = append(append(bands, marks...), lines...)
	rangeX.Count(rangeY)
	p := &picture{chart: chart, notes: rangeX.Notes(), width: size(f.Width, 0)}
	if f.Height > 0 {
		p.height = size(f.Height, 0)
	}
	return p, nil
}

// complete checks the lengths and fills in X.
func (l Line) complete(i int) (Line, error) {
	what := fmt.Sprintf("line %q of Curves", l.Name)
	if l.Name == "" {
		what = fmt.Sprintf("line %d of Curves", i+1)
	}
	if l.X == nil {
		l.X = make([]float64, len(l.Y))
		for k := range l.X {
			l.X[k] = float64(k + 1)
		}
	}
	switch n := len(l.Y); {
	case len(l.X) != n:
		return l, errLength(what, "X", len(l.X), "Y", n)
	case l.Low == nil && l.High == nil:
	case len(l.Low) != n:
		return l, errLength(what, "Low", len(l.Low), "Y", n)
	case len(l.High) != n:
		return l, errLength(what, "High", len(l.High), "Y", n)
	}
	return l, nil
}

type point struct{ x, y float64 }

// runs splits the line where a point cannot be drawn.
func (l Line) runs(rangeX, rangeY *sheet.Range) (runs [][]point) {
	var run []point
	for k := range l.Y {
		okX, okY := rangeX.Add(l.X[k]), rangeY.Add(l.Y[k])
		if okX && okY {
			run = append(run, point{l.X[k], l.Y[k]})
			continue
		}
		if run != nil {
			runs = append(runs, run)
		}
		run = nil
	}
	if run != nil {
		runs = append(runs, run)
	}
	return runs
}

// stepped reports whether the line goes only across or up and down, as a histogram or a quantile function
// does: it has no markers, which would stand at its corners as if something had been measured there.
func (l Line) stepped() bool {
	treads, risers := 0, 0
	for k := 1; k < len(l.Y); k++ {
		across, up := l.X[k] != l.X[k-1], l.Y[k] != l.Y[k-1]
		switch {
		case across && up:
			return false
		case across:
			treads++
		case up:
			risers++
		}
	}
	return treads > 1 && risers > 0
}

// drawRuns draws line i of n, if marked with about eight markers that do not sit on those of other lines.
func drawRuns(style *sheet.Style, i, n int, runs [][]point, marked bool) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		total := 0
		for _, run := range runs {
			total += len(run)
		}
		var path, marks []vg.Point
		stride := max(total/8, 1)
		next := stride * (i%max(n, 1) + 1) / (n + 1)
		if total <= 12 {
			stride, next = 1, 0
		}
		seen := 0
		for _, run := range runs {
			path = path[:0]
			for _, p := range run {
				at := vg.Point{X: x(p.x), Y: y(p.y)}
				if seen == next || len(run) == 1 {
					marks = append(marks, at)
				}
				if seen == next {
					next += stride
				}
				seen++
				path = append(path, at)
			}
			for part := range pieces(thin(path)) {
				c.StrokeLines(sheet.Stroke(style.Index, 1.6), c.ClipLinesXY(part)...)
			}
		}
		for _, at := range marks {
			if marked && c.Contains(at) {
				sheet.Marker(c, style.Index, sheet.Colour(style.Index), at, 2.8, 0.9)
			}
		}
	}
}

// thin keeps, of neighbouring points that lie above each other within an eighth of a CSS pixel, the
// first, the lowest, the highest and the last one, in place: a million points then draw like a few
// thousand, however noisy.
func thin(path []vg.Point) []vg.Point {
	kept := path[:0]
	for from, to := 0, 0; from < len(path); from = to + 1 {
		lowest, highest := from, from
		for to = from; to+1 < len(path) && math.Abs(float64(path[to+1].X-path[from].X)) <= 0.1; {
			to++
			if path[to].Y < path[lowest].Y {
				lowest = to
			}
			if path[to].Y > path[highest].Y {
				highest = to
			}
		}
		// Here in their order, of which some may be one.
		for _, k := range slices.Compact([]int{from, min(lowest, highest), max(lowest, highest), to}) {
			kept = append(kept, path[k])
		}
	}
	return kept
}

// pieces are parts of a path, each of which begins where the one before it ends. The time to stroke a
// path grows with the square of how often it crosses a line of pixels, so one that goes up and down is
// cut; others keep their dashes.
func pieces(path []vg.Point) iter.Seq[[]vg.Point] {
	const most = 64 // turns of a piece
	return func(yield func([]vg.Point) bool) {
		from, turns := 0, 0
		for k := 1; k+1 < len(path); k++ {
			if (path[k].Y-path[k-1].Y)*(path[k+1].Y-path[k].Y) >= 0 {
				continue
			}
			if turns++; turns < most {
				continue
			}
			if !yield(path[from : k+1]) {
				return
			}
			from, turns = k, 0
		}
		yield(path[from:])
	}
}

// band fills between Low and High where both can be drawn.
func (l Line) band(style *sheet.Style, rangeX, rangeY *sheet.Range) sheet.Layer {
	var low, high [][]point
	var runLow, runHigh []point
	for k := range l.Y {
		drawn := rangeX.Add(l.X[k])
		end, ok := lowEnd(rangeY, l.Low[k])
		drawn = ok && drawn
		drawn = rangeY.Add(l.High[k]) && drawn
		if drawn {
			runLow, runHigh = append(runLow, point{l.X[k], end}), append(runHigh, point{l.X[k], l.High[k]})
		}
		if !drawn || k == len(l.Y)-1 {
			low, high = append(low, runLow), append(high, runHigh)
			runLow, runHigh = nil, nil
		}
	}
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		shade := sheet.Colour(style.Index)
		shade.A = 0x38
		for r := range low {
			var outline []vg.Point
			for _, p := range high[r] {
				outline = append(outline, vg.Point{X: x(p.x), Y: y(p.y)})
			}
			for k := len(low[r]) - 1; k >= 0; k-- {
				outline = append(outline, vg.Point{X: x(low[r][k].x), Y: orEnd(low[r][k].y, y, c.Min.Y)})
			}
			c.FillPolygon(color.Color(shade), c.ClipPolygonXY(outline))
		}
	}
}

// lowEnd is the lower end of an interval as it can be drawn: NaN, for the end of the axis, where it is 0
// or less and the axis logarithmic, and false where it is no number.
func lowEnd(r *sheet.Range, v float64) (float64, bool) {
	if r.Add(v) {
		return v, true
	}
	return math.NaN(), r.Log && v <= 0 && !math.IsInf(v, 0)
}

// orEnd is where a value of lowEnd stands on an axis that begins at start.
func orEnd(v float64, axis func(float64) vg.Length, start vg.Length) vg.Length {
	if math.IsNaN(v) {
		return start
	}
	return axis(v)
}

func lineEntry(style *sheet.Style, name string, marked bool) sheet.Entry {
	return sheet.Entry{Name: name, Style: style, Draw: func(c *draw.Canvas, from, to vg.Point) {
		c.StrokeLines(sheet.Stroke(style.Index, 1.6), []vg.Point{from, to})
		if marked {
			sheet.Marker(c, style.Index, sheet.Colour(style.Index), vg.Point{X: (from.X + to.X) / 2, Y: from.Y}, 2.8, 0.9)
		}
	}}
}

// referenceLine is thin and grey, unlike any series, and differs from the
// references before it in its dashes.
func referenceLine(style *sheet.Style) draw.LineStyle {
	dashes := [][]vg.Length{{1.5, 2.5}, {7, 3}, {7, 2.5, 1.5, 2.5}}
	return draw.LineStyle{Color: sheet.Grey, Width: 1, Dashes: dashes[style.Index%len(dashes)]}
}

func referenceEntry(style *sheet.Style, name string) sheet.Entry {
	return sheet.Entry{Name: name, Style: style, Grey: true, Draw: func(c *draw.Canvas, from, to vg.Point) {
		c.StrokeLines(referenceLine(style), []vg.Point{from, to})
	}}
}

func horizontal(style *sheet.Style, value float64) sheet.Layer {
	return func(c *draw.Canvas, _, y func(float64) vg.Length) {
		if at := y(value); c.ContainsY(at) {
			c.StrokeLine2(referenceLine(style), c.Min.X, at, c.Max.X, at)
		}
	}
}

package sheet

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a picture with two axes.
type Chart struct {
	X, Y   Axis
	Equal  bool // one unit is as long on both axes
	Grid   bool
	Layers []plot.Plotter // drawn in order
	Legend []Entry
	Bare   bool      // without the line of the vertical axis
	Names  vg.Length // room for names of categories, which break where it ends; 0 means as much as they need
}

// Style is the place of a series among those that a chart tells apart. It is looked at when the chart
// is drawn: until then panels number their series anew, so that a name looks the same in all of them.
type Style struct{ Index int }

// Entry is one line of a legend: a name and a drawing of its line or marker around the two points.
type Entry struct {
	Name  string
	Style *Style // of the series or reference that it names, nil for one that always looks the same
	Grey  bool   // a reference, which is numbered apart from the series
	Point bool   // drawn at one point, from is to; otherwise along a short line
	Draw  func(c *draw.Canvas, from, to vg.Point)
}

// thumbnail is the length of the drawing.
func (e Entry) thumbnail() vg.Length {
	if e.Point {
		return 9
	}
	return 26
}

// Layer is a plotter that is a function; x and y turn data into places on the canvas.
type Layer func(c *draw.Canvas, x, y func(float64) vg.Length)

// Plot implements plot.Plotter.
func (l Layer) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	l(&c, x, y)
}

const (
	tickLength = 3
	tickGap    = 4
	labelGap   = 7
)

// Aspect returns height over width of the data rectangle of a chart with equal axes.
func (ch *Chart) Aspect() float64 { return (ch.Y.Max - ch.Y.Min) / (ch.X.Max - ch.X.Min) }

// Left returns the room that tick labels and label of the vertical axis need.
func (ch *Chart) Left(height vg.Length) vg.Length {
	widest := vg.Length(0)
	for _, t := range ch.Y.ticks(ch.countY(height)) {
		widest = max(widest, ch.widest(t.Label))
	}
	if widest > 0 {
		widest += tickLength + tickGap
	}
	if ch.Y.Label != "" {
		widest += LabelType.Size + labelGap
	}
	return widest
}

// Bottom returns the room that tick labels and label of the horizontal axis need.
func (ch *Chart) Bottom() vg.Length {
	room := tickLength + tickGap + TickType.Size
	if ch.X.Label != "" {
		room += labelGap + LabelType.Size
	}
	return room
}

// Right returns the room for half of the last label of the horizontal axis.
const Right = 14 * vg.Length(1)

// Draw draws the chart with legend, axes and data into c.
func (ch *Chart) Draw(c draw.Canvas) {
	c = DrawLegend(c, ch.Legend)
	height := c.Max.Y - c.Min.Y - ch.Bottom()
	ch.DrawData(draw.Crop(c, ch.Left(height), -Right, ch.Bottom(), -TickType.Size/2), true, true)
}

// DrawData draws the data into the rectangle of c, and around it those axes that are asked for.
func (ch *Chart) DrawData(c draw.Canvas, axisX, axisY bool) { ch.drawData(c, axisX, axisY, false) }

// DrawPanel is DrawData for one of several panels: labels at the ends of an axis, which would touch
// those of the next panel, are left out.
func (ch *Chart) DrawPanel(c draw.Canvas, axisX, axisY bool) { ch.drawData(c, axisX, axisY, true) }

func (ch *Chart) drawData(c draw.Canvas, axisX, axisY, panel bool) {
	if ch.Equal {
		c = ch.fit(c)
	}
	p := plot.New()
	p.X.Min, p.X.Max, p.X.Scale = ch.X.Min, ch.X.Max, ch.X.scale()
	p.Y.Min, p.Y.Max, p.Y.Scale = ch.Y.Min, ch.Y.Max, ch.Y.scale()
	x, y := p.Transforms(&c)
	ticksX := ch.X.ticks(ch.countX(c.Max.X - c.Min.X))
	ticksY := ch.Y.ticks(ch.countY(c.Max.Y - c.Min.Y))
	if ch.Grid {
		for i := 1; i < len(ch.Y.Categories); i += 2 {
			low, high := y(float64(i)-0.5), y(float64(i)+0.5)
			c.FillPolygon(Haze, []vg.Point{{X: c.Min.X, Y: low}, {X: c.Max.X, Y: low}, {X: c.Max.X, Y: high}, {X: c.Min.X, Y: high}})
		}
		for _, t := range ticksX {
			if t.Label != "" && ch.X.Categories == nil {
				c.StrokeLine2(Line(Mist, 0.6), x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
			}
		}
		for _, t := range ticksY {
			if t.Label != "" && ch.Y.Categories == nil {
				c.StrokeLine2(Line(Mist, 0.6), c.Min.X, y(t.Value), c.Max.X, y(t.Value))
			}
		}
	}
	for _, layer := range ch.Layers {
		layer.Plot(c, p)
	}
	ch.frame(&c)
	if panel {
		// Numbers of panels beside each other must not meet: across they stay inside, and
		// upwards only the topmost stands out, by half its height.
		half := TickType.Size / 2
		ticksX = slices.DeleteFunc(ticksX, func(t plot.Tick) bool {
			return min(x(t.Value)-c.Min.X, c.Max.X-x(t.Value)) <= half
		})
		ticksY = slices.DeleteFunc(ticksY, func(t plot.Tick) bool { return y(t.Value)-c.Min.Y <= half })
	}
	if axisX {
		ch.drawAxisX(&c, x, ticksX)
	}
	if axisY {
		ch.drawAxisY(&c, y, ticksY)
	}
}

// frame closes a picture with equal axes by a thin box; other charts get their two axes.
func (ch *Chart) frame(c *draw.Canvas) {
	line := Line(Silver, 0.75)
	c.StrokeLine2(line, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	if !ch.Bare {
		c.StrokeLine2(line, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	}
	if ch.Equal {
		c.StrokeLines(line, []vg.Point{{X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
	}
}

func (ch *Chart) drawAxisX(c *draw.Canvas, x func(float64) vg.Length, ticks []plot.Tick) {
	top := c.Min.Y - tickLength - tickGap
	free := vg.Length(math.Inf(-1)) // labels that would touch the one before are left out
	for _, t := range ticks {
		length := vg.Length(tickLength)
		if t.Label == "" {
			length /= 2
		}
		c.StrokeLine2(Line(Silver, 0.75), x(t.Value), c.Min.Y, x(t.Value), c.Min.Y-length)
		width := TickType.Width(t.Label)
		if left := x(t.Value) - width/2; t.Label != "" && left > free {
			TickType.Align(0.5, 1).Draw(c, vg.Point{X: x(t.Value), Y: top}, t.Label)
			free = left + width + 4
		}
	}
	if ch.X.Label != "" {
		at := vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: top - TickType.Size - labelGap + 3}
		LabelType.Align(0.5, 1).Draw(c, at, ch.X.Label)
	}
}

func (ch *Chart) drawAxisY(c *draw.Canvas, y func(float64) vg.Length, ticks []plot.Tick) {
	right := c.Min.X - tickLength - tickGap
	widest := vg.Length(0)
	for _, t := range ticks {
		if t.Label == "" {
			c.StrokeLine2(Line(Silver, 0.75), c.Min.X-tickLength/2, y(t.Value), c.Min.X, y(t.Value))
			continue
		}
		c.StrokeLine2(Line(Silver, 0.75), c.Min.X-tickLength, y(t.Value), c.Min.X, y(t.Value))
		lines, style := ch.NameLines(t.Label), ch.typeY()
		for k, line := range lines {
			drop := style.Leading() * (vg.Length(k) - vg.Length(len(lines)-1)/2)
			style.Align(1, 0.5).Draw(c, vg.Point{X: right, Y: y(t.Value) - drop}, line)
		}
		widest = max(widest, ch.widest(t.Label))
	}
	if ch.Y.Label != "" {
		upward := LabelType.Align(0.5, 0)
		upward.Upward = true
		upward.Draw(c, vg.Point{X: right - widest - labelGap, Y: (c.Min.Y + c.Max.Y) / 2}, ch.Y.Label)
	}
}

// mostNameLines is in how many lines a name is set at the most. A longer one ends in an
// ellipsis: a category may be a page of text, and a chart of some is to stay one picture.
const mostNameLines = 3

// NameLines breaks a label of the vertical axis into the lines in which it is set.
func (ch *Chart) NameLines(label string) []string {
	if ch.Names == 0 {
		return []string{label}
	}
	t := ch.typeY()
	const enough = 500 // letters, more than three lines take
	if text := []rune(label); len(text) > enough {
		label = string(text[:enough])
	}
	lines := t.Fit(label, ch.Names)
	if len(lines) <= mostNameLines {
		return lines
	}
	last := []rune(lines[mostNameLines-1])
	for len(last) > 1 && t.Width(string(last)+"…") > ch.Names {
		last = last[:len(last)-1]
	}
	return append(lines[:mostNameLines-1], strings.TrimSpace(string(last))+"…")
}

func (ch *Chart) widest(label string) (width vg.Length) {
	for _, line := range ch.NameLines(label) {
		width = max(width, ch.typeY().Width(line))
	}
	return width
}

// typeY sets names larger than numbers.
func (ch *Chart) typeY() Type {
	if ch.Y.Categories != nil {
		return LabelType.Tinted(Black)
	}
	return TickType
}

func (ch *Chart) countX(width vg.Length) int  { return min(max(int(width/60), 4), 9) }
func (ch *Chart) countY(height vg.Length) int { return min(max(int(height/40), 3), 7) }

// fit returns the largest rectangle in the middle of c with the chart's aspect.
func (ch *Chart) fit(c draw.Canvas) draw.Canvas {
	aspect := vg.Length(ch.Aspect())
	size := c.Size()
	width, height := size.X, size.X*aspect
	if height > size.Y {
		width, height = size.Y/aspect, size.Y
	}
	return draw.Crop(c, (size.X-width)/2, -(size.X-width)/2, (size.Y-height)/2, -(size.Y-height)/2)
}

const (
	entryGap   = 16 * vg.Length(1) // between entries
	nameGap    = 5                 // between drawing and name
	legendType = 10.5
)

// LegendHeight returns the room that a legend needs above a picture of the given width.
func LegendHeight(entries []Entry, width vg.Length) vg.Length {
	if len(entries) == 0 {
		return 0
	}
	_, rows := placeLegend(entries, width)
	return vg.Length(rows)*legendType*1.5 + 6
}

// placeLegend returns column offset and row of each entry.
func placeLegend(entries []Entry, width vg.Length) (at []vg.Point, rows int) {
	style := LabelType
	style.Size = legendType
	x := vg.Length(0)
	for _, e := range entries {
		w := e.thumbnail() + nameGap + style.Width(e.Name)
		if x > 0 && x+w > width {
			x = 0
			rows++
		}
		at = append(at, vg.Point{X: x, Y: vg.Length(rows)})
		x += w + entryGap
	}
	return at, rows + 1
}

// DrawLegend draws entries in rows along the top of c, where they cannot cover data, and returns the
// canvas that is left below.
func DrawLegend(c draw.Canvas, entries []Entry) draw.Canvas {
	if len(entries) == 0 {
		return c
	}
	style := LabelType.Align(0, 0.5)
	style.Size = legendType
	at, _ := placeLegend(entries, c.Max.X-c.Min.X)
	for i, e := range entries {
		from := vg.Point{X: c.Min.X + at[i].X, Y: c.Max.Y - (at[i].Y*1.5+0.5)*legendType}
		to := vg.Point{X: from.X + e.thumbnail(), Y: from.Y}
		style.Draw(c, vg.Point{X: to.X + nameGap, Y: to.Y}, e.Name)
		if e.Point {
			from.X = (from.X + to.X) / 2
			to = from
		}
		e.Draw(&c, from, to)
	}
	return draw.Crop(c, 0, 0, 0, -LegendHeight(entries, c.Max.X-c.Min.X))
}

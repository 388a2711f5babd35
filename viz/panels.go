package viz

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Panels is a table of small figures: charts share their axes, so that panels compare at a glance, and
// image grids sit side by side. The cells' own titles and captions are not drawn.
type Panels struct {
	Title, Caption string
	Rows, Cols     []string // labels to the left and above; "" is allowed, nil means none
	Cells          []Figure // [rows, cols] row-major; nil leaves a cell empty
	Above          []string // [rows, cols] words above each cell, such as what was measured of it; nil means none
	Columns        int      // number of columns where Cols is nil; 0 means 3
	Width          int      // in CSS pixels; 0 fits the content, up to the width of a notebook
}

// Heading returns the title.
func (f Panels) Heading() string { return f.Title }

// PNG implements Figure.
func (f Panels) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Panels) Save(path string) error { return save(path, f) }

func (f Panels) caption() string { return f.Caption }

const (
	panelGap     = 9 * vg.Length(1)
	panelWidth   = 200 * vg.Length(1) // at most
	rowLabelRoom = 110 * vg.Length(1) // at most; longer labels wrap
)

func (f Panels) illustrate() (*picture, error) {
	rows, cols, err := f.shape()
	if err != nil {
		return nil, err
	}
	if f.Above != nil && len(f.Above) != len(f.Cells) {
		return nil, fmt.Errorf("viz: Panels has words above %d cells and %s: expected some for each, which may be empty", len(f.Above), sheet.Count(len(f.Cells), "cell"))
	}
	t := &table{rows: rows, cols: cols, rowLabels: f.Rows, colLabels: f.Cols, words: f.Above}
	var notes []string
	for i, cell := range f.Cells {
		if cell == nil {
			t.cells = append(t.cells, nil)
			continue
		}
		figure, ok := cell.(illustrator)
		if !ok {
			return nil, fmt.Errorf("viz: cell %s of Panels is a %T: expected a figure of package viz", f.place(i, cols), cell)
		}
		switch cell.(type) {
		case Panels, *Panels:
			return nil, fmt.Errorf("viz: cell %s of Panels is itself Panels: expected a single figure", f.place(i, cols))
		}
		p, err := picturing(figure)
		if err != nil {
			return nil, fmt.Errorf("viz: cell %s of Panels: %w", f.place(i, cols), err)
		}
		for _, note := range p.notes {
			notes = append(notes, f.place(i, cols)+": "+note)
		}
		t.cells = append(t.cells, p)
	}
	if err := t.share(); err != nil {
		return nil, err
	}
	width, height := t.measure(size(f.Width, sheet.NotebookWidth) - 18)
	return &picture{draw: t.draw, aspect: float64(height / width), width: width, height: height, pixels: t.pixels(), notes: notes}, nil
}

// shape finds the numbers of rows and columns and compares them with labels and cells.
func (f Panels) shape() (rows, cols int, err error) {
	cols = len(f.Cols)
	if cols == 0 {
		if cols = f.Columns; cols <= 0 {
			cols = min(3, len(f.Cells))
		}
	}
	if len(f.Cells) == 0 {
		return 0, 0, errEmpty("Panels", "cell")
	}
	rows = (len(f.Cells) + cols - 1) / cols
	if f.Rows != nil && (len(f.Rows) != rows || len(f.Cells) != rows*cols) {
		return 0, 0, fmt.Errorf("viz: Panels has %s, %d row labels and %s: expected %d cells, one for each row and column",
			sheet.Count(len(f.Cells), "cell"), len(f.Rows), sheet.Count(cols, "column"), len(f.Rows)*cols)
	}
	return rows, cols, nil
}

// place names cell i for messages.
func (f Panels) place(i, cols int) string {
	if len(f.Cells) <= cols && f.Rows == nil && i < len(f.Cols) && f.Cols[i] != "" {
		return "(" + f.Cols[i] + ")" // of the only row
	}
	row, col := fmt.Sprintf("row %d", i/cols+1), fmt.Sprintf("column %d", i%cols+1)
	if i/cols < len(f.Rows) && f.Rows[i/cols] != "" {
		row = f.Rows[i/cols]
	}
	if i%cols < len(f.Cols) && f.Cols[i%cols] != "" {
		col = f.Cols[i%cols]
	}
	return "(" + row + ", " + col + ")"
}

// table lays pictures out in rows and columns.
type table struct {
	rows, cols           int
	rowLabels, colLabels []string
	words                []string   // [rows, cols], above the cells
	cells                []*picture // [rows, cols], nil where empty

	legend              []sheet.Entry
	left, bottom        vg.Length // room for labels and axes around all cells
	heads               int       // lines of the longest label of a column, 0 where none has text
	axes                vg.Length // the part of left that the vertical axis takes
	above               vg.Length // room for words above each cell
	cellWidth, tallness vg.Length // of one cell
}

// measure fits the cells into the width and returns the size of the whole.
func (t *table) measure(available vg.Length) (width, height vg.Length) {
	for _, label := range t.rowLabels {
		for _, line := range sheet.HeadType.Wrap(label, rowLabelRoom) {
			t.left = max(t.left, sheet.HeadType.Width(line)+panelGap)
		}
	}
	for _, p := range t.cells {
		if p != nil && p.chart != nil {
			t.axes = max(t.axes, p.chart.Left(panelWidth))
			t.bottom = p.chart.Bottom()
		}
	}
	t.left += t.axes
	gaps := panelGap * vg.Length(t.cols-1)
	right := vg.Length(0)
	if t.axes > 0 {
		right = sheet.Right
	}
	t.cellWidth = min((available-t.left-gaps-right)/vg.Length(t.cols), max(panelWidth, 420/vg.Length(t.cols)))
	if t.axes == 0 {
		t.cellWidth = t.sharp(t.cellWidth)
	}
	for _, label := range t.colLabels { // where none has text, no room is left for them
		t.heads = max(t.heads, len(sheet.HeadType.Fit(label, t.cellWidth)))
	}
	aspect := 0.0
	for _, p := range t.cells {
		switch {
		case p == nil:
		case p.chart != nil && p.chart.Equal:
			aspect = max(aspect, p.chart.Aspect())
		case p.aspect > 0:
			aspect = max(aspect, p.aspect)
		}
	}
	if aspect == 0 {
		aspect = 0.75
	}
	t.tallness = t.cellWidth * vg.Length(aspect)
	for _, text := range t.words {
		t.above = max(t.above, sheet.NoteType.Leading()*vg.Length(len(t.wrapped(text))))
	}
	width = t.left + gaps + right + t.cellWidth*vg.Length(t.cols)
	return width, sheet.LegendHeight(t.legend, width) + t.head() + t.bottom + (t.above+t.tallness+panelGap)*vg.Length(t.rows) - panelGap
}

// head returns the room for the labels of columns.
func (t *table) head() vg.Length {
	if t.heads == 0 {
		return 0
	}
	return sheet.HeadType.Leading()*vg.Length(t.heads-1) + sheet.HeadType.Size + 7
}

// wrapped breaks words above a cell into lines that are as wide as it is.
func (t *table) wrapped(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, sheet.NoteType.Wrap(strings.TrimSuffix(line, "\n"), t.cellWidth)...)
	}
	return lines
}

// sharp narrows a cell to a width at which the widest image grid has a whole number of dots for each
// pixel, so that no room is left between the cells.
func (t *table) sharp(width vg.Length) vg.Length {
	widest := t.pixels() * dot
	if widest == 0 || width < widest {
		return width
	}
	return widest * vg.Length(math.Floor(float64(width/widest)+1e-6))
}

// pixels returns the width of the widest image grid in its own pixels, 0 without any.
func (t *table) pixels() (widest vg.Length) {
	for _, p := range t.cells {
		if p != nil {
			widest = max(widest, p.pixels)
		}
	}
	return widest
}

// draw draws labels and cells.
func (t *table) draw(c draw.Canvas) {
	c = sheet.DrawLegend(c, t.legend)
	for j, label := range t.colLabels {
		lines := sheet.HeadType.Fit(label, t.cellWidth)
		for k, line := range lines { // the last one stands on the cell
			at := vg.Point{X: c.Min.X + t.left + (t.cellWidth+panelGap)*vg.Length(j) + t.cellWidth/2, Y: c.Max.Y}
			at.Y -= sheet.HeadType.Leading() * vg.Length(t.heads-len(lines)+k)
			sheet.HeadType.Align(0.5, 1).Draw(c, at, line)
		}
	}
	c.Max.Y -= t.head()
	for i, p := range t.cells {
		row, col := i/t.cols, i%t.cols
		cell := c
		cell.Min.X = c.Min.X + t.left + (t.cellWidth+panelGap)*vg.Length(col)
		cell.Max.X = cell.Min.X + t.cellWidth
		cell.Max.Y = c.Max.Y - (t.above+t.tallness+panelGap)*vg.Length(row) - t.above
		cell.Min.Y = cell.Max.Y - t.tallness
		if t.words != nil {
			lines := t.wrapped(t.words[i])
			for k, line := range lines { // the last one stands on the cell
				y := cell.Max.Y + sheet.NoteType.Leading()*vg.Length(len(lines)-k)
				sheet.NoteType.Tinted(sheet.Black).Align(0, 1).Draw(c, vg.Point{X: cell.Min.X, Y: y}, line)
			}
		}
		if col == 0 && t.rowLabels != nil {
			t.label(c, row, (cell.Min.Y+cell.Max.Y)/2)
		}
		switch {
		case p == nil:
		case p.chart != nil:
			p.chart.DrawPanel(cell, t.lowest(i), col == 0)
		default:
			p.draw(cell)
		}
	}
}

// lowest reports whether no cell stands below cell i.
func (t *table) lowest(i int) bool { return i+t.cols >= len(t.cells) || t.cells[i+t.cols] == nil }

// label writes the name of a row, in several lines where it is long.
func (t *table) label(c draw.Canvas, row int, middle vg.Length) {
	lines := sheet.HeadType.Wrap(t.rowLabels[row], rowLabelRoom)
	y := middle + sheet.HeadType.Leading()*vg.Length(len(lines)-1)/2
	for _, line := range lines {
		sheet.HeadType.Align(0, 0.5).Draw(c, vg.Point{X: c.Min.X, Y: y}, line)
		y -= sheet.HeadType.Leading()
	}
}

package swae

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/viz"
)

// Names of artefacts that a report draws again.
const (
	CodesName          = "codes"
	InterpolationsName = "interpolations"
	classesFile        = "classes.json"
	drawnFile          = "drawn.npy"
)

// drawn is how many codes a picture shows, which more would cover.
const drawn = 700

// Codes are what a finished run has left of its codes: those of the first held-out
// images, with their classes.
type Codes struct {
	Dim     int
	Table   []float32 // [n, Dim+1], the class behind the code
	Classes []string  // names of the classes
	Seed    uint64    // of the prior to look at
	Drawn   []float32 // [m, Dim], what images are generated from; nil for the prior
}

// CodesOf reads those of a finished run. A run that has no names of its classes has their
// numbers.
func CodesOf(r *run.Run) (c Codes, err error) {
	width := 0
	if c.Table, width, err = r.Table(CodesName + ".npy"); err != nil {
		return c, err
	}
	c.Dim, c.Seed = width-1, r.Spec.Seed
	names, err := r.Artefacts()
	if err != nil {
		return c, err
	}
	if slices.Contains(names, drawnFile) {
		if c.Drawn, width, err = r.Table(drawnFile); err == nil && width != c.Dim {
			err = fmt.Errorf("swae: %s of %s has %d columns beside codes of %d numbers", drawnFile, r.ID, width, c.Dim)
		}
		if err != nil {
			return c, err
		}
	}
	if slices.Contains(names, classesFile) {
		f, err := r.Artefact(classesFile)
		if err != nil {
			return c, err
		}
		defer f.Close()
		if err := json.NewDecoder(f).Decode(&c.Classes); err != nil {
			return c, fmt.Errorf("swae: %s of %s: %w", classesFile, r.ID, err)
		}
	}
	for i := 0; i < len(c.Table); i += c.Dim + 1 {
		class := float64(c.Table[i+c.Dim])
		if !(class >= 0 && class < mostClasses) || class != math.Trunc(class) {
			return c, fmt.Errorf("swae: %s.npy of %s: row %d is of class %v; expected a number from 0", CodesName, r.ID, i/(c.Dim+1), class)
		}
		for len(c.Classes) <= int(class) {
			c.Classes = append(c.Classes, strconv.Itoa(len(c.Classes)))
		}
	}
	return c, nil
}

// mostClasses bounds what a damaged file may ask for.
const mostClasses = 1 << 16

// Figure draws codes over points that images are generated from, two coordinates at a time, in the colour
// and the shape of their class (004, Figures 3 and 9). It has nothing to draw of codes
// with one coordinate, ok is false then.
func (c Codes) Figure() (f viz.Panels, ok bool) {
	rows := len(c.Table) / (c.Dim + 1)
	below, what := c.Drawn, "what images are generated from"
	if below == nil {
		below, what = prior(min(rows, drawn), c.Dim, noise.Seeded(c.Seed).Stream("prior to look at", 0)).Data, "the prior"
	}
	below = below[:min(len(below), drawn*c.Dim)]
	f = viz.Panels{Title: "Codes of held-out images by class, over " + what + " (grey)", Columns: 2}
	var plots []*plot.Plot
	reach := 1. // the prior's
	for k := 0; k+1 < c.Dim; k += 2 {
		p := plain()
		p.X.Label.Text, p.Y.Label.Text = fmt.Sprintf("coordinate %d", k+1), fmt.Sprintf("coordinate %d", k+2)
		add := func(of plotter.XYs, style draw.GlyphStyle) {
			for _, at := range of {
				reach = max(reach, math.Abs(at.X), math.Abs(at.Y))
			}
			p.Add(&plotter.Scatter{XYs: of, GlyphStyle: style})
		}
		add(finite(below, c.Dim, k), draw.GlyphStyle{Color: color.NRGBA{0xd9, 0xd9, 0xd9, 0xff}, Radius: 1, Shape: draw.CircleGlyph{}})
		// Image by image, so that no class lies on top of the others.
		for i := 0; i < min(rows, drawn); i++ {
			row := c.Table[i*(c.Dim+1) : (i+1)*(c.Dim+1)]
			add(finite(row[:c.Dim], c.Dim, k), style(int(row[c.Dim])))
		}
		plots = append(plots, p)
	}
	if plots == nil {
		return f, false
	}
	reach *= 1.05
	for _, p := range plots {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -reach, reach, -reach, reach
	}
	if len(plots) > 3 { // with the legend, two rows
		f.Columns = 3
	}
	for _, p := range append(plots, c.legend()) {
		f.Cells = append(f.Cells, viz.Plot{Plot: p, Width: 340, Height: 340})
	}
	return f, true
}

// plain is a plot in the type of other figures.
func plain() *plot.Plot {
	p := plot.New()
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant, style.Font.Size = "Sans", vg.Points(8)
	}
	return p
}

// legend names the classes.
func (c Codes) legend() *plot.Plot {
	p := plain()
	p.HideAxes()
	p.Legend.Top, p.Legend.Left, p.Legend.Padding, p.Legend.ThumbnailWidth = true, true, vg.Points(3), vg.Points(14)
	for class, name := range c.Classes {
		p.Legend.Add(name, &plotter.Scatter{GlyphStyle: style(class)})
	}
	return p
}

// palette is Tol's "muted" colours, which stay apart to colour-blind readers, and a grey.
var palette = []color.NRGBA{
	{0x33, 0x22, 0x88, 0xff}, {0xcc, 0x66, 0x77, 0xff}, {0x11, 0x77, 0x33, 0xff}, {0xdd, 0xaa, 0x33, 0xff}, {0x88, 0xcc, 0xee, 0xff},
	{0x88, 0x22, 0x55, 0xff}, {0x44, 0xaa, 0x99, 0xff}, {0x99, 0x99, 0x33, 0xff}, {0xaa, 0x44, 0x99, 0xff}, {0x55, 0x55, 0x55, 0xff},
}

// polygon is a filled shape.
type polygon struct {
	corners int
	turn    float64
	radius  vg.Length // in units of a disc's
}

// DrawGlyph implements draw.GlyphDrawer.
func (g polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for k := range g.corners {
		sin, cos := math.Sincos(g.turn + 2*math.Pi*float64(k)/float64(g.corners))
		corner := vg.Point{X: at.X + g.radius*style.Radius*vg.Length(cos), Y: at.Y + g.radius*style.Radius*vg.Length(sin)}
		if k == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	c.SetColor(style.Color)
	c.Fill(path)
}

// shapes tell classes apart in grey print: disc, square, triangle, diamond, triangle on its
// tip, and pentagon.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, polygon{4, math.Pi / 4, 1.2}, polygon{3, math.Pi / 2, 1.4}, polygon{4, 0, 1.35}, polygon{3, -math.Pi / 2, 1.4}, polygon{5, math.Pi / 2, 1.25}}

// style is of a class.
func style(class int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: palette[class%len(palette)], Radius: vg.Points(2), Shape: shapes[class%len(shapes)]}
}

// finite are coordinates k and k+1 of points, but for those that are not finite.
func finite(x []float32, dim, k int) (plane plotter.XYs) {
	for i := 0; i < len(x); i += dim {
		if a, b := float64(x[i+k]), float64(x[i+k+1]); a-a == 0 && b-b == 0 {
			plane = append(plane, plotter.XY{X: a, Y: b})
		}
	}
	return plane
}

// Interpolations draws, of a run, images along the lines between codes (004, Figures 7
// and 11).
func Interpolations(r *run.Run) (viz.Images, error) {
	x, width, err := r.Table(InterpolationsName + ".npy")
	if err != nil {
		return viz.Images{}, err
	}
	if width != pixels {
		return viz.Images{}, fmt.Errorf("swae: %s.npy of %s has images of %d pixels; expected %d", InterpolationsName, r.ID, width, pixels)
	}
	return lines(x), nil
}

// lines sets interpolations out, three in a row with a white image between.
func lines(x []float32) viz.Images {
	const abreast = 3
	f := viz.Images{Height: side, Width: side, Cols: abreast*(between+1) - 1, Title: "From the first held-out image of one class to that of another", Scale: 1,
		Caption: fmt.Sprintf("%d pairs in a row, %d images each: a code, %d on the way, another.", abreast, between, between-2)}
	white := slices.Repeat([]float32{1}, pixels)
	i := 0
	for line := range slices.Chunk(x, between*pixels) {
		if i%abreast > 0 {
			f.X = append(f.X, white...)
		}
		f.X = append(f.X, line...)
		i++
	}
	return f
}

// tellClasses leaves the names of classes.
func (t *training) tellClasses(r *run.Run) error {
	return r.WriteFile(classesFile, func(to io.Writer) error { return json.NewEncoder(to).Encode(t.data.held.Classes) })
}

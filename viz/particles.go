package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Particles shows points of the plane over the level sets of a density, one unit equally long both ways.
type Particles struct {
	Title, Caption string
	X              []float32                  // [n, 2] row-major: the points, green
	Target         []float32                  // [m, 2] row-major: other points below them, grey; or nil
	Density        func(x, y float64) float64 // its sets that hold 20, 40, 60, 80 and 95 % of the mass are drawn in black; or nil
	Region         Region                     // what to show; the zero Region fits the points
	LabelX, LabelY string
	Width          int // in CSS pixels; 0 means 560
}

// Heading returns the title.
func (f Particles) Heading() string { return f.Title }

// PNG implements Figure.
func (f Particles) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Particles) Save(path string) error { return save(path, f) }

func (f Particles) caption() string { return f.Caption }

func (f Particles) illustrate() (*picture, error) {
	var left dropped
	points, err := planar("X of Particles", f.X, &left)
	if err != nil {
		return nil, err
	}
	target, err := planar("Target of Particles", f.Target, &left)
	if err != nil {
		return nil, err
	}
	if len(points)+len(target) == 0 && (f.Density == nil || f.Region == Region{}) {
		return nil, errEmpty("Particles", "point")
	}
	region, err := f.Region.around(points, target)
	if err != nil {
		return nil, err
	}
	chart := region.chart(f.LabelX, f.LabelY)
	if len(target) > 0 {
		chart.Layers = append(chart.Layers, cloud(target, sheet.Silver))
	}
	chart.Layers = append(chart.Layers, cloud(points, sheet.Green))
	if f.Density != nil {
		contour, err := f.contour(region, &left)
		if err != nil {
			return nil, err
		}
		// Panels may have made the axes longer meanwhile: what holds a share of the mass is
		// then to be of all that is shown, in each of them alike.
		chart.Layers = append(chart.Layers, sheet.Layer(func(c *draw.Canvas, x, y func(float64) vg.Length) {
			shown := Region{chart.X.Min, chart.X.Max, chart.Y.Min, chart.Y.Max}
			if shown != region {
				if wider, err := f.contour(shown, &dropped{}); err == nil {
					contour = wider
				}
			}
			contour(c, x, y)
		}))
	}
	return region.picture(chart, f.Width, left, points), nil
}

// dropped counts what a picture of points leaves out.
type dropped struct{ points, outside, densities int }

func (d dropped) notes() (notes []string) {
	if d.points > 0 {
		notes = append(notes, fmt.Sprintf("Not drawn: %s with a coordinate that is not finite.", sheet.Count(d.points, "point")))
	}
	if d.outside > 0 {
		notes = append(notes, fmt.Sprintf("Not drawn: %s outside the region shown.", sheet.Count(d.outside, "point")))
	}
	if d.densities > 0 {
		notes = append(notes, fmt.Sprintf("The density is not a finite number ≥ 0 at %s of the grid; taken as 0 there.", sheet.Count(d.densities, "point")))
	}
	return notes
}

// planar reads [n, 2] values as points and leaves out those that are not finite.
func planar(what string, flat []float32, left *dropped) ([]point, error) {
	if len(flat)%2 != 0 {
		return nil, fmt.Errorf("viz: %s has %d values: expected an even number, x and y of each point", what, len(flat))
	}
	points := make([]point, 0, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		p := point{float64(flat[i]), float64(flat[i+1])}
		if math.IsNaN(p.x+p.y) || math.IsInf(p.x, 0) || math.IsInf(p.y, 0) {
			left.points++
			continue
		}
		points = append(points, p)
	}
	return points, nil
}

// cloud draws points as discs that shrink as they grow many. Points that stand on each other count once, so
// that a cloud that has collapsed is still seen among others.
func cloud(points []point, colour color.Color) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		const apart = 0.5 // points
		var shown []vg.Point
		places := map[[2]int]bool{}
		for _, p := range points {
			if at := (vg.Point{X: x(p.x), Y: y(p.y)}); c.Contains(at) {
				shown = append(shown, at)
				places[[2]int{int(at.X / apart), int(at.Y / apart)}] = true
			}
		}
		crowd := math.Pow(max(float64(len(places)), 12)/300, -0.25)
		radius := vg.Length(crowd) * min(max(0.0075*(c.Max.X-c.Min.X), 1.2), 2.6)
		c.SetColor(colour)
		for _, at := range shown {
			c.Fill(sheet.Disc(at, radius))
		}
	}
}

// cells is the number of grid points each way on which a density is evaluated.
const cells = 120

// contour evaluates the density on a grid and returns its level sets.
func (f Particles) contour(r Region, left *dropped) (sheet.Layer, error) {
	g := &grid{region: r, z: make([]float64, cells*cells)}
	total := 0.0
	for i := range g.z {
		z := f.Density(g.X(float64(i%cells)), g.Y(float64(i/cells)))
		if math.IsNaN(z) || math.IsInf(z, 0) || z < 0 {
			left.densities++
			z = 0
		}
		g.z[i] = z
		total += z
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, fmt.Errorf("viz: the density of Particles sums to %v over the region %+v: expected a positive number; show a region where it has mass", total, r)
	}
	levels := g.levels(total, 0.2, 0.4, 0.6, 0.8, 0.95)
	slices.Sort(levels)
	levels = slices.Compact(levels)
	return g.contours(levels, sheet.Line(sheet.Black, 0.7)), nil
}

// grid is a density on a regular grid over a region.
type grid struct {
	region Region
	z      []float64 // [cells, cells], row-major from the lower left
}

// X and Y are the place of column c and row r, which need not be whole.
func (g *grid) X(c float64) float64 {
	return g.region.MinX + (g.region.MaxX-g.region.MinX)*c/(cells-1)
}

func (g *grid) Y(r float64) float64 {
	return g.region.MinY + (g.region.MaxY-g.region.MinY)*r/(cells-1)
}

// contours draws the level sets' borders by marching squares, one short line
// for each square that a border crosses. (plotter.Contour joins them into
// paths, for which it needs exponential time and memory when a level meets many
// grid points exactly, as those of a symmetric density do.)
func (g *grid) contours(levels []float64, style draw.LineStyle) sheet.Layer {
	return func(c *draw.Canvas, x, y func(float64) vg.Length) {
		c.SetLineStyle(style)
		for _, level := range levels {
			var border vg.Path
			for row := range cells - 1 {
				for column := range cells - 1 {
					ends := g.crossings(column, row, level)
					for i := 0; i+1 < len(ends); i += 2 {
						a, b := ends[i], ends[i+1]
						border.Move(vg.Point{X: x(g.X(a.x)), Y: y(g.Y(a.y))})
						border.Line(vg.Point{X: x(g.X(b.x)), Y: y(g.Y(b.y))})
					}
				}
			}
			c.Stroke(border)
		}
	}
}

// crossings returns where a level crosses the edges of the square with the lower
// left corner (column, row), in grid units, going around: none, two, or four
// around a saddle, each pair the ends of a line.
func (g *grid) crossings(column, row int, level float64) (ends []point) {
	corners := [4]struct{ x, y int }{{column, row}, {column + 1, row}, {column + 1, row + 1}, {column, row + 1}}
	for i, a := range corners {
		b := corners[(i+1)%4]
		from, to := g.z[a.y*cells+a.x], g.z[b.y*cells+b.x]
		if (from >= level) == (to >= level) {
			continue
		}
		part := (level - from) / (to - from)
		ends = append(ends, point{float64(a.x) + part*float64(b.x-a.x), float64(a.y) + part*float64(b.y-a.y)})
	}
	return ends
}

// levels returns the densities whose upper level sets hold the given fractions of the mass.
func (g *grid) levels(total float64, fractions ...float64) []float64 {
	sorted := slices.Clone(g.z)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	var levels []float64
	mass, next := 0.0, 0
	for _, z := range sorted {
		mass += z
		for next < len(fractions) && mass >= fractions[next]*total {
			levels = append(levels, z)
			next++
		}
	}
	return levels
}

package viz

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

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

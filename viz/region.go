package viz

import (
	"fmt"
	"math"
	"molehill/viz/internal/sheet"
)

// Region is a rectangle of the plane.
type Region struct{ MinX, MaxX, MinY, MaxY float64 }

// around is the region itself, or where it is zero what shows all points, with some room around them.
func (r Region) around(clouds ...[]point) (Region, error) {
	if (r != Region{}) {
		var x, y sheet.Range
		for _, v := range []float64{r.MinX, r.MaxX} {
			x.Add(v)
		}
		for _, v := range []float64{r.MinY, r.MaxY} {
			y.Add(v)
		}
		if len(x.Notes())+len(y.Notes()) > 0 || !(r.MinX < r.MaxX) || !(r.MinY < r.MaxY) {
			return r, fmt.Errorf("viz: the region %+v of Particles is empty: expected finite MinX < MaxX and MinY < MaxY", r)
		}
		if sheet.Close(r.MinX, r.MaxX) || sheet.Close(r.MinY, r.MaxY) {
			return r, fmt.Errorf("viz: the region %+v of Particles is too narrow for numbers on its axes: expected a billionth of the coordinates at least", r)
		}
		if ratio := (r.MaxY - r.MinY) / (r.MaxX - r.MinX); !(ratio > 0.05 && ratio < 20) {
			return r, fmt.Errorf("viz: the region %+v of Particles is %.3g times as high as wide: expected between 0.05 and 20", r, ratio)
		}
		return r, nil
	}
	return fitted(clouds...), nil
}

// fitted returns the smallest region around all points, with room, and at most three times as long one
// way as the other.
func fitted(clouds ...[]point) Region {
	var x, y sheet.Range
	for _, points := range clouds {
		for _, p := range points {
			x.Add(p.x)
			y.Add(p.y)
		}
	}
	longest := max(x.Max-x.Min, y.Max-y.Min)
	if longest == 0 {
		longest = 1
	}
	// Far from the origin points that are (almost) equal need room that axes can tell from nothing.
	longest = max(longest, 1e-6*max(math.Abs(x.Min), math.Abs(x.Max), math.Abs(y.Min), math.Abs(y.Max)))
	halfX := max(x.Max-x.Min, longest/3)/2 + 0.06*longest
	halfY := max(y.Max-y.Min, longest/3)/2 + 0.06*longest
	midX, midY := (x.Min+x.Max)/2, (y.Min+y.Max)/2
	return Region{midX - halfX, midX + halfX, midY - halfY, midY + halfY}
}

func (r Region) has(p point) bool {
	return p.x >= r.MinX && p.x <= r.MaxX && p.y >= r.MinY && p.y <= r.MaxY
}

// chart is one of the region without anything in it, one unit equally long both ways.
func (r Region) chart(labelX, labelY string) *sheet.Chart {
	return &sheet.Chart{
		X:     sheet.Axis{Label: labelX, Min: r.MinX, Max: r.MaxX},
		Y:     sheet.Axis{Label: labelY, Min: r.MinY, Max: r.MaxY},
		Equal: true,
	}
}

// picture is that of a chart of the region, as wide as asked for, with how many points lie outside.
func (r Region) picture(chart *sheet.Chart, width int, left dropped, points []point) *picture {
	for _, p := range points {
		if !r.has(p) {
			left.outside++
		}
	}
	return &picture{chart: chart, aspect: chart.Aspect(), width: size(width, 560*sheet.CSS), notes: left.notes()}
}

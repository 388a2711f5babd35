package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/run/draw"
	"molehill/viz"
)

// Curve draws a curve that runs told of on their way, "sliced W₂" for example,
// in one figure; runs that have none of that name are left out. Where none has,
// the figure is empty and its title says which curves there are.
func (c Comparison) Curve(name string) viz.Curves {
	figure := viz.Curves{Title: name, X: viz.Axis{Label: "step"}, Y: viz.Axis{Label: name, Log: true}}
	for i, r := range c.Runs {
		drawn, err := draw.Curve(r, name)
		if err != nil {
			continue
		}
		line := drawn.Lines[0]
		line.Name = c.Labels[i]
		figure.Y.Log = figure.Y.Log && drawn.Y.Log
		figure.Lines = append(figure.Lines, line)
	}
	if len(figure.Lines) == 0 {
		figure.Title = fmt.Sprintf("none of the runs told of %s; there is %s", name, cmp.Or(strings.Join(c.Curves(), ", "), "none yet"))
	}
	return figure
}

// Curves returns the names of all curves that the runs told of, those of most runs
// first.
func (c Comparison) Curves() []string {
	count := map[string]int{}
	for _, r := range c.Runs {
		names, _ := r.Curves() // those that can be read
		for _, name := range names {
			count[name]++
		}
	}
	names := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	return names
}

// Figure draws the curve that most of the runs have, with a line for each run.
// Curve draws another, which the caption names.
func (c Comparison) Figure() viz.Curves {
	names := c.Curves()
	if len(names) == 0 {
		return viz.Curves{Title: "none of the runs has told of a curve yet"}
	}
	figure := c.Curve(names[0])
	if len(names) > 1 {
		figure.Caption = "There are also " + strings.Join(names[1:], ", ") + "."
	}
	return figure
}

// Samples shows up to n images of each run that made some, beside each other.
func (c Comparison) Samples(n int) (viz.Figure, error) {
	var panels viz.Panels
	panels.Columns = min(3, len(c.Runs))
	for i, r := range c.Runs {
		grid, err := draw.Images(r, "samples.npy", n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		grid.Title = c.Labels[i]
		panels.Cells = append(panels.Cells, grid)
		panels.Cols = append(panels.Cols, c.Labels[i])
	}
	if len(panels.Cells) == 0 {
		return nil, errors.New("none of the runs has made images yet")
	}
	if len(panels.Cells) > panels.Columns {
		panels.Cols, panels.Above = nil, panels.Cols // those of columns would stand above the first row alone
	}
	return panels, nil
}

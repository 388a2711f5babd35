// Package draw makes figures of what a run left: its curves, and its images.
package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"molehill/pkg/run"
	"molehill/viz"
)

// Curve draws a curve that a run told of, "sliced W₂" for example, on a logarithmic axis if
// all values are positive; an unknown name is answered with those that there are.
func Curve(r *run.Run, name string) (viz.Curves, error) {
	steps, values, err := r.Curve(name)
	switch {
	case len(steps) > 0: // those that can be read
	case err != nil:
		return viz.Curves{}, err
	default:
		names, _ := r.Curves()
		return viz.Curves{}, fmt.Errorf("%s told of no %s; there is %s", r.ID, name, cmp.Or(strings.Join(names, ", "), "none yet"))
	}
	line := viz.Line{Name: name, Y: values}
	for _, step := range steps {
		line.X = append(line.X, float64(step))
	}
	positive := !slices.ContainsFunc(values, func(v float64) bool { return v <= 0 })
	return viz.Curves{
		Title: r.Spec.Experiment + ": " + name,
		X:     viz.Axis{Label: "step"}, Y: viz.Axis{Label: name, Log: positive},
		Lines: []viz.Line{line},
	}, nil
}

// Images shows up to n, at least 1, of the square images of an artefact, such as
// "samples.npy".
func Images(r *run.Run, name string, n int) (viz.Images, error) {
	pixels, columns, err := r.Table(name)
	switch {
	case err != nil:
		return viz.Images{}, err
	case n < 1:
		return viz.Images{}, fmt.Errorf("%s: asked for %d images; ask for one or more", name, n)
	}
	n = min(n, len(pixels)/max(columns, 1))
	images, err := viz.SquareImages(pixels[:n*columns], columns)
	if err != nil {
		return images, fmt.Errorf("%s: %w", name, err)
	}
	return images, nil
}

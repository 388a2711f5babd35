package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/run"
	"molehill/viz"
)

// path is a line of Against: groups that differ in one setting, which lies along it.
type path struct {
	group  // all of them together
	name   string
	places []place
}

// place is the mean of a metric over a group's seeds, with its standard deviation, NaN of one.
type place struct{ x, mean, deviation float64 }

// Against draws a metric against a setting that is a number, such as "epsilon":
// the mean over the seeds with a band of one standard deviation, and a line for
// each combination of the other settings.
func (c Comparison) Against(setting, metric string) (viz.Curves, error) {
	if err := cmp.Or(c.measured(metric), c.set(setting)); err != nil {
		return viz.Curves{}, err
	}
	paths, axis, beyond := c.paths(setting, metric)
	figure := viz.Curves{Title: metric, Caption: "One run each.", X: viz.Axis{Label: axis}, Y: viz.Axis{Label: metric}}
	low, high := math.Inf(1), math.Inf(-1)
	repeated := slices.ContainsFunc(paths, (*path).repeated)
	if repeated {
		figure.Caption = "Mean over the seeds; the band is one standard deviation."
	}
	for _, p := range paths {
		figure.Lines = append(figure.Lines, p.line(repeated))
		low, high = min(low, p.places[0].x), max(high, p.places[len(p.places)-1].x)
	}
	figure.X.Log = low > 0 && high/low >= 8
	if beyond > 0 {
		figure.Caption += fmt.Sprintf(" Not drawn: %d settings whose %s is no finite number.", beyond, axis)
	}
	return figure, nil
}

// paths are the lines of Against, in the order of the runs, with the name of the axis that
// they lie along, and how many groups have no finite place there.
func (c Comparison) paths(setting, metric string) (paths []*path, axis string, beyond int) {
	groups, names := c.groups()
	others := slices.DeleteFunc(names, func(name string) bool { return name == setting })
	axis = spokenAxis(setting)
	// An ε is the one that holds, if all runs say which.
	atProved := setting == "epsilon" && !slices.ContainsFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(g.runs, func(r *run.Run) bool { _, ok := proved(r); return !ok })
	})
	if atProved {
		axis = "ε as proved"
	}
	found := map[string]*path{} // by their other settings
	for _, g := range groups {
		x, err := strconv.ParseFloat(g.settings[setting], 64)
		if atProved {
			_, most, _ := g.span()
			x, err = float64(most), nil
		}
		if err != nil || math.IsInf(x, 0) {
			beyond++
			continue
		}
		mean, deviation, n := g.over(metric)
		if n == 0 {
			continue
		}
		key := g.called(others, func(name string) string { return spoken(name, g.settings[name]) })
		p := found[key]
		if p == nil {
			p = &path{group: group{settings: g.settings}}
			found[key], paths = p, append(paths, p)
		}
		p.runs, p.places = append(p.runs, g.runs...), append(p.places, place{x, mean, deviation})
	}
	for _, p := range paths {
		p.name = p.called(others, p.spoken)
		slices.SortFunc(p.places, func(a, b place) int { return cmp.Compare(a.x, b.x) })
	}
	return paths, axis, beyond
}

// called names a group by those settings that it has.
func (g *group) called(names []string, say func(name string) string) string {
	var said []string
	for _, name := range names {
		if _, ok := g.settings[name]; ok {
			said = append(said, say(name))
		}
	}
	return strings.Join(said, ", ")
}

// repeated reports whether a place is a mean over more than one seed.
func (p *path) repeated() bool {
	return slices.ContainsFunc(p.places, func(at place) bool { return !math.IsNaN(at.deviation) })
}

// line draws a path, with a band where runs were repeated, which has no width where one was not.
func (p *path) line(band bool) viz.Line {
	line := viz.Line{Name: p.name}
	for _, at := range p.places {
		line.X, line.Y = append(line.X, at.x), append(line.Y, at.mean)
		if !band {
			continue
		}
		if math.IsNaN(at.deviation) {
			at.deviation = 0
		}
		line.Low, line.High = append(line.Low, at.mean-at.deviation), append(line.High, at.mean+at.deviation)
	}
	return line
}

// Overview is Against for the first setting that is a number, and the first
// metric; false if there is no such picture.
func (c Comparison) Overview(settings []string) (viz.Figure, bool) {
	metrics := c.Metrics()
	if len(metrics) == 0 {
		return nil, false
	}
	metric := metrics[0]
	for _, usual := range []string{"sliced W₂", "loss"} {
		if slices.Contains(metrics, usual) {
			metric = usual
		}
	}
	for _, setting := range settings {
		figure, err := c.Against(setting, metric)
		if err != nil {
			continue // none of them has it
		}
		for _, line := range figure.Lines {
			if len(line.X) > 1 {
				return figure, true
			}
		}
	}
	return nil, false
}

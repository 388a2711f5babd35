package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// group is runs that differ in nothing but their seed.
type group struct {
	settings map[string]string
	runs     []*run.Run
}

// groups puts runs together that differ only in their seed, and returns the names
// of the settings in which the groups differ.
func (c Comparison) groups() (groups []*group, names []string) {
	for _, name := range varied(c.plain()) {
		if name != "seed" {
			names = append(names, name)
		}
	}
	byKey := map[string]*group{}
	all := settingsOf(c.plain()...)
	for i, r := range c.Runs {
		settings := all[i]
		var key strings.Builder
		for _, name := range names {
			fmt.Fprintf(&key, "%q", settings[name])
		}
		g := byKey[key.String()]
		if g == nil {
			g = &group{settings: settings}
			byKey[key.String()] = g
			groups = append(groups, g)
		}
		g.runs = append(g.runs, r.Run)
	}
	return groups, names
}

// proved is the ε that the group's runs prove, from the least to the largest where seeds
// differ; "" without statements.
func (g *group) proved() string {
	switch least, most, ok := g.span(); {
	case !ok:
		return ""
	case least.String() == most.String():
		return most.String()
	default:
		return fmt.Sprintf("%v to %v", least, most)
	}
}

// span is the least and the largest ε that the group's runs prove; false without
// statements.
func (g *group) span() (least, most privacy.Epsilon, ok bool) {
	least = privacy.Epsilon(math.Inf(1))
	for _, r := range g.runs {
		if epsilon, stated := proved(r); stated {
			least, most, ok = min(least, epsilon), max(most, epsilon), true
		}
	}
	return least, most, ok
}

// spoken writes a setting for a legend. An ε that is asked for and not what is proved, as
// with the papers' noise, says so.
func (g *group) spoken(name string) string {
	text := spoken(name, g.settings[name])
	asked, err := privacy.ParseEpsilon(g.settings[name])
	if _, most, ok := g.span(); name == "epsilon" && err == nil && ok && most > asked*(1+1e-9) {
		return text + " asked for, " + g.proved() + " proved"
	}
	return text
}

// over returns the mean of a metric over the runs that are finished, its standard
// deviation (NaN of one), and their number.
func (g *group) over(metric string) (mean, deviation float64, n int) {
	var values []float64
	for _, r := range g.runs {
		if result, err := r.Result(); err == nil {
			if v, ok := result.Metrics[metric]; ok {
				values = append(values, v)
			}
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN(), 0
	}
	mean, deviation = stat.MeanStdDev(values, nil)
	return mean, deviation, len(values)
}

// Summary is a row for each setting, with the metrics that are named, or all, as
// mean ± standard deviation over the seeds.
func (c Comparison) Summary(metrics ...string) viz.Table {
	if err := c.measured(metrics...); err != nil {
		fail(err)
	}
	if len(metrics) == 0 {
		for _, name := range c.Metrics() {
			if rankOf(name) == 0 {
				metrics = append(metrics, name)
			}
		}
	}
	groups, names := c.groups()
	var t viz.Table
	for _, name := range names {
		t.Header = append(t.Header, spokenAxis(name))
	}
	private := slices.ContainsFunc(groups, func(g *group) bool { return g.proved() != "" })
	if private {
		t.Header = append(t.Header, "ε as proved")
	}
	t.Header = append(append(t.Header, "finished"), metrics...)
	for _, g := range groups {
		var row []any
		for _, name := range names {
			row = append(row, g.settings[name])
		}
		if private {
			row = append(row, g.proved())
		}
		finished := 0
		for _, r := range g.runs {
			if state, err := r.State(); err == nil && state == run.Finished {
				finished++
			}
		}
		row = append(row, fmt.Sprintf("%d of %d", finished, len(g.runs)))
		for _, metric := range metrics {
			switch mean, deviation, n := g.over(metric); {
			case n == 0:
				row = append(row, "")
			case n == 1:
				row = append(row, mean)
			default:
				row = append(row, viz.Spread(mean, deviation))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Rows is the table with a row for each run, however few there are.
func (c Comparison) Rows(metrics ...string) viz.Table {
	var t viz.Table
	all := c.columns(metrics)
	for _, column := range all {
		t.Header = append(t.Header, column.name)
	}
	for i := range c.Runs {
		row := make([]any, len(all))
		for j, column := range all {
			row[j] = column.cells[i]
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// set returns an error unless a run has a setting.
func (c Comparison) set(setting string) error {
	if slices.ContainsFunc(settingsOf(c.plain()...), func(of map[string]string) bool { _, ok := of[setting]; return ok }) {
		return nil
	}
	return fmt.Errorf("no run has a setting %s; they differ in %s", setting, strings.Join(varied(c.plain()), ", "))
}

// Against draws a metric against a setting that is a number, such as "epsilon":
// the mean over the seeds with a band of one standard deviation, and a line for
// each combination of the other settings.
func (c Comparison) Against(setting, metric string) viz.Curves {
	if err := c.measured(metric); err != nil {
		fail(err)
	}
	groups, names := c.groups()
	if err := c.set(setting); err != nil {
		fail(err)
	}
	type point struct{ x, mean, deviation float64 }
	type path struct {
		group  // all that lie on it
		points []point
	}
	paths := map[string]*path{} // by their other settings
	var order []*path
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == setting })
	called := func(settings map[string]string, say func(name string) string) string {
		var said []string
		for _, name := range others {
			if _, ok := settings[name]; ok {
				said = append(said, say(name))
			}
		}
		return strings.Join(said, ", ")
	}
	infinite := 0
	// An ε is the one that holds, if all runs say which.
	atProved := setting == "epsilon" && !slices.ContainsFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(g.runs, func(r *run.Run) bool { _, ok := proved(r); return !ok })
	})
	axis := spokenAxis(setting)
	if atProved {
		axis = "ε as proved"
	}
	for _, g := range groups {
		x, err := strconv.ParseFloat(g.settings[setting], 64)
		if atProved {
			_, most, _ := g.span()
			x, err = float64(most), nil
		}
		mean, deviation, n := g.over(metric)
		if err != nil || math.IsInf(x, 0) {
			infinite++
			continue
		}
		if n == 0 {
			continue
		}
		key := called(g.settings, func(name string) string { return spoken(name, g.settings[name]) })
		p := paths[key]
		if p == nil {
			p = &path{group: group{settings: g.settings}}
			paths[key], order = p, append(order, p)
		}
		p.runs, p.points = append(p.runs, g.runs...), append(p.points, point{x, mean, deviation})
	}
	figure := viz.Curves{Title: metric, X: viz.Axis{Label: axis}, Y: viz.Axis{Label: metric}}
	low, high := math.Inf(1), math.Inf(-1)
	spread := false
	for _, path := range order {
		slices.SortFunc(path.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		line := viz.Line{Name: called(path.settings, path.spoken)}
		for _, p := range path.points {
			low, high = min(low, p.x), max(high, p.x)
			if math.IsNaN(p.deviation) { // of one run
				p.deviation = 0
			} else {
				spread = true
			}
			line.X, line.Y = append(line.X, p.x), append(line.Y, p.mean)
			line.Low, line.High = append(line.Low, p.mean-p.deviation), append(line.High, p.mean+p.deviation)
		}
		figure.Lines = append(figure.Lines, line)
	}
	figure.X.Log = low > 0 && high/low >= 8
	if figure.Caption = "Mean over the seeds; the band is one standard deviation."; !spread {
		figure.Caption = "One run each."
		for i := range figure.Lines {
			figure.Lines[i].Low, figure.Lines[i].High = nil, nil
		}
	}
	if infinite > 0 {
		figure.Caption += fmt.Sprintf(" Not drawn: %d settings whose %s is no finite number.", infinite, axis)
	}
	return figure
}

// spokenAxis is the name of a setting's axis, or column.
func spokenAxis(setting string) string {
	if setting == "epsilon" {
		return "ε asked for"
	}
	return strings.ReplaceAll(setting, "_", " ")
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
		if c.set(setting) != nil {
			continue
		}
		figure := c.Against(setting, metric)
		for _, line := range figure.Lines {
			if len(line.X) > 1 {
				return figure, true
			}
		}
	}
	return nil, false
}

package compare

import (
	"fmt"
	"math"
	"slices"
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
	for _, name := range varied(c.Runs) {
		if name != "seed" {
			names = append(names, name)
		}
	}
	byKey := map[string]*group{}
	all := settingsOf(c.Runs...)
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
		g.runs = append(g.runs, r)
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
func (c Comparison) Summary(metrics ...string) (viz.Table, error) {
	if err := c.measured(metrics...); err != nil {
		return viz.Table{}, err
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
			text := g.proved()
			if text != "" {
				text += protecting(g.runs...)
			}
			row = append(row, text)
		}
		finished := 0
		for _, r := range g.runs {
			if r.Is(run.Finished) {
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
	return t, nil
}

// set returns an error unless a run has a setting.
func (c Comparison) set(setting string) error {
	if slices.ContainsFunc(settingsOf(c.Runs...), func(of map[string]string) bool { _, ok := of[setting]; return ok }) {
		return nil
	}
	return fmt.Errorf("no run has a setting %s; they differ in %s", setting, strings.Join(varied(c.Runs), ", "))
}

// spokenAxis is the name of a setting's axis, or column.
func spokenAxis(setting string) string {
	if setting == "epsilon" {
		return "ε asked for"
	}
	return strings.ReplaceAll(setting, "_", " ")
}

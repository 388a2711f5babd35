package sweep

import (
	"fmt"
	"math"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/viz"
)

// Means and standard deviations by hand; rows without the metric are left out.
func TestOverSeeds(t *testing.T) {
	rows := []Row{
		{Metrics: run.Values{"a": 1, "ratio": 0.8, "endless": 2, "noise": 0.00501234567}, Measured: []experiment.Measured{{Values: run.Values{"b": 7}, Rows: 10}}},
		{Metrics: run.Values{"a": 3, "ratio": math.NaN(), "endless": math.Inf(1), "noise": 0.00501234568}, Measured: []experiment.Measured{{Values: run.Values{"b": 9}, Rows: 20}}},
		{},
	}
	for _, c := range []struct {
		metric          Metric
		mean, deviation float64
		shown           string
	}{
		{Metric{Name: "a"}, 2, math.Sqrt2, "2 ± 1.4"},
		{Metric{"b", 10}, 7, math.NaN(), "7"},
		{Metric{"b", 20}, 9, math.NaN(), "9"},
		{Metric{"a", 10}, math.NaN(), math.NaN(), ""},
		{Metric{Name: "ratio"}, math.NaN(), 0, "undefined"},
		{Metric{Name: "endless"}, math.Inf(1), math.NaN(), "undefined"},
		{Metric{Name: "noise"}, 0.005012345675, 1e-11 / math.Sqrt2, "0.005012 ± 0"}, // of rounding
		{Metric{Name: "c"}, math.NaN(), math.NaN(), ""},
	} {
		mean, deviation := OverSeeds(rows, c.metric)
		same := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-15 || math.IsNaN(a) && math.IsNaN(b) }
		if !same(mean, c.mean) || !same(deviation, c.deviation) || viz.Spread(mean, deviation) != c.shown {
			t.Errorf("%v ± %v, shown as %q; want %v ± %v, %q", mean, deviation, viz.Spread(mean, deviation), c.mean, c.deviation, c.shown)
		}
	}
}

func TestMedianSeconds(t *testing.T) {
	rows := func(seconds ...float64) (rows []Row) {
		for _, s := range seconds {
			rows = append(rows, Row{Seconds: s})
		}
		return rows
	}
	for _, c := range []struct {
		of   []Row
		want float64
	}{{rows(3), 3}, {rows(9000, 2, 4), 4}, {rows(8, 2, 4, 9000), 6}} {
		if got := MedianSeconds(c.of); got != c.want {
			t.Errorf("%v s is the median of %v, want %v", got, c.of, c.want)
		}
	}
	if got := MedianSeconds(nil); !math.IsNaN(got) {
		t.Errorf("no rows took %v s", got)
	}
}

// What rows were measured by is a column once, whatever the rows, by name and then by number.
func TestFurther(t *testing.T) {
	by := func(rows int, private bool, names ...string) (m experiment.Measured) {
		m.Rows, m.NonPrivate, m.Values = rows, private, run.Values{}
		for _, name := range names {
			m.Values[name] = 1
		}
		return m
	}
	rows := []Row{
		{Measured: []experiment.Measured{by(1000, false, "fid", "mlp"), by(500, true, "copies")}},
		{Measured: []experiment.Measured{by(200, false, "fid"), by(1000, false, "fid")}},
		{Metrics: run.Values{"a": 1}},
	}
	got := Further(rows, func(name string, found experiment.Measured) bool { return !found.NonPrivate })
	if want := "[fid (200) fid (1000) mlp (1000)]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if got := (Metric{Name: "a"}).String(); got != "a" {
		t.Errorf("%q is what runs measure themselves", got)
	}
}

// Data that a table's title tells whole are not told again.
func TestAboutData(t *testing.T) {
	for origin, want := range map[string]string{"": "", "mnist": "", "mnist (a part)": " The data: mnist (a part)."} {
		if got := AboutData([]Row{{Computed: run.Provenance{Data: origin}}}, "mnist"); got != want {
			t.Errorf("of %q: %q, want %q", origin, got, want)
		}
	}
}

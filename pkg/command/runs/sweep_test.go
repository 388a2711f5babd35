package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molehill/pkg/experiment"
	_ "molehill/pkg/experiment/privateflow"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
)

// Settings that hold commas may vary, too.
func TestAValueOfAGridMayHoldCommas(t *testing.T) {
	axes, err := axesOf([]string{`radii="0,0.1",0.2`, "epsilon= 1, inf"}, 1)
	if err != nil || len(axes) != 2 || !slices.Equal(axes[0].values, []string{"0,0.1", "0.2"}) || !slices.Equal(axes[1].values, []string{"1", "inf"}) {
		t.Errorf("%+v, %v", axes, err)
	}
	if _, err := axesOf([]string{`radii="0,0.1`}, 1); err == nil || !strings.Contains(err.Error(), "stands in quotes") {
		t.Errorf("an open quote: %v", err)
	}
}

func TestChosen(t *testing.T) {
	requests := []experiment.Request{
		{Experiment: "a", Settings: map[string]string{"dataset": "x", "epsilon": "1"}},
		{Experiment: "a", Seed: 2, Settings: map[string]string{"dataset": "y", "epsilon": "1"}},
		{Experiment: "b", Settings: map[string]string{"dataset": "x", "epsilon": "10"}},
	}
	for _, c := range []struct {
		only []string
		want int
	}{{nil, 3}, {[]string{"dataset=x"}, 2}, {[]string{"experiment=a", "experiment=b"}, 3}, {[]string{"experiment=a", "dataset=y"}, 1}, {[]string{"seed=2"}, 1}} {
		if kept, err := chosen(requests, c.only); err != nil || len(kept) != c.want {
			t.Errorf("%v keeps %d, %v; want %d", c.only, len(kept), err, c.want)
		}
	}
	for only, says := range map[string]string{"dataset": "NAME=VALUE", "dataset=z": "no run has dataset=z"} {
		if _, err := chosen(requests, []string{only}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("--only %s: %v; want an error that says %q", only, err, says)
		}
	}
}

// What a sweep's runs cannot be measured by is refused before any is made.
func TestMeasuresOfASweep(t *testing.T) {
	requests := []experiment.Request{{Experiment: "sketch-flow"}, {Experiment: "swflow"}}
	if all, err := measuresOf([]string{"fid=1000", "copies=200"}, requests); err != nil || len(all) != 2 || all[0] != (wanted{"fid", 1000}) {
		t.Errorf("%v, %v", all, err)
	}
	for text, says := range map[string]string{
		"fid": "NAME=ROWS", "fid=many": "NAME=ROWS", "fid=1": "at least 2", "beauty=10": `sketch-flow has no measure "beauty"; it has fid`,
	} {
		if _, err := measuresOf([]string{text}, requests); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("--measure %s: %v; want an error that says %q", text, err, says)
		}
	}
}

// Rows made elsewhere stand where their runs are asked for, those of no request behind; a
// run's own row counts, with what has been measured of either.
func TestRowsMadeElsewhere(t *testing.T) {
	var requests []experiment.Request
	for seed := range uint64(3) {
		requests = append(requests, experiment.Request{Experiment: "swflow", Seed: seed + 1, Settings: map[string]string{"dataset": "glyphs"}})
	}
	ids, err := idsOf(requests)
	if err != nil {
		t.Fatal(err)
	}
	row := func(id string, w2 float64, measured ...experiment.Measured) sweep.Row {
		seed := slices.Index(ids, id) + 1
		return sweep.Row{Run: id, Experiment: "swflow", Version: "9", Seed: uint64(seed), Config: []byte(`{"dataset": "glyphs", "inputs": "` + id + `"}`), Metrics: run.Values{"sliced W₂": w2}, Measured: measured}
	}
	fid := func(rows int, value float64) experiment.Measured {
		return experiment.Measured{Rows: rows, Values: run.Values{"fid": value}}
	}
	write := func(name string, content any) string {
		path := filepath.Join(t.TempDir(), name)
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	earlier := row("swflow-earlier", 5) // of seed 2, before settings had a colour
	earlier.Seed, earlier.Version = 2, "8"
	other := row("swflow-other", 6)
	other.Seed, other.Version, other.Config = 2, "8", []byte(`{"dataset": "letters"}`)
	read, err := readOthers([]string{
		write("old.json", []sweep.Row{row("swflow-none", 9), earlier, other, row(ids[2], 3), row(ids[0], 1, fid(100, 7), fid(200, 5))}),
		write("new.json", []sweep.Row{row(ids[2], 4)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	lacking := experiment.Request{Experiment: "swflow", Seed: 1, Settings: map[string]string{"dataset": "not on this machine"}}
	rows, said := read.join([]sweep.Row{row(ids[1], 2), row(ids[0], 8, fid(100, 6))}, append([]experiment.Request{lacking}, requests...))
	var order []string
	var w2 []float64
	for _, r := range rows {
		order, w2 = append(order, r.Run), append(w2, r.Metrics["sliced W₂"])
	}
	if !slices.Equal(order, append(slices.Clone(ids), "swflow-none", "swflow-other")) || !slices.Equal(w2, []float64{8, 2, 4, 9, 6}) {
		t.Errorf("rows %v with %v", order, w2)
	}
	if want := []string{"swflow-earlier is left out: " + ids[1] + " has the same settings and seed", "versions of swflow in one table: 8, 9"}; !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
	if err := read.check("a table", requests[:1]); err != nil {
		t.Error(err)
	}
	if err := read.check("a table", []experiment.Request{{Experiment: "dpswflow"}}); err == nil || !strings.Contains(err.Error(), "is a run of swflow, which a table has no runs of") {
		t.Error(err)
	}
	if m := rows[0].Measured; len(m) != 2 || m[0].Values["fid"] != 6 || m[1].Values["fid"] != 5 {
		t.Errorf("measured %+v", m)
	}
	// Made again, a run has what was measured since alone.
	again := row(ids[0], 8, fid(100, 6))
	again.Computed.Started = time.Now()
	rows, said = read.join([]sweep.Row{again}, requests)
	if m := rows[0].Measured; len(m) != 1 || m[0].Values["fid"] != 6 {
		t.Errorf("measured before it was made again, and since: %+v", m)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, ids[0]+" was made again") }) {
		t.Errorf("it says %q, and not what is left out", said)
	}
	for path, says := range map[string]string{
		filepath.Join(t.TempDir(), "none.json"):              "no such file",
		write("settings.json", map[string]int{"seeds": 1}):   "expected the results.json",
		write("nameless.json", []map[string]int{{"row": 1}}): "row 1 names no run",
	} {
		if _, err := readOthers([]string{path}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want an error that says %q", path, err, says)
		}
	}
}

// A grid's results, and those of some of a table's runs, have folders of their own: none
// takes the place of another's.
func TestResultsHaveFoldersOfTheirOwn(t *testing.T) {
	all := []experiment.Request{{Experiment: "swflow", Seed: 1, Settings: map[string]string{"dataset": "glyphs"}}, {Experiment: "swflow", Seed: 2, Settings: map[string]string{"dataset": "glyphs"}}, {Experiment: "swflow", Seed: 3, Settings: map[string]string{"dataset": "glyphs"}}}
	seen := map[string]bool{}
	for _, p := range []sweepPlan{
		{name: "swflow", preset: "quick", requests: all[:1]}, {name: "swflow", preset: "quick", requests: all[:2]},
		{name: "a", preset: "quick", table: unread{}, requests: all, all: all},
		{name: "a", preset: "quick", table: unread{}, requests: all[:1], all: all}, {name: "a", preset: "quick", table: unread{}, requests: all[1:], all: all},
	} {
		folder, err := p.folder()
		if err != nil || seen[folder] {
			t.Errorf("%+v is in %q, %v", p, folder, err)
		}
		seen[folder] = true
	}
	if !seen["a-quick"] {
		t.Errorf("a whole table is in none of %v", seen)
	}
}

// unread is a table of which only is known that it is one.
type unread struct{ sweep.Sweep }

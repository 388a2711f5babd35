package runs

import (
	"strings"
	"testing"

	"molehill/pkg/experiment"
	_ "molehill/pkg/experiment/privateflow"
)

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

package synth

import "testing"

// Settings of another version are not compared one by one: it had others.
func TestVersionsAreToldApart(t *testing.T) {
	wanted := map[string]any{"version": "2", "epsilon": "1", "data": "", "inputs": "a-b", "rows": 2}
	for want, settings := range map[string]map[string]any{
		"comes from another version of this program": {"version": "1", "epsilon": "1", "data": "/x.csv", "format": "csv"},
		"differs in: epsilon":                        {"version": "2", "epsilon": "2", "data": "", "inputs": "a-b", "rows": 2},
		"differs in: schema, rows":                   {"version": "2", "epsilon": "1", "data": "", "inputs": "a-c", "rows": 3},
	} {
		if got := difference(settings, wanted); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

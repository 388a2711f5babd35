package tables

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

func TestTheKeeperCompares(t *testing.T) {
	data, schema := people(t, 3000, nil)
	test := filepath.Join(filepath.Dir(data), "test.csv")
	writePeople(t, test, 1000, 9, nil)
	r := experimenttest.Acquired(t, request(data, schema, "inf"))
	experimenttest.Computed(t, r, 0)
	d, err := Diagnose(t.Context(), r, test)
	if err != nil {
		t.Fatal(err)
	}
	// Without noise the classifiers are as good as each other: 1000 test rows of 0.8
	// have a standard error of 0.013.
	if d.Rows != 3000 || d.Test != 1000 || !(math.Abs(d.Synthetic-d.Real) <= 0.03 && d.Real >= d.Majority+0.03 && d.Columns <= 0.06 && d.Pairs <= 0.15) {
		t.Errorf("%+v", d)
	}
	if d.Neighbours == nil || !(math.Abs(d.Neighbours.NearerPrivate-0.5) <= 0.1) {
		t.Errorf("%+v", d.Neighbours)
	}
	for _, name := range []string{synth.KeeperFile + ".md", synth.KeeperFile + ".html"} {
		if info, err := os.Stat(filepath.Join(r.Dir, "artefacts", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v, %v", name, info, err)
		}
		if text := string(experimenttest.Read(t, r, name)); strings.Count(text, "NOT PRIVATE") < 3 || !strings.Contains(text, "Do not publish") {
			t.Errorf("%s does not say that it is not private", name)
		}
	}
	if _, err := Diagnose(t.Context(), r, ""); err != nil {
		t.Error(err)
	}
	writePeople(t, data, 3000, 5, nil)
	if _, err := Diagnose(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
}

// What cannot be measured is told with its reason, and costs nothing else of the report.
func TestTheKeeperIsToldWhatCannotBeMeasured(t *testing.T) {
	for want, change := range map[string]struct {
		schema func(text string) string
		test   func(i int, row []string)
	}{
		"none of the private rows themselves has a value of \"rich\"": {schema: func(text string) string { return strings.Replace(text, `["no", "yes"]`, `["No", "Yes"]`, 1) }},
		"none of held-out rows has a value of \"rich\"":               {test: func(_ int, row []string) { row[3] = "maybe" }},
		"no column but the target": {schema: func(text string) string {
			lines := strings.Split(text, "\n")
			return lines[0] + `{"name": "age", "kind": "exclude"}, {"name": "job", "kind": "exclude"}, {"name": "wealth", "kind": "exclude"},` + lines[4]
		}},
	} {
		data, schema := people(t, 300, nil)
		if change.schema != nil {
			if err := os.WriteFile(schema, []byte(change.schema(schemaText)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		test := ""
		if change.test != nil {
			test = filepath.Join(filepath.Dir(data), "test.csv")
			writePeople(t, test, 100, 9, change.test)
		}
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "inf")), 0)
		d, err := Diagnose(t.Context(), r, test)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		text := string(experimenttest.Read(t, r, synth.KeeperFile+".md"))
		if d.On != "" || !strings.Contains(d.Unlearned, want) || !strings.Contains(text, "This was not measured") || !strings.Contains(text, "How alike") {
			t.Errorf("want %q, found %+v", want, d)
		}
	}
}

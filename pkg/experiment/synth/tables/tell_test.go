package tables

import (
	"errors"
	"os"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

// Without noise a report says so, and nothing that only noise makes true.
func TestReportsWithoutNoiseSayNothingOfIt(t *testing.T) {
	for _, method := range Methods {
		data, schema := people(t, 300, nil)
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "inf", "method", method, "rows", "50")), 0)
		text := string(experimenttest.Read(t, r, synth.ReportFile+".md"))
		for _, wrong := range []string{"NaN", "Inf", "noisy"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the report says %q:\n%s", method, wrong, text)
			}
		}
		if !strings.Contains(text, "made without privacy") {
			t.Errorf("%s: the report does not say that there is no noise:\n%s", method, text)
		}
	}
}

// Of excluded columns nobody has confirmed anything: without a line of names, theirs
// are the values of a record.
func TestReportsDoNotNameExcludedColumns(t *testing.T) {
	data, schema := people(t, 300, nil)
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range lines {
		lines[i] += ",x"
	}
	lines[0] = "age,job,wealth,rich,Zorro"
	excluding := strings.Replace(schemaText, "]}]}", `]}, {"name": "Zorro", "kind": "exclude"}]}`, 1)
	if err := errors.Join(os.WriteFile(data, []byte(strings.Join(lines, "\n")), 0o600), os.WriteFile(schema, []byte(excluding), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
	for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html", synth.SchemaFile} {
		told := string(experimenttest.Read(t, r, name))
		if strings.Contains(told, "Zorro") {
			t.Errorf("%s names a column that nobody has confirmed", name)
		}
		if name != synth.SchemaFile && !strings.Contains(told, "were left out, and not looked at: 1") {
			t.Errorf("%s does not say that a column was left out", name)
		}
	}
}

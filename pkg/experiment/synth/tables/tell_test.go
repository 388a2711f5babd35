package tables

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"os"
	"strings"
	"testing"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
	"molehill/viz"
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

// A picture of a column with many values has the most frequent ones, those of an order in
// their order; and a value as long as a page is still drawn. Columns without a picture are
// counted.
func TestPicturesAreOfWhatIsFrequent(t *testing.T) {
	c := table.Column{Name: "score", Kind: table.Ordinal}
	shares := make([]float64, 31)
	for k := range 30 {
		c.Values = append(c.Values, fmt.Sprint("level ", k+1))
		shares[k+1] = float64(k) / 1000 // group 0 is what is missing; later ones are more frequent
	}
	c.Values[29] = strings.Repeat("long words of a note ", 200)
	side := &pairs.Repaired{Groups: [][]float64{shares}}
	dots, ok := marginals([]table.Column{c}, side, side, "real")[0].(viz.Dots)
	if !ok || len(dots.Rows) != shownValues || dots.Rows[0] != "level 15" || dots.Rows[14] != "level 29" || dots.Rows[15] != c.Values[29] || dots.Values[0][0] != 100*shares[15] {
		t.Errorf("drawn are %q", dots.Rows)
	}
	if dots.Caption != "The 16 most frequent of 30 values." {
		t.Errorf("caption %q", dots.Caption)
	}
	var b bytes.Buffer
	if err := dots.PNG(&b); err != nil {
		t.Fatal(err)
	}
	if picture, err := png.DecodeConfig(&b); err != nil || picture.Height > 3000 {
		t.Errorf("a picture of %d × %d, %v", picture.Width, picture.Height, err)
	}
	if undrawn(make([]table.Column, shownColumns)) != nil || !strings.Contains(fmt.Sprint(undrawn(make([]table.Column, 60))), "first 24 of 60 columns") {
		t.Error("columns without a picture are not counted")
	}
}

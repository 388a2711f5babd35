package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rewriting returns what writes a file as it is now, but for one place.
func rewriting(t *testing.T, path string) (write func(old, new string)) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(old, new string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Who asks for such a run as for any other is told the same before it pays, and nothing that
// most of the data disagree with is paid for.
func TestARunOfOnesOwnDataIsPreviewedToo(t *testing.T) {
	data := confirmedTable(t, 60)
	schema := filepath.Join(filepath.Dir(data), "My People.schema.json")
	run := []string{"run", "synth", "--epsilon", "2", "--set", "data=" + data, "--set", "schema=" + schema, "--set", "fit_rows=200", "--set", "sweeps=2"}
	write := rewriting(t, schema)
	write(`"no",
        "yes"`, `"No",
        "Yes"`)
	for _, more := range []string{"--json", "--detach"} {
		if said, err := molehill(t, append(run, more)...); err == nil || !strings.Contains(err.Error(), `column "rich": 60 of 60 values`) || !strings.Contains(said, "before anything is paid") {
			t.Errorf("%s: %v in\n%s", more, err, said)
		}
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a schema that knows nothing was paid for:\n%s", status)
	}
	write(`"high": 70`, `"high": 65`)
	for _, first := range []bool{true, false} {
		said := mustMolehill(t, run...)
		if strings.Contains(said, "before anything is paid") != first || strings.Contains(said, "Booked under own/my-people") != first {
			t.Errorf("asked for the first time %v:\n%s", first, said)
		}
	}
	if said := mustMolehill(t, append(run, "--set", "rows=9")...); !strings.Contains(said, "differs in: rows. This is another release of them, and pays again") {
		t.Errorf("it does not say that it pays again:\n%s", said)
	}
}

// Before a grid of runs of one's own data, too: all of them are told of before the first is
// paid for, and what is the same of several is said once.
func TestAGridOfRunsOfOnesOwnDataIsPreviewedToo(t *testing.T) {
	data := confirmedTable(t, 60)
	schema := filepath.Join(filepath.Dir(data), "My People.schema.json")
	sweep := []string{"sweep", "synth", "--set", "data=" + data, "--set", "schema=" + schema, "--set", "fit_rows=200", "--set", "sweeps=2",
		"--grid", "epsilon=0.01,0.02", "--out", filepath.Join(filepath.Dir(data), "grid")}
	write := rewriting(t, schema)
	write(`"no",
        "yes"`, `"No",
        "Yes"`)
	if said, err := molehill(t, sweep...); err == nil || !strings.Contains(err.Error(), `column "rich": 60 of 60 values`) {
		t.Errorf("%v in\n%s", err, said)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a schema that knows nothing was paid for:\n%s", status)
	}
	write(`"high": 70`, `"high": 65`)
	said := mustMolehill(t, sweep...)
	for line, times := range map[string]int{"before anything is paid": 1, `column "age"`: 1, "Booked under own/my-people": 1, "With 60 rows and ε = ": 2} {
		if strings.Count(said, line) != times {
			t.Errorf("%q is there %d times, not %d, in\n%s", line, strings.Count(said, line), times, said)
		}
	}
	if said := mustMolehill(t, sweep...); strings.Contains(said, "before anything is paid") {
		t.Errorf("who has paid is told of it:\n%s", said)
	}
}

// Of two rows it is said before they are paid for that little but noise will be seen, by either
// command.
func TestTooFewRowsAreToldOf(t *testing.T) {
	data := confirmedTable(t, 60)
	schema := filepath.Join(filepath.Dir(data), "My People.schema.json")
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfterN(string(text), "\n", 4)
	if err := os.WriteFile(data, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"synth", "--data", data, "--epsilon", "2", "--out", filepath.Join(filepath.Dir(data), "made.csv"), "--no-keeper"},
		{"run", "synth", "--set", "data=" + data, "--set", "schema=" + schema, "--epsilon", "3"},
	} {
		said := mustMolehill(t, append(command, "--set", "fit_rows=200", "--set", "sweeps=2")...)
		if before, _, _ := strings.Cut(said, "Booked under"); !strings.Contains(before, "With 2 rows and ε = ") {
			t.Errorf("%v does not say it first:\n%s", command[:2], said)
		}
	}
}

// A schema that most of the data disagree with is told of, and nothing is paid; a few
// values stop nothing.
func TestSynthDoesNotPayForWhatTheSchemaDoesNotKnow(t *testing.T) {
	data := ownTable(t, 60)
	dir := filepath.Dir(data)
	schema := filepath.Join(dir, "My People.schema.json")
	mustMolehill(t, "schema", data)
	mustMolehill(t, "schema", "confirm", schema, "--all")
	synth := []string{"synth", "--data", data, "--epsilon", "2", "--out", filepath.Join(dir, "made.csv"), "--set", "fit_rows=200", "--set", "sweeps=2", "--no-keeper"}
	write := rewriting(t, schema)
	write(`"no",
        "yes"`, `"No",
        "Yes"`)
	if _, err := molehill(t, synth...); err == nil || !strings.Contains(err.Error(), `column "rich": 60 of 60 values`) {
		t.Error("found", err)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a schema that knows nothing was paid for:\n%s", status)
	}
	write(`"high": 70`, `"high": 65`)
	if said := mustMolehill(t, synth...); !strings.Contains(said, "before anything is paid") || !strings.Contains(said, `column "age"`) {
		t.Errorf("the keeper was not told:\n%s", said)
	}
}

// What protects nobody is booked as ε = ∞, which is said before.
func TestSynthTellsWhatNoBudgetTakes(t *testing.T) {
	data := confirmedTable(t, 200)
	for i, more := range [][]string{{"--epsilon", "1", "--research"}, {"--epsilon", "inf"}} {
		said := mustMolehill(t, append([]string{"synth", "--data", data, "--out", filepath.Join(filepath.Dir(data), fmt.Sprint(i, ".csv")),
			"--no-keeper", "--set", "fit_rows=200", "--set", "sweeps=2"}, more...)...)
		before, _, _ := strings.Cut(said, "Paid: entry")
		if !strings.Contains(before, "Booked under own/my-people") || !strings.Contains(before, "protects nobody, and is booked there as ε = ∞") || !strings.Contains(before, "--from-now") {
			t.Errorf("%v: it is said too late or not at all:\n%s", more, said)
		}
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "ε = ∞") {
		t.Error(status)
	}
}

// Who pays is told before what was paid before, and under which name.
func TestSynthTellsWhatWasPaidBefore(t *testing.T) {
	data := confirmedTable(t, 200)
	dir := filepath.Dir(data)
	schema := filepath.Join(dir, "My People.schema.json")
	synth := func(more ...string) []string {
		return append([]string{"synth", "--epsilon", "1", "--no-keeper", "--set", "fit_rows=200", "--set", "sweeps=2"}, more...)
	}
	said := mustMolehill(t, synth("--data", data, "--out", filepath.Join(dir, "a.csv"))...)
	if !strings.Contains(said, "Booked under own/my-people, as the schema calls the data, for which nothing has been paid before; no budget limits") || !strings.Contains(said, "Paid: entry 1") {
		t.Error(said)
	}

	// The schema written otherwise is the same, and so is the run.
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(schema, []byte(strings.ReplaceAll(string(text), "  ", "\t\t")), 0o600); err != nil {
		t.Fatal(err)
	}
	said = mustMolehill(t, synth("--data", data, "--out", filepath.Join(dir, "b.csv"))...)
	if strings.Contains(said, "Booked under") || !strings.Contains(said, "Paid when it was made, and not again: entry 1") {
		t.Error(said)
	}

	// What it says otherwise is another, of the same data.
	changed := strings.Replace(string(text), `"name": "age"`, `"name": "age", "bins": 7`, 1)
	if err := os.WriteFile(schema, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	mustMolehill(t, "budget", "create", "own/my-people", "--epsilon", "5", "--delta", "1e-5")
	said = mustMolehill(t, synth("--data", data, "--out", filepath.Join(dir, "c.csv"))...)
	for _, want := range []string{"for which a run has paid before", "of a budget of 5", "differs in: schema. This is another release of them, and pays again; `molehill budget status own/my-people` says"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}

	// A copy under another name has another budget, which is told.
	copied := filepath.Join(dir, "people2.csv")
	rows, err := os.ReadFile(data)
	if err == nil {
		err = os.WriteFile(copied, rows, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said := mustMolehill(t, "schema", copied); !strings.Contains(said, "booked under own/people2") {
		t.Error(said)
	}
	mustMolehill(t, "schema", "confirm", filepath.Join(dir, "people2.schema.json"), "--all")
	said = mustMolehill(t, synth("--data", copied, "--out", filepath.Join(dir, "d.csv"))...)
	if strings.Count(said, "booked under own/my-people, whose budget does not see this one") != 2 {
		t.Error(said)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(strings.Join(strings.Fields(status), " "), "runs 2 ") {
		t.Error(status)
	}
}

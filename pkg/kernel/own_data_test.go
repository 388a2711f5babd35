package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheLessonOnlyReadsOwnData follows lesson 09's "change data to its path", or leaves a
// table where the lesson's own would be, and presses Run All: the table stays as it was,
// and the lesson stops at the draft of its schema, which nobody has confirmed.
func TestTheLessonOnlyReadsOwnData(t *testing.T) {
	for name, c := range map[string]struct {
		place, change string
		times         int
	}{
		"patients": {`examples.File("people.csv")`, "`%s/patients.csv`", 2},
		"people":   {`must(owndata.Examples())`, "owndata.Folder(`%s`)", 1},
	} {
		t.Run(name, func(t *testing.T) { stopsAtTheDraft(t, name, c.place, c.change, c.times) })
	}
}

// stopsAtTheDraft executes the lesson so many times with a table of that name of one's
// own, and with an expression of the first cell replaced by another, of the table's folder.
func stopsAtTheDraft(t *testing.T, name, place, change string, times int) {
	e := environment(t)
	nb, err := ReadNotebook(filepath.Join(repository(t), "notebooks", "09_your_own_data.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, text := filepath.Join(dir, name+".csv"), "age,ill\n"+strings.Repeat("31,yes\n54,no\n77,yes\n", 10)
	if err := os.WriteFile(data, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(nb.Cells, func(c Cell) bool { return strings.Contains(string(c.Source), place) })
	if at < 0 {
		t.Fatalf("the lesson no longer has %s", place)
	}
	nb.Cells[at].Source = Lines(strings.Replace(string(nb.Cells[at].Source), place, fmt.Sprintf(change, dir), 1))
	path := filepath.Join(dir, "lesson.ipynb")
	if err := nb.Write(path); err != nil {
		t.Fatal(err)
	}
	env := append([]string{"MOLEHILL_RUNS=" + filepath.Join(dir, "runs"), "MOLEHILL_LEDGER=" + filepath.Join(dir, "ledger.db")}, offline...)
	for range times { // the draft that the first has left is not confirmed either
		r, err := Execute(t.Context(), e, path, ExecuteOptions{Env: env, Out: logWriter{t}})
		var failed *CellError
		if !errors.As(err, &failed) || failed.Cell != 6 || !strings.Contains(r.Notebook.Text(), "look at the schema in "+filepath.Join(dir, name+".schema.json")) {
			t.Fatalf("expected the lesson to stop at %s.schema.json, found %v", name, err)
		}
	}
	if after, err := os.ReadFile(data); err != nil || string(after) != text {
		t.Errorf("the lesson has changed the table to %.100q, %v", after, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("the lesson has computed something before anybody has confirmed the schema")
	}
}

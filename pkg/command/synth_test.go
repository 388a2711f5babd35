package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ownTable writes a table and returns its path, in a place of its own for runs.
func ownTable(t *testing.T, rows int) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv("MOLEHILL_LEDGER", filepath.Join(dir, "ledger.db"))
	rng := rand.New(rand.NewPCG(1, 3))
	var b strings.Builder
	b.WriteString("Name;age;job;rich\n")
	for i := range rows {
		fmt.Fprintf(&b, "person %d;%d;%s;%s\n", i, 20+rng.IntN(50), []string{"baker", "smith", ""}[rng.IntN(3)], []string{"no", "yes"}[rng.IntN(2)])
	}
	path := filepath.Join(dir, "My People.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// confirmedTable is ownTable with a schema beside it that its keeper has confirmed.
func confirmedTable(t *testing.T, rows int) string {
	t.Helper()
	data := ownTable(t, rows)
	mustMolehill(t, "schema", data)
	mustMolehill(t, "schema", "confirm", filepath.Join(filepath.Dir(data), "My People.schema.json"), "--all")
	return data
}

// A walk from a table to a synthetic one, as a user takes it.
func TestFromATableToASyntheticOne(t *testing.T) {
	data := ownTable(t, 400)
	dir := filepath.Dir(data)
	schema, out := filepath.Join(dir, "My People.schema.json"), filepath.Join(dir, "made.csv")
	synth := []string{"synth", "--data", data, "--epsilon", "2", "--out", out, "--set", "fit_rows=500", "--set", "sweeps=3"}

	if said := mustMolehill(t, "schema", data); !strings.Contains(said, "as private as they are") || !strings.Contains(said, "numbers from") {
		t.Error(said)
	}
	if info, err := os.Stat(schema); err != nil || info.Mode().Perm() != 0o600 {
		t.Error("a draft is as private as the rows:", info, err)
	}
	if _, err := molehill(t, "schema", data); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Error("a schema was replaced:", err)
	}
	if _, err := molehill(t, synth...); err == nil || !strings.Contains(err.Error(), "nobody has said yet") {
		t.Error("an unconfirmed schema was used:", err)
	}
	if _, err := molehill(t, "schema", "confirm", schema); err == nil {
		t.Error("nothing was named, and confirmed")
	}
	if said := mustMolehill(t, "schema", "confirm", schema, "age", "job"); strings.Count(said, "yes") < 2 {
		t.Error(said)
	}
	if _, err := molehill(t, synth...); err == nil || strings.Contains(err.Error(), "age:") || !strings.Contains(err.Error(), "rich:") {
		t.Error("found", err)
	}
	mustMolehill(t, "schema", "confirm", schema, "--all")
	if said := mustMolehill(t, "schema", "check", schema, data); !strings.Contains(said, "all values agree") {
		t.Error(said)
	}

	said := mustMolehill(t, synth...)
	for _, want := range []string{"(ε = 2, δ = 1e-06) as proved", "made.report.html", "keeper only", "Paid: entry 1 (", "own/my-people had no budget", "accuracy"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	made, err := os.ReadFile(out)
	if err != nil || !strings.HasPrefix(string(made), "age;job;rich\n") || strings.Contains(string(made), "person") || strings.Count(string(made), "\n") != 401 {
		t.Errorf("the synthetic table begins with %.100q, %v", made, err)
	}
	for name, mode := range map[string]os.FileMode{"made.report.md": 0o644, "made.keeper-only.md": 0o600, "made.keeper-only.html": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	if _, err := molehill(t, synth...); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error("a table was replaced:", err)
	}
	mustMolehill(t, append(synth, "--force", "--no-keeper")...)
	if left, _ := filepath.Glob(filepath.Join(dir, "made.keeper-only.*")); left != nil {
		t.Error("these tell of what was replaced:", left)
	}
	for _, other := range []string{"made.parquet", "made.CSV", "made2.tsv"} {
		mustMolehill(t, append(synth, "--out", filepath.Join(dir, other), "--force", "--no-keeper")...)
	}
	if said := mustMolehill(t, "show", "synth"); strings.Contains(said, "()") || !strings.Contains(said, "inputs=") || !strings.Contains(said, "fit_rows=500 (") {
		t.Errorf("show says\n%s", said)
	}
	if said := mustMolehill(t, "runs"); !strings.Contains(said, "own/my-people") {
		t.Errorf("the list does not say whose data were read:\n%s", said)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    1") {
		t.Errorf("the same command paid again:\n%s", status)
	}
	if said := mustMolehill(t, append(synth, "--rows", "10", "--out", filepath.Join(dir, "few.csv"), "--no-keeper")...); !strings.Contains(said, "differs in: rows. This is another release of them, and pays again") || !strings.Contains(said, "(2, 1e-06)") {
		t.Errorf("it does not say that it pays again:\n%s", said)
	}
	again, err := os.ReadFile(out)
	if err != nil || string(again) != string(made) {
		t.Error("the same command made another table", err)
	}
}

func TestADraftWithoutALineOfNamesIsToldOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("39,yes\n40,no\n41,no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := mustMolehill(t, "schema", path); !strings.Contains(said, "called like values: 39.") {
		t.Error(said)
	}
}

func TestSynthFindsMistakesBeforeItSpends(t *testing.T) {
	data := ownTable(t, 50)
	mustMolehill(t, "schema", data)
	schema := filepath.Join(filepath.Dir(data), "My People.schema.json")
	mustMolehill(t, "schema", "confirm", schema, "--all")
	out := filepath.Join(filepath.Dir(data), "made.csv")
	for want, arguments := range map[string][]string{
		"--epsilon is missing":   {"synth", "--data", data, "--out", out},
		"no such file":           {"synth", "--data", data + "x", "--out", out, "--epsilon", "1"},
		"table: x.csv: no such":  {"schema", "check", schema, "x.csv"},
		"nothing was paid":       {"synth", "--data", data, "--out", "/proc/table.csv", "--epsilon", "1"},
		"no folder":              {"synth", "--data", data, "--out", "/nowhere/at/all.csv", "--epsilon", "1"},
		"write to another":       {"synth", "--data", data, "--out", data, "--epsilon", "1", "--force"},
		"numbers cannot hold":    {"synth", "--data", data, "--out", out + ".npz", "--epsilon", "1"},
		"expected .csv":          {"synth", "--data", data, "--out", out + ".xlsx", "--epsilon", "1"},
		"ends in \".txt\"":       {"synth", "--data", data, "--out", out + ".txt", "--epsilon", "1"},
		"there is a flag for it": {"synth", "--data", data, "--out", out, "--epsilon", "1", "--set", "epsilon=3"},
		"NAME=VALUE":             {"synth", "--data", data, "--out", out, "--epsilon", "1", "--set", "sweeps"},
		"did you mean":           {"synth", "--data", data, "--out", out, "--epsilon", "1", "--method", "pair"},
		"give one of them":       {"synth", "--data", data, "--out", out, "--epsilon", "1", "--test", data, "--no-keeper"},
		"records themselves":     {"synth", "--data", data, "--out", out, "--epsilon", "1", "--test", data},
		"must be above 0":        {"synth", "--data", data, "--out", out, "--epsilon", "0"},
		"no column is called":    {"schema", "confirm", schema, "agee"},
		"not both":               {"schema", "confirm", schema, "age", "--all"},
	} {
		if _, err := molehill(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %v: want an error with %q, found %v", arguments, want, err)
		}
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a mistake was paid for:\n%s", status)
	}
}

// What was paid for is delivered, whatever becomes of the keeper's comparison; and a
// file of held-out rows with other columns is found before.
func TestAPaidTableIsDelivered(t *testing.T) {
	data := confirmedTable(t, 200)
	dir := filepath.Dir(data)
	test, out := filepath.Join(dir, "test.csv"), filepath.Join(dir, "made.csv")
	synth := []string{"synth", "--data", data, "--test", test, "--epsilon", "2", "--out", out, "--set", "fit_rows=200", "--set", "sweeps=2"}
	write := func(text string) {
		if err := os.WriteFile(test, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write("Name;age;job\nx;30;baker\n")
	if _, err := molehill(t, synth...); err == nil || !strings.Contains(err.Error(), `no column "rich"`) {
		t.Error("found", err)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a mistake was paid for:\n%s", status)
	}
	for _, c := range []struct {
		test, want string
		keepers    bool
	}{
		{"Name;age;job;rich\nx;30;baker;YES\n", "accuracy was not measured", true},
		{"Name;age;job;rich\nx;30;baker\n", "no comparison for the keeper", false}, // ragged; the one before goes
	} {
		write(c.test)
		said, err := molehill(t, append(synth, "--force")...)
		if err != nil || !strings.Contains(said, c.want) || !strings.Contains(said, "made.report.html") {
			t.Errorf("want %q, found %v in:\n%s", c.want, err, said)
		}
		for path, there := range map[string]bool{"made.csv": true, "made.report.md": true, "made.keeper-only.md": c.keepers} {
			if _, err := os.Stat(filepath.Join(dir, path)); (err == nil) != there {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    1") {
		t.Errorf("the same command paid again:\n%s", status)
	}
}

// What the ledger refused has paid nothing, and is no other release.
func TestARefusedRunHasNotPaid(t *testing.T) {
	data := confirmedTable(t, 60)
	dir := filepath.Dir(data)
	mustMolehill(t, "budget", "create", "own/my-people", "--epsilon", "1", "--delta", "1e-5")
	synth := func(epsilon string) []string {
		return []string{"synth", "--data", data, "--epsilon", epsilon, "--out", filepath.Join(dir, "made.csv"), "--set", "fit_rows=200", "--set", "sweeps=2", "--no-keeper"}
	}
	if said, err := molehill(t, synth("2")...); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Fatal(err, said)
	}
	if said := mustMolehill(t, synth("0.5")...); strings.Contains(said, "another release") || !strings.Contains(said, "Paid: entry 2 (") {
		t.Errorf("a run that was refused counts as paid:\n%s", said)
	}
	if said := mustMolehill(t, append(synth("0.6"), "--force")...); strings.Count(said, "another release") != 1 || !strings.Contains(said, "differs in: epsilon. This") {
		t.Errorf("the run that has paid is not told of:\n%s", said)
	}
}

// A run that has paid is told of, whatever became of its statement.
func TestAPaidRunIsToldOfWithoutItsStatement(t *testing.T) {
	data := confirmedTable(t, 60)
	dir := filepath.Dir(data)
	synth := func(epsilon string) string {
		return mustMolehill(t, "synth", "--data", data, "--epsilon", epsilon, "--out", filepath.Join(dir, epsilon+".csv"), "--set", "fit_rows=100", "--set", "sweeps=1", "--no-keeper")
	}
	synth("1")
	found, err := filepath.Glob(filepath.Join(dir, "runs", "synth-*", "privacy.json"))
	if err != nil || len(found) != 1 || os.WriteFile(found[0], []byte("{}"), 0o600) != nil {
		t.Fatal(found, err)
	}
	again := filepath.Join(dir, "again.csv")
	if _, err := molehill(t, "synth", "--data", data, "--epsilon", "1", "--out", again, "--set", "fit_rows=100", "--set", "sweeps=1", "--no-keeper"); err == nil || !strings.Contains(err.Error(), "privacy.json") {
		t.Error("a table of an edited statement is delivered:", err)
	}
	if _, err := os.Stat(again); err == nil {
		t.Error("a table is there whose statement was edited")
	}
	if said := synth("2"); !strings.Contains(said, "with an ε that cannot be read any more, and differs in: epsilon. This is another release") {
		t.Error(said)
	}
}

// Of many releases of the same data five are told of one by one.
func TestManyEarlierRunsAreCounted(t *testing.T) {
	data := confirmedTable(t, 60)
	dir := filepath.Dir(data)
	for i := range 8 {
		said := mustMolehill(t, "synth", "--data", data, "--epsilon", fmt.Sprint(1+i), "--out", filepath.Join(dir, "made.csv"), "--set", "fit_rows=100", "--set", "sweeps=1", "--no-keeper", "--force")
		if told := strings.Count(said, "another release"); told != min(i, 5) {
			t.Errorf("after %d runs %d were told of:\n%s", i, told, said)
		}
		if more := fmt.Sprintf("%d more runs were made of the same data", i-5); strings.Contains(said, "more runs were made") != (i > 5) || i > 5 && !strings.Contains(said, more) {
			t.Errorf("want %q in:\n%s", more, said)
		}
	}
}

// A file that the run has left is copied, and not made again of all rows in memory.
func TestWhatARunHasLeftIsCopied(t *testing.T) {
	data := confirmedTable(t, 60)
	dir := filepath.Dir(data)
	synth := []string{"synth", "--data", data, "--epsilon", "2", "--out", filepath.Join(dir, "made.csv"), "--set", "fit_rows=200", "--set", "sweeps=2", "--no-keeper", "--force"}
	mustMolehill(t, synth...)
	codes, err := filepath.Glob(filepath.Join(dir, "runs", "synth-*", "artefacts", "codes.npz"))
	if err != nil || len(codes) != 1 || os.Remove(codes[0]) != nil {
		t.Fatal(codes, err)
	}
	mustMolehill(t, synth...)
}

// Of two commands that write to one file at the same time one is refused before it pays, and
// the other's table has the report that is its own.
func TestTwoCommandsDoNotMixWhatTheyWrite(t *testing.T) {
	data := confirmedTable(t, 60)
	out := filepath.Join(filepath.Dir(data), "made.csv")
	type ended struct {
		epsilon string
		err     error
	}
	both := make(chan ended)
	for _, epsilon := range []string{"2", "3"} {
		go func() {
			_, err := everything(t, "synth", "--data", data, "--epsilon", epsilon, "--out", out, "--set", "fit_rows=200", "--set", "sweeps=2", "--no-keeper")
			both <- ended{epsilon, err}
		}()
	}
	made := ""
	for range 2 {
		switch e := <-both; {
		case e.err == nil:
			made += e.epsilon
		case !strings.Contains(e.err.Error(), "another `molehill synth` makes it") && !strings.Contains(e.err.Error(), "is there already"):
			t.Error(e.err)
		}
	}
	if report, err := os.ReadFile(filepath.Join(filepath.Dir(data), "made.report.md")); err != nil || len(made) != 1 || !strings.Contains(string(report), "ε = "+made) {
		t.Errorf("made is that of ε = %s, %v:\n%.300s", made, err, report)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    1") {
		t.Errorf("who was refused has paid:\n%s", status)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(data), ".made*")); left != nil {
		t.Error("left over:", left)
	}
}

func TestDeltaIsBelowOneInAllRowsWhoeverAsks(t *testing.T) {
	data := confirmedTable(t, 300)
	if _, err := molehill(t, "run", "synth", "--set", "data="+data, "--set", "schema="+strings.TrimSuffix(data, ".csv")+".schema.json", "--epsilon", "1", "--set", "delta=0.01"); err == nil || !strings.Contains(err.Error(), "not below 1/300") {
		t.Error(err)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-people"); !strings.Contains(status, "runs    0") {
		t.Errorf("a mistake was paid for:\n%s", status)
	}
}

// A draft never takes the place of the rows.
func TestADraftIsWrittenToAnotherFile(t *testing.T) {
	data := ownTable(t, 20)
	before, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "schema", data, "--out", data, "--force"); err == nil || !strings.Contains(err.Error(), "is the file that is read") {
		t.Error(err)
	}
	if after, err := os.ReadFile(data); err != nil || string(after) != string(before) {
		t.Errorf("the rows are gone: %v", err)
	}
}

// A pipe is no table: it would be empty the second time, and stop a program that opens it.
func TestAPipeIsNoTable(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "people.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "schema", pipe); err == nil || !strings.Contains(err.Error(), "write what it gives to a file") {
		t.Error(err)
	}
}

// A setting is given once, and by its flag where it has one.
func TestSynthTakesASettingOnce(t *testing.T) {
	data := confirmedTable(t, 20)
	synth := []string{"synth", "--data", data, "--epsilon", "1", "--out", filepath.Join(t.TempDir(), "made.csv")}
	for want, more := range map[string][]string{
		"--set sweeps=1 and --set sweeps=2; give one of them": {"--set", "sweeps=1", "--set", "sweeps=2"},
		"there is a flag for it, --seed":                      {"--set", "seed=3"},
		"there is a flag for it, --rows":                      {"--set", "images=3"},
	} {
		if _, err := molehill(t, append(synth, more...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", more, err)
		}
	}
}

// A draft that leaves out all columns is there to be edited.
func TestADraftOfNothingIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("name,note\nAnna,a\nBo,b\nCleo,c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := molehill(t, "schema", path)
	if _, there := os.Stat(strings.TrimSuffix(path, ".csv") + ".schema.json"); err == nil || !strings.Contains(err.Error(), "leaves out all columns") || there != nil {
		t.Error(err, there)
	}
}

func TestATablesSchemaIsNoneOfAFolder(t *testing.T) {
	data := confirmedTable(t, 50)
	folder := strings.TrimSuffix(data, ".csv")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "synth", "--data", folder, "--epsilon", "1", "--out", filepath.Join(filepath.Dir(data), "x.zip")); err == nil || !strings.Contains(err.Error(), "is the schema of a table") {
		t.Error(err)
	}
}

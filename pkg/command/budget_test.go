package command

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger"
	"molehill/privacy/ledger/ledgertest"
)

// pebbles is an experiment on private rows that releases one number.
type pebbles struct{}

type pebblesConfig struct {
	Epsilon float64 `json:"epsilon"`
}

func (*pebblesConfig) Check() error { return nil }

func (pebbles) Describe() plugin.Info {
	return plugin.Info{Name: "pebbles", Version: "1", Summary: "for tests"}
}
func (pebbles) Config(experiment.Preset) experiment.Config { return &pebblesConfig{Epsilon: 1} }
func (pebbles) Run(ctx context.Context, r *run.Run, c experiment.Config) (run.Result, error) {
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "a mean"},
		Records: 10, Steps: 1, Budget: privacy.Budget{Epsilon: c.(*pebblesConfig).Epsilon, Delta: 1e-5}})
	if err != nil {
		return run.Result{}, err
	}
	paid, err := experiment.Reserve(ctx, r, "pebbles", plan)
	if err != nil {
		return run.Result{}, err
	}
	return run.Result{Metrics: run.Values{"mean": 1}}, paid.Commit(ctx)
}

func init() {
	experiment.Registry.Register(pebbles{})
	dataset.Register("pebbles", "for tests", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return nil, errors.New("nobody looks at them")
	})
}

// A head that is empty, of an unset variable, say, is no head.
func TestVerifyWantsAHead(t *testing.T) {
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	mustMolehill(t, "budget", "create", "pebbles", "--epsilon", "5", "--delta", "1e-5", "--unlisted")
	mustMolehill(t, "budget", "verify")
	if said, err := molehill(t, "budget", "verify", "--head", ""); err == nil {
		t.Errorf("verified by no head:\n%s", said)
	}
	if _, err := molehill(t, "budget", "end", "pebbles", "pebbles-0123"); err == nil || !strings.Contains(err.Error(), "budget history pebbles") {
		t.Error(err)
	}
}

// A budget that is a filter says how much of it is spent, and what that is proved for.
func TestAdaptiveBudgets(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	if out := mustMolehill(t, "budget", "create", "pebbles", "--epsilon", "3", "--delta", "1e-5", "--adaptive"); !strings.Contains(out, "ε = 3, δ = 1e-05 under replace-one, kept by a Rényi filter of order 7.5") {
		t.Errorf("create says\n%s", out)
	}
	refused := 0 // the first run that was
	for ; refused < 20; refused++ {
		out, err := molehill(t, "run", "pebbles", "--seed", strconv.Itoa(refused))
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "would exceed the budget") {
			t.Errorf("run %d: %v\n%s", refused, err, out)
		}
		break
	}
	// A release of ε = 1 has about a seventh of the room of ε = 3.
	if refused < 4 || refused > 8 {
		t.Errorf("%d runs were taken, want about seven", refused)
	}
	out := mustMolehill(t, "budget", "status", "pebbles")
	for _, want := range []string{"kept by a Rényi filter", "% of the divergence", "whatever has led to their noise"} {
		if !strings.Contains(out, want) {
			t.Errorf("status lacks %q:\n%s", want, out)
		}
	}
	for _, epsilon := range []string{"0", "inf"} {
		if _, err := molehill(t, "budget", "create", "others", "--unlisted", "--epsilon", epsilon, "--delta", "1e-5", "--adaptive"); err == nil {
			t.Errorf("ε = %s was taken", epsilon)
		}
	}
}

// From declaring a budget to the run that is refused, through processes of their
// own, on a file and on a server.
func TestBudgets(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testBudgets(t, "--ledger", filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("postgres", func(t *testing.T) { testBudgets(t, "--dsn", ledgertest.Postgres(t).DSN()) })
}

func testBudgets(t *testing.T, flag, where string) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, where) // for the runs
	if out := mustMolehill(t, "budget", "status", flag, where); !strings.Contains(out, "nothing was reserved") {
		t.Errorf("an empty ledger says\n%s", out)
	}
	if out := mustMolehill(t, "budget", "status", flag, where, "--json"); out != "[]\n" {
		t.Errorf("an empty ledger says as JSON %q, expected a list of nothing", out)
	}
	out := mustMolehill(t, "budget", "create", "pebbles", "--epsilon", "2.5", "--delta", "1e-5", "--note", "house rule", flag, where)
	if !strings.Contains(out, "pebbles has a budget of ε = 2.5, δ = 1e-05 under replace-one") {
		t.Errorf("create says\n%s", out)
	}
	for range 2 { // finished: nothing is released again
		if out := mustMolehill(t, "run", "pebbles"); !strings.Contains(out, "paid: entry 2 (") || !strings.Contains(out, "of the budget of pebbles is spent") {
			t.Errorf("run does not say what it paid:\n%s", out)
		}
	}
	mustMolehill(t, "run", "pebbles", "--seed", "2")
	if _, err := molehill(t, "run", "pebbles", "--set", "epsilon=2"); err == nil || !strings.Contains(err.Error(), "would exceed the budget of pebbles") {
		t.Errorf("a run too many: %v", err)
	}
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "another.db"))
	if _, err := molehill(t, "run", "pebbles", "--set", "epsilon=2"); err == nil || !strings.Contains(err.Error(), "and would pay in") {
		t.Errorf("what one ledger has refused, another one's run: %v", err)
	}
	t.Setenv(ledger.Variable, where)
	var status []ledger.Status
	if err := json.Unmarshal([]byte(mustMolehill(t, "budget", "status", "pebbles", "--json")), &status); err != nil || len(status) != 1 {
		t.Fatalf("%v, %+v", err, status)
	}
	// Two releases of ε = 1 come to less than 2, and more than √2.
	if s := status[0]; s.Runs != 2 || *s.LikeLast < 1 || !(s.Spent > 1.414 && s.Spent < 2) || !(*s.Remaining > 0.5) {
		t.Errorf("status %+v", s)
	}
	out = mustMolehill(t, "budget", "status", flag, where)
	for _, want := range []string{"pebbles", "house rule", "spent", "remaining", "more runs like the last", "no earlier result has led to", "records that each of the runs protects"} {
		if !strings.Contains(out, want) {
			t.Errorf("status lacks %q:\n%s", want, out)
		}
	}
	if out = mustMolehill(t, "budget", "history", "pebbles"); strings.Count(out, "reservation") != 2 || strings.Count(out, "commit") != 2 || !strings.Contains(out, "Gaussian(") {
		t.Errorf("history says\n%s", out)
	}
	out = mustMolehill(t, "budget", "verify", flag, where)
	head := out[strings.LastIndex(out, " ")+1 : len(out)-1]
	if !strings.HasPrefix(out, "5 entries, head 5:") {
		t.Errorf("verify says %q", out)
	}
	mustMolehill(t, "run", "pebbles", "--seed", "3", "--set", "epsilon=0.1")
	mustMolehill(t, "budget", "verify", "--head", head)

	driver, address := "pgx", where
	if flag == "--ledger" {
		driver, address = "sqlite", where
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	drop := map[string]string{"pgx": "DROP TRIGGER molehill_ledger_kept ON molehill_ledger_entry", "sqlite": "DROP TRIGGER molehill_ledger_unchanged"}[driver]
	for _, statement := range []string{drop, "UPDATE molehill_ledger_entry SET body = replace(body, '2.5', '9.5') WHERE seq = 1"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := molehill(t, "budget", "verify"); err == nil || !strings.Contains(out, "entry 1: its hash is not") {
		t.Errorf("a budget that was raised by hand: %v\n%s", err, out)
	}
	if _, err := molehill(t, "run", "pebbles", "--seed", "4"); err == nil || !strings.Contains(err.Error(), "tampered") {
		t.Errorf("a run on a ledger that was tampered with: %v", err)
	}
}

func TestBudgetMistakes(t *testing.T) {
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	if out, err := molehill(t, "budget", "verify"); err == nil || !strings.Contains(err.Error(), "there is no ledger") {
		t.Errorf("nothing was verified: %v\n%s", err, out)
	}
	for want, arguments := range map[string][]string{
		"did you mean mnist":          {"create", "mnits", "--epsilon", "1", "--delta", "1e-5"},
		"--unlisted":                  {"create", "mnits", "--epsilon", "1", "--delta", "1e-5"},
		"expected lower-case letters": {"create", "own/People", "--epsilon", "1", "--delta", "1e-5"},
		"has no reservation":          {"end", "mnist", "nobody"},
		"ID is missing":               {"end", "mnist"},
		"public by construction":      {"create", "glyphs", "--epsilon", "1", "--delta", "1e-5"},
		"--delta is missing":          {"create", "mnist", "--epsilon", "1"},
		"a finite number above 0":     {"create", "mnist", "--epsilon", "0", "--delta", "1e-5"},
		"keeps nothing":               {"create", "mnist", "--epsilon", "inf", "--delta", "1e-5"},
		"δ = 1.5":                     {"create", "mnist", "--epsilon", "1", "--delta", "1.5"},
		"want the relation":           {"create", "mnist", "--epsilon", "1", "--delta", "1e-5", "--relation", "replace"},
		"none of the others can be":   {"status", "--ledger", "a", "--dsn", "postgres://b"},
		"expected what verify printe": {"verify", "--head", "7"},
		"no place for a ledger":       {"status", "--dsn", "mysql://b"},
		"expected an address such":    {"status", "--dsn", "host=b"},
		"did you mean status":         {"satus"},
	} {
		if out, err := molehill(t, append([]string{"budget"}, arguments...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill budget %s: %v, want it to say %q\n%s", strings.Join(arguments, " "), err, want, out)
		}
	}
	if out, err := molehill(t, "budget", "create", "mnist", "--epsilon", "1", "--delta", "1"); err == nil || out != "" {
		t.Errorf("besides the error it says %q, %v", out, err)
	}
	if out := mustMolehill(t, "budget", "create", "own/people", "--epsilon", "1", "--delta", "0.01"); !strings.Contains(out, "no run on data of that name has paid here yet: only those whose schema has \"name\": \"people\" will") || !strings.Contains(out, "publish one record in 100") {
		t.Errorf("create says\n%s", out)
	}
	mustMolehill(t, "budget", "create", "of another program", "--epsilon", "1", "--delta", "1e-5", "--unlisted")
}

// Without a budget the status says what runs come to all the same, and under what.
func TestStatusWithoutABudget(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	mustMolehill(t, "run", "pebbles", "--seed", "1")
	mustMolehill(t, "run", "pebbles", "--seed", "2")
	if out := mustMolehill(t, "budget", "status", "pebbles"); !strings.Contains(out, "ε = 1.") || !strings.Contains(out, "at δ = 1e-06 under ") || strings.Contains(out, "remaining") {
		t.Error(out)
	}
	if out := mustMolehill(t, "budget", "status", "pebbles", "--json"); strings.Contains(out, "remaining") || strings.Contains(out, "like_last") {
		t.Error(out)
	}
	if out := mustMolehill(t, "budget", "history", "pebbles"); strings.Contains(out, "ε after") {
		t.Errorf("history has a column of nothing:\n%s", out)
	}
	mustMolehill(t, "budget", "create", "pebbles", "--epsilon", "1.5", "--delta", "1e-5")
	out := mustMolehill(t, "budget", "status", "pebbles")
	if last := out[strings.LastIndex(out, "more runs"):]; strings.Join(strings.Fields(last), " ") != "more runs like the last none" {
		t.Errorf("what is left for none fits\n%s", out)
	}
	if out := mustMolehill(t, "budget", "history", "pebbles"); !strings.Contains(out, "ε after") {
		t.Errorf("history says\n%s", out)
	}
}

// What is over is told, as JSON too, and also where a later one of the same command
// cannot be ended; what it spent stays spent.
func TestBudgetEnd(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger.db")
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, where)
	l, err := ledger.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"crashed-1", "crashed-2"} {
		if _, err := l.Reserve(t.Context(), ledger.Reservation{Dataset: "pebbles", ID: id, Relation: privacy.ReplaceOne, Event: accountant.Gaussian{NoiseMultiplier: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if out := mustMolehill(t, "budget", "end", "pebbles", "crashed-1"); out != "crashed-1 is over, entry 3\n" {
		t.Errorf("end says %q", out)
	}
	out, err := molehill(t, "budget", "end", "pebbles", "crashed-2", "nobody", "--json")
	if err == nil || !strings.Contains(err.Error(), "has no reservation") {
		t.Errorf("nobody is over: %v", err)
	}
	var over []struct {
		Dataset, Run string
		Entry        int
	}
	if err := json.Unmarshal([]byte(out), &over); err != nil || len(over) != 1 || over[0].Run != "crashed-2" || over[0].Dataset != "pebbles" || over[0].Entry != 4 {
		t.Errorf("%v, %+v from %q", err, over, out)
	}
	var status []ledger.Status
	if err := json.Unmarshal([]byte(mustMolehill(t, "budget", "status", "pebbles", "--json")), &status); err != nil || len(status) != 1 || status[0].Runs != 2 || len(status[0].Open) != 0 {
		t.Errorf("%v, %+v", err, status)
	}
}

// Whether a run is over cannot be told of one whose record this program does not read, as
// that of a newer one.
func TestBudgetEndOfARunThatCannotBeRead(t *testing.T) {
	runs := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", runs)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	mustMolehill(t, "run", "pebbles", "--seed", "1")
	records, err := filepath.Glob(filepath.Join(runs, "pebbles-*", "run.json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if err := os.WriteFile(records[0], []byte(`{"format": 1000}`), 0o644); err != nil {
		t.Fatal(err)
	}
	id := filepath.Base(filepath.Dir(records[0]))
	if out, err := molehill(t, "budget", "end", "pebbles", id+"/key"); err == nil || !strings.Contains(err.Error(), "cannot be told") {
		t.Errorf("%q, %v", out, err)
	}
}

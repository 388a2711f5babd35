package here_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/checkout"
	"molehill/pkg/experiment"
	"molehill/pkg/kernel"
	"molehill/pkg/run"
)

// A notebook that declares an experiment, in the real kernel: three runs, one of
// them found again by a cell after it, all in the store that terminals look at.
func TestNotebookDeclaresAnExperiment(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("executes a notebook; set MOLEHILL_THOROUGH=1")
	}
	root, ok := checkout.Root(".")
	if !ok {
		t.Fatal("not in Molehill's module")
	}
	env, err := kernel.Setup(t.Context(), kernel.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	store := desk(t)
	executed, err := kernel.Execute(t.Context(), env, filepath.Join("testdata", "cell.ipynb"), kernel.ExecuteOptions{
		Env: []string{"MOLEHILL_RUNS=" + store.Dir, "MOLEHILL_LEDGER=" + os.Getenv("MOLEHILL_LEDGER")}})
	if err != nil {
		t.Fatal(err)
	}
	book := executed.Notebook
	if n := len(book.Images()); n != 3 {
		t.Errorf("%d pictures, want 3", n)
	}
	if text := book.Text(); !strings.Contains(text, "ε = 0.03: noise of a pixel 1.0") || !strings.Contains(text, "ε = 3: noise of a pixel 0.01") {
		t.Errorf("the cells say\n%s", text)
	}
	if tables := book.Tables(); len(tables) < 2 {
		t.Errorf("%d tables, want the statement and the catalogue's page", len(tables))
	}
	entries, err := store.List()
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d runs, %v; want one for each ε", len(entries), err)
	}
	for _, e := range entries {
		if computed, err := e.Run.Provenance(); err != nil || e.State != run.Finished || len(computed) != 1 {
			t.Errorf("%s is %s, computed %d times, %v", e.ID, e.State, len(computed), err)
		}
	}
	var refusal *experiment.CellError
	if _, err := (experiment.Request{Experiment: "mean-image"}).Spec(); !errors.As(err, &refusal) {
		t.Errorf("started from a terminal: %v", err)
	}
}

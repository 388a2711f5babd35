package kernel

import (
	"path/filepath"
	"testing"
)

// TestNotebooks executes every lesson whole through the real kernel, with no
// network, and compares it with what its metadata.molehill promises.
func TestNotebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: executes every notebook, minutes")
	}
	paths, err := filepath.Glob(filepath.Join(repository(t), "notebooks", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("no notebooks/*.ipynb in this repository")
	}
	e := environment(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			nb, err := ReadNotebook(path)
			if err != nil {
				t.Fatal(err)
			}
			expected, err := nb.Expectation()
			if err != nil {
				t.Fatal(err)
			}
			// Runs of its own: one that is finished already would show nothing.
			env := append([]string{"MOLEHILL_RUNS=" + t.TempDir(), "MOLEHILL_LEDGER=" + filepath.Join(t.TempDir(), "ledger.db")}, offline...)
			r, err := Execute(t.Context(), e, path, ExecuteOptions{Env: env, Out: logWriter{t}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%.1f s, %d images, %d tables", r.Elapsed.Seconds(), len(r.Notebook.Images()), len(r.Notebook.Tables()))
			for _, missing := range expected.Check(r) {
				t.Error(missing)
			}
			for _, failed := range r.Notebook.Errors() { // those that a raises-exception tag lets pass
				t.Logf("a tagged failure: %v", failed.Error())
			}
		})
	}
}

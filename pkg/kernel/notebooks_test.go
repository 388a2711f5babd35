package kernel

import (
	"path/filepath"
	"strings"
	"testing"
)

// shorter are the two trainings of lessons that take minutes, and what a tenth of
// each is. Every cell runs and shows what it shows, but whether these two lessons
// keep their time is not tested, nor how good what they have learned is.
var shorter = map[string][][2]string{
	"06_dp_sinkhorn.ipynb": {
		{`lab.Set("steps", 6000)`, `lab.Set("steps", 600), lab.Set("samples", 1000)`},
		{`{"sinkhorn-sketch", 1, nil}`, `{"sinkhorn-sketch", 1, []lab.Option{lab.Set("steps", 150), lab.Set("samples", 1000)}}`},
	},
	"07_private_autoencoder.ipynb": {{`"start_steps", 200`, `"start_steps", 20`}, {`"steps", 80`, `"steps", 8`}, {`"samples", 5000`, `"samples", 500`}},
}

// shortened is the path of a lesson, or of a copy whose training is shorter.
func shortened(t *testing.T, path string, nb *Notebook) string {
	t.Helper()
	changes, long := shorter[filepath.Base(path)]
	if !long {
		return path
	}
	for _, change := range changes {
		found := false
		for i, c := range nb.Cells {
			source := strings.Replace(string(c.Source), change[0], change[1], 1)
			found = found || source != string(c.Source)
			nb.Cells[i].Source = Lines(source)
		}
		if !found {
			t.Errorf("this test shortens %s, which the lesson no longer has", change[0])
		}
	}
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	if err := nb.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNotebooks executes every lesson through the real kernel, with no network,
// and compares it with what its metadata.molehill promises. Beside the tests of
// another package, as in make test, a lesson may take half as long again.
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
			expected.Longest += expected.Longest / 2
			// Runs of its own: one that is finished already would show nothing.
			env := append([]string{"MOLEHILL_RUNS=" + t.TempDir(), "MOLEHILL_LEDGER=" + filepath.Join(t.TempDir(), "ledger.db")}, offline...)
			r, err := Execute(t.Context(), e, shortened(t, path, nb), ExecuteOptions{Env: env, Out: logWriter{t}})
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

package kernel

import (
	"path/filepath"
	"strings"
	"testing"
)

// shorter is what takes minutes of lessons, and less of it. Every cell runs and shows
// what it shows, but whether these lessons keep their time is not tested, nor how good
// what they have learned is.
var shorter = map[string][][2]string{
	"00_start.ipynb":         {{`{{0, "0.08"}, {0.5, "0.81"}, {1, "not printed"}}`, `{{0.5, "0.81"}}`}},
	"01_private_flows.ipynb": {{`[]float64{lab.Inf, 10, 5, 1}`, `[]float64{10, 1}`}},
	"05_own_flow.ipynb": {
		{`, 2000, 5, 6,`, `, 500, 2, 6,`}, {`, 2000, 60,`, `, 500, 4,`}, {`, 2000, 40,`, `, 500, 4,`},
		{`const steps = 200`, `const steps = 20`},
	},
	"06_dp_sinkhorn.ipynb": {
		{`for range 40_000 / n`, `for range 1_000 / n`}, {`ps, 300,`, `ps, 60,`},
		{`lab.Set("steps", 6000)`, `lab.Set("steps", 100), lab.Set("samples", 300)`},
		{`{"sinkhorn-sketch", 1, []lab.Option{lab.Set("steps", 1000)}}`, `{"sinkhorn-sketch", 1, []lab.Option{lab.Set("steps", 30), lab.Set("samples", 300)}}`},
	},
	"07_private_autoencoder.ipynb": {{`"start_steps", 200`, `"start_steps", 20`}, {`"steps", 80`, `"steps", 8), lab.Set("batch", 200`}, {`"samples", 5000`, `"samples", 500`}},
	"08_fair_and_private.ipynb": {
		{`weights  = []float64{0, 0.25, 0.5, 0.75, 0.9}`, `weights = []float64{0, 0.75, 0.9}`}, {`[]float64{lab.Inf, 3, 1}`, `[]float64{lab.Inf, 3}`},
		{`[]float64{0, 0.5, 0.9}, []float64{lab.Inf, 1}`, `[]float64{0.5, 0.9}, []float64{lab.Inf, 1}`},
		{`[]float64{0, 0.5, 0.9}, Start: 1`, `[]float64{0.5, 0.9}, Start: 0`},
		{`lab.Set("alpha", k.alpha)`, `lab.Set("alpha", k.alpha), lab.Set("steps", 40)`},
		{`lab.Run("fair-regression-1d", lab.Set("alpha", alpha)`, `lab.Run("fair-regression-1d", lab.Set("alpha", alpha), lab.Set("steps", 40)`},
		{`lab.Run("fair-regression-1d-post", `, `lab.Run("fair-regression-1d-post", lab.Set("steps", 40), lab.Set("bins", 8), `},
	},
	"09_your_own_data.ipynb": {{`[]float64{0.1, 1, 10}`, `[]float64{0.1, 1}`}},
}

// shortened is the path of a lesson, or of a copy in which less is done.
func shortened(t *testing.T, path string, nb *Notebook) string {
	t.Helper()
	changes, long := shorter[filepath.Base(path)]
	if !long {
		return path
	}
	for _, change := range changes {
		found := false
		for i, c := range nb.Cells {
			source := strings.ReplaceAll(string(c.Source), change[0], change[1])
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
// and compares it with what its metadata.molehill promises. How long it takes says
// little beside the tests of another package: molehill notebooks, which executes a
// lesson alone and whole, tells when one is late.
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

package latent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	_ "molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/latent"
	_ "molehill/pkg/experiment/privateflow"
	_ "molehill/pkg/experiment/swae"
	"molehill/pkg/run"
)

// shade makes n grey images of 4×4 pixels, from the given value on.
func shade(n int, from float32) *dataset.Dataset {
	d := &dataset.Dataset{Name: "shades", Origin: "the test", Height: 4, Width: 4, Channels: 1}
	for i := range n {
		for range 16 {
			d.X = append(d.X, from+float32(i)*1e-3)
		}
	}
	return d
}

// Rows and weights that no version fixes are part of what determines a run.
func TestOtherContentIsAnotherRun(t *testing.T) {
	level := float32(0.1)
	dataset.Register("shades", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: shade(20, level), Test: shade(10, 0.5)}, nil
	})
	weights := filepath.Join(t.TempDir(), "weights.npz")
	id := func(settings map[string]string) string {
		t.Helper()
		return experimenttest.ID(t, experiment.Request{Experiment: "sketch-flow", Settings: settings})
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(weights, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine := map[string]string{"dataset": "shades", "weights": weights}
	if _, err := (experiment.Request{Experiment: "sketch-flow", Settings: mine}).Spec(); err == nil || !strings.Contains(err.Error(), "molehill run autoencoder") {
		t.Errorf("weights that are not there: %v", err)
	}
	write("one")
	first := id(mine)
	if again := id(mine); again != first {
		t.Errorf("the same content is %s and %s", first, again)
	}
	write("other")
	second := id(mine)
	level = 0.2
	third := id(mine)
	if first == second || second == third {
		t.Errorf("other weights and other rows are the runs %s, %s and %s", first, second, third)
	}
	if a, b := id(map[string]string{"dataset": "mnist"}), id(nil); a != b {
		t.Errorf("MNIST, whose files have checksums, is %s and %s", a, b)
	}
}

// A run that has waited while its rows or weights became others is refused before it looks
// at them: it would be filed under the rows that it was asked for with.
func TestWhatChangedMeanwhileIsRefused(t *testing.T) {
	level := float32(0.1)
	dataset.Register("passing-shades", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: shade(20, level), Test: shade(10, 0.5)}, nil
	})
	weights := filepath.Join(t.TempDir(), "weights.npz")
	for _, name := range []string{"sketch-flow", "dp-sinkhorn", "dp-sinkhorn-latent", "dp-swae"} {
		for _, change := range []string{"rows", "weights"} {
			settings := map[string]string{"dataset": "passing-shades"}
			if name == "sketch-flow" || name == "dp-sinkhorn-latent" {
				settings["weights"] = weights
			} else if change == "weights" {
				continue
			}
			write := func(text string) {
				if err := os.WriteFile(weights, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			level = 0.1
			write("one")
			r := experimenttest.Acquired(t, experiment.Request{Experiment: name, Settings: settings})
			if change == "rows" {
				level = 0.2
			} else {
				write("other")
			}
			if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "have changed since") {
				t.Errorf("%s, other %s: %v; expected to be refused", name, change, err)
			}
		}
	}
}

// The folder of runs may move, with an autoencoder of one's own in it: what was asked for
// is the same run there.
func TestWeightsMoveWithTheRuns(t *testing.T) {
	dataset.Register("moving-shades", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: shade(20, 0.1), Test: shade(10, 0.5)}, nil
	})
	above := t.TempDir()
	before, after := filepath.Join(above, "one", "runs"), filepath.Join(above, "other", "place")
	at := func(store string) (path, id string) {
		t.Helper()
		t.Setenv("MOLEHILL_RUNS", store)
		path = filepath.Join(store, "autoencoder-0123456789ab", "artefacts", "weights.npz")
		spec, err := experiment.Request{Experiment: "sketch-flow", Settings: map[string]string{"dataset": "moving-shades", "weights": path}}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		if id, err = spec.ID(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(spec.Config), above) {
			t.Errorf("settings name a folder: %s", spec.Config)
		}
		// What was pinned is found again, and pinned the same.
		var pinned struct{ Weights, Inputs string }
		if err := json.Unmarshal(spec.Config, &pinned); err != nil {
			t.Fatal(err)
		}
		if again, inputs, err := latent.Pin("moving-shades", "", pinned.Weights); err != nil || again != pinned.Weights || inputs != pinned.Inputs {
			t.Errorf("%q is pinned as %q, %v", pinned.Weights, again, err)
		}
		return path, id
	}
	from := filepath.Join(before, "autoencoder-0123456789ab", "artefacts", "weights.npz")
	if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(from, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, first := at(before)
	if err := errors.Join(os.MkdirAll(filepath.Dir(after), 0o755), os.Rename(before, after)); err != nil {
		t.Fatal(err)
	}
	if path, second := at(after); second != first {
		t.Errorf("with %s it is the run %s, where it was %s", path, second, first)
	}
}

// Encoding must not look like steps of the run: a run that is continued keeps only
// events up to its checkpoint, and would lose its curve.
func TestEncodingIsNoStep(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // nothing is cached
	told := 0
	if _, err := latent.Load(t.Context(), "glyphs", "", func(e run.Event) {
		told++
		if e.Step != 0 || e.Total != 0 {
			t.Errorf("an event of step %d of %d: %s", e.Step, e.Total, e.Message)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if told == 0 {
		t.Error("nothing was told")
	}
}

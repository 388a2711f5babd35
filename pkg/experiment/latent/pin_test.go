package latent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	_ "molehill/pkg/experiment/privateflow"
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
		spec, err := experiment.Request{Experiment: "sketch-flow", Settings: settings}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		id, err := spec.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
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

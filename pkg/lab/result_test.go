package lab

import (
	"encoding/json"
	"strings"
	"testing"

	"molehill/pkg/run"
)

// underWay is a run that this process computes, with the artefact and the curve of a
// flow.
func underWay(t *testing.T) *Result {
	t.Helper()
	store := run.Store{Dir: t.TempDir()}
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Config: json.RawMessage(`{"epsilon":1}`)})
	if err == nil {
		err = r.Acquire()
	}
	if err == nil {
		err = r.WriteTable("samples.npy", make([]float32, 8), 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Result{r}
}

func TestImagesAreAskedForByTheirNumber(t *testing.T) {
	r := underWay(t)
	if grid, err := r.images("samples.npy", 9); err != nil || len(grid.X) != 8 {
		t.Errorf("%d numbers of two images with 4 each, %v", len(grid.X), err)
	}
	for _, n := range []int{0, -1} {
		if _, err := r.images("samples.npy", n); err == nil || !strings.Contains(err.Error(), "one or more") {
			t.Errorf("%d images: %v", n, err)
		}
	}
}

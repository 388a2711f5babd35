package draw_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"molehill/pkg/run"
	"molehill/pkg/run/draw"
)

// underWay is a run that this process computes, with two images of 4 pixels each.
func underWay(t *testing.T) *run.Run {
	t.Helper()
	store := run.Store{Dir: t.TempDir()}
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Config: json.RawMessage(`{}`)})
	if err == nil {
		err = r.Acquire()
	}
	if err == nil {
		err = r.WriteTable("samples.npy", make([]float32, 8), 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestImagesAreAskedForByTheirNumber(t *testing.T) {
	r := underWay(t)
	for asked, want := range map[int]int{1: 4, 2: 8, 9: 8} {
		if grid, err := draw.Images(r, "samples.npy", asked); err != nil || len(grid.X) != want {
			t.Errorf("%d numbers of %d from two images with 4 each, %v", len(grid.X), asked, err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := draw.Images(r, "samples.npy", n); err == nil || !strings.Contains(err.Error(), "one or more") {
			t.Errorf("%d images: %v", n, err)
		}
	}
	if _, err := draw.Images(r, "random.npy", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("images that were not made: %v", err)
	}
}

// A name that the run does not know is answered with those that there are.
func TestUnknownCurvesAreAnsweredWithKnownOnes(t *testing.T) {
	r := underWay(t)
	if _, err := draw.Curve(r, "loss"); err == nil || !strings.Contains(err.Error(), "told of no loss; there is none yet") {
		t.Errorf("a curve before there is any: %v", err)
	}
	err := errors.Join(
		r.Emit(run.Event{Step: 1, Total: 2, Values: run.Values{"loss": 0, "sliced W₂": 2}}),
		r.Emit(run.Event{Step: 2, Total: 2, Values: run.Values{"loss": 1}}))
	if err != nil {
		t.Fatal(err)
	}
	if figure, err := draw.Curve(r, "sliced W₂"); err != nil || figure.Title != "made-up: sliced W₂" || figure.Lines[0].Y[0] != 2 || !figure.Y.Log {
		t.Errorf("%+v, %v", figure, err)
	}
	if figure, err := draw.Curve(r, "loss"); err != nil || len(figure.Lines[0].X) != 2 || figure.Lines[0].X[1] != 2 || figure.Y.Log {
		t.Errorf("a value of 0 on a logarithmic axis: %+v, %v", figure, err)
	}
	if _, err := draw.Curve(r, "sliced W2"); err == nil || !strings.Contains(err.Error(), "told of no sliced W2; there is loss, sliced W₂") {
		t.Errorf("an unknown curve: %v", err)
	}
}

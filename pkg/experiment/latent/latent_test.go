package latent

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

type plainly struct{ plain }

func (plainly) Describe() plugin.Info { return plugin.Info{Name: "plainly", Version: "1"} }

// Runs of one process read a data set once, and what one of them does to it the others
// do not see.
func TestRunsOfAProcessShareTheirLatents(t *testing.T) {
	read := 0
	for _, name := range []string{"dots", "dashes"} {
		dataset.Register(name, "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
			read++
			return &dataset.Splits{Train: specks(40, 1), Test: specks(30, 2)}, nil
		})
	}
	models.Registry.Register(plainly{})
	ctx := experiment.Keeping(t.Context())
	load := func(ctx context.Context, name string, public bool) *Data {
		t.Helper()
		d, err := LoadWith(ctx, name, Options{Weights: "plainly", PublicHalf: public}, func(run.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	after := func(want int, what string) {
		t.Helper()
		if read != want {
			t.Errorf("%s: %d data sets were read; expected %d", what, read, want)
		}
		read = 0
	}
	first := load(ctx, "dots", false)
	// The model has learned from no rows of dots, and the half that is not private is
	// measured by all the same.
	for _, want := range []string{"the code which plainly gives an image depends on that image alone", "the public half of dots, which stands for real images"} {
		if !slices.ContainsFunc(first.NotCovered, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("%q is not among %q", want, first.NotCovered)
		}
	}
	kept := slices.Clone(first.Private.Data)
	distance, err := first.Distance(first.Public, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]float32{first.Private.Data, first.Public.Data, first.Test.Data} {
		clear(part)
	}
	second := load(ctx, "dots", false)
	after(1, "the same again")
	if !slices.Equal(second.Private.Data, kept) {
		t.Error("a run sees what another has done to its records")
	}
	if again, err := second.Distance(second.Public, 1); err != nil || again != distance {
		t.Errorf("the distance was %v, it is %v (%v)", distance, again, err)
	}
	if other, err := second.Distance(second.Public, 2); err != nil || other == distance {
		t.Errorf("another seed measures along the same directions (%v)", err)
	}
	defer func(most int) { mostKept = most }(mostKept)
	mostKept = 0
	if again, err := second.Distance(second.Public, 1); err != nil || !(math.Abs(again.Value/distance.Value-1) <= 1e-5) {
		t.Errorf("without what is kept the distance is %v, it was %v (%v)", again, distance, err)
	}
	if load(ctx, "dots", true).PublicHalf.Len() != 20 {
		t.Error("the public half is not there")
	}
	if load(ctx, "dots", false).PublicHalf.Len() != 0 {
		t.Error("a run that did not ask has the public half")
	}
	after(1, "with the public half, and without it")
	load(ctx, "dashes", false)
	load(ctx, "dots", false)
	after(2, "another data set, and back")
	load(t.Context(), "dots", false)
	after(1, "a process of one run")
}

package experimenttest

import (
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// NamesSplit checks that what a run keeps of its records has the seed and the digest of the
// partition of so many.
func NamesSplit(t *testing.T, r *run.Run, records int) {
	t.Helper()
	computed, err := r.Provenance()
	if err != nil {
		t.Fatal(err)
	}
	want := dataset.PublicPrivate(records, experiment.SplitSeed).String()
	for _, c := range computed {
		if c.Split != want {
			t.Errorf("%s has the split %q; want %q", r.ID, c.Split, want)
		}
	}
}

package experimenttest

import (
	"fmt"
	"strings"
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
	p := dataset.PublicPrivate(records, experiment.SplitSeed)
	want := fmt.Sprintf(", split by seed %d into a public and a private half, SHA-256 %s", p.Seed, p.Digest)
	for _, c := range computed {
		if !strings.HasSuffix(c.Data, want) {
			t.Errorf("%s is of %q; want it to end with %q", r.ID, c.Data, want)
		}
	}
}

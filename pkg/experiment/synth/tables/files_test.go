package tables

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
)

// A copy of the same rows and schema in another place is the same run, which goes on
// with the copy; where they are, no settings say.
func TestACopyElsewhereIsTheSameRun(t *testing.T) {
	data, schema := people(t, 60, nil)
	elsewhere := t.TempDir()
	copied := [2]string{filepath.Join(elsewhere, "copy.csv"), filepath.Join(elsewhere, "copy.json")}
	r := experimenttest.Acquired(t, request(data, schema, "1"))
	if strings.Contains(string(r.Spec.Config), "people") {
		t.Errorf("the settings say where the rows are: %s", r.Spec.Config)
	}
	for i, path := range []string{data, schema} {
		if err := os.Rename(path, copied[i]); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := request(copied[0], copied[1], "1").Spec()
	if err != nil {
		t.Fatal(err)
	}
	if id, err := spec.ID(); err != nil || id != r.ID {
		t.Fatalf("the copy is run %s, the rows are run %s; %v", id, r.ID, err)
	}
	experimenttest.Computed(t, r, 0)

	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	places, err := filepath.Glob(filepath.Join(store.Dir, ".inputs", "*"))
	if err != nil || len(places) != 1 {
		t.Fatal(places, err)
	}
	if info, err := os.Stat(places[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read where the rows are: %v, %v", info, err)
	}
	if err := os.Remove(places[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Diagnose(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "ask for the run again") {
		t.Error(err)
	}
}

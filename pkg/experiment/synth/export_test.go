package synth

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
)

// exported writes a run's table to a file.
func exported(t *testing.T, r *run.Run, ending string) (path string) {
	t.Helper()
	var b bytes.Buffer
	if err := Export(r, &b, ending); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "exported"+ending)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// One release gives every format, with the same values: another format is nothing to
// pay for.
func TestEveryFormatHasTheSameValues(t *testing.T) {
	data, schema := people(t, 300, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
	s, err := table.ReadSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	var want *table.Table
	for _, ending := range []string{".csv", ".CSV", ".tsv", ".parquet"} {
		got, disagreements, err := table.Read(t.Context(), exported(t, r, ending), s)
		if err != nil || disagreements != nil {
			t.Fatal(err, disagreements)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got.Codes, want.Codes) {
			t.Errorf("%s has other values", ending)
		}
	}
	if left := experimenttest.Read(t, r, "synthetic.csv"); !bytes.Equal(left, read(t, exported(t, r, ".csv"))) {
		t.Error("what the run has left is another table")
	}
	if err := Export(r, &bytes.Buffer{}, ".npz"); err == nil || !strings.Contains(err.Error(), "numbers cannot hold") {
		t.Error(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

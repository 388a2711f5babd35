package tables

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
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

// rawRows are the rows of a file as numbers, before any schema puts them into bins.
func rawRows(t *testing.T, path string) (rows [][]float64) {
	t.Helper()
	source, err := table.Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for {
		texts, err := source.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var row []float64
		for _, text := range texts {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	return rows
}

// Where a code is a bin, the number that is drawn in it is the same in every format.
func TestEveryFormatHasTheSameNumbers(t *testing.T) {
	data, schema := people(t, 0, nil)
	var b strings.Builder
	b.WriteString("wealth,height,plan\n")
	for i := range 300 {
		fmt.Fprintf(&b, "%d.25,%d,%d\n", i*i*1000, i*1_000_003, 20240101+i%2)
	}
	text := `{"name": "numbers", "columns": [
 {"name": "wealth", "kind": "numeric", "public": true, "low": 0, "high": 100000000, "decimals": 2},
 {"name": "height", "kind": "numeric", "public": true, "low": 1, "high": 1000000000, "scale": "log"},
 {"name": "plan", "kind": "categorical", "public": true, "values": ["20240101", "20240102"]}]}`
	if err := errors.Join(os.WriteFile(data, []byte(b.String()), 0o600), os.WriteFile(schema, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
	want := rawRows(t, exported(t, r, ".csv"))
	if len(want) != 300 {
		t.Fatalf("%d rows", len(want))
	}
	for _, ending := range []string{".tsv", ".parquet", ".npz"} {
		if got := rawRows(t, exported(t, r, ending)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has other numbers: its first row is %v, not %v", ending, got[0], want[0])
		}
	}
}

// One release gives every format, with the same rows: another format is nothing to
// pay for.
func TestEveryFormatHasTheSameRows(t *testing.T) {
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

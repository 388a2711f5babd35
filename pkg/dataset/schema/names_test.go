package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesOfDataSetsAreMadeOfFiles(t *testing.T) {
	for path, want := range map[string]string{"/x/My People (2024).csv": "my-people-2024", "äöü.parquet": "table", "a.b.npz": "a.b", strings.Repeat("x", 100) + ".csv": strings.Repeat("x", 63)} {
		got := NameOf(path)
		if got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
		if err := CheckName(got); err != nil {
			t.Error(err)
		}
	}
}

// A schema lies beside its data, whether these are a file or a folder with a point in
// its name.
func TestASchemaIsBesideItsData(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "photos.2024")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{"/x/people.csv": "/x/people.schema.json", folder: folder + ".schema.json", folder + "/": folder + ".schema.json"} {
		if got := FileOf(data); got != want {
			t.Errorf("the schema of %s is expected at %s, found %s", data, want, got)
		}
	}
}

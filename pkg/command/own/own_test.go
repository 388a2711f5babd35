package own

import (
	"strings"
	"testing"
)

func TestNamesOfDataSetsAreMadeOfFiles(t *testing.T) {
	for path, want := range map[string]string{"/x/My People (2024).csv": "my-people-2024", "äöü.parquet": "table", "a.b.npz": "a.b", strings.Repeat("x", 100) + ".csv": strings.Repeat("x", 63)} {
		if got := dataName(path); got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
	}
}

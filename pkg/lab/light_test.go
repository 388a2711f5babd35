package lab_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Every cell is linked anew with what it imports, and many import experiments for their
// types: these stand on no database, and package lab, which nearly all import, on no
// graphs either. `molehill`, which is linked once, does.
func TestCellsLinkNoDatabase(t *testing.T) {
	databases := []string{"modernc.org/sqlite", "github.com/jackc/pgx"}
	for _, c := range []struct {
		packages []string
		has      string
		heavy    []string
	}{
		{[]string{"molehill/pkg/lab", "molehill/pkg/lab/owndata"}, "molehill/viz", append(databases, "github.com/gomlx/gomlx")},
		{[]string{"molehill/pkg/experiment/...", "molehill/privacy/ledger"}, "github.com/gomlx/gomlx", databases},
	} {
		// What helps tests is no part of a cell.
		arguments := append([]string{"list", "-deps", "-f", `{{.ImportPath}}`}, within(t, c.packages)...)
		list, err := exec.Command("go", arguments...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(list), c.has) {
			t.Errorf("%s is expected to stand on %s, found\n%s", c.packages, c.has, list)
		}
		for _, heavy := range c.heavy {
			if strings.Contains(string(list), heavy) {
				t.Errorf("%s stands on %s", c.packages, heavy)
			}
		}
	}
}

// within lists packages without those that help tests.
func within(t *testing.T, patterns []string) (paths []string) {
	t.Helper()
	list, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(list)) {
		if !strings.HasSuffix(path, "test") {
			paths = append(paths, path)
		}
	}
	return paths
}

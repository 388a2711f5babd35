package lab_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Every cell is linked anew with what it imports, so that package lab, which nearly all
// import, stands on no database and no graphs: `molehill`, which it asks, does.
func TestCellsLinkNoDatabase(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "molehill/pkg/lab").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), "molehill/viz\n") {
		t.Errorf("package lab is expected to stand on viz, found\n%s", list)
	}
	for _, heavy := range []string{"sqlite", "/pgx", "gomlx"} {
		if strings.Contains(string(list), heavy) {
			t.Errorf("package lab stands on %s", heavy)
		}
	}
}

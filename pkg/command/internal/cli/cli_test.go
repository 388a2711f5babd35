package cli

import (
	"os/exec"
	"testing"
)

// A shell takes what is quoted for the one word that it was.
func TestQuotedPathsAreOneWord(t *testing.T) {
	for _, path := range []string{"people.csv", "Klinik Daten (März).csv", "it's $HOME.csv", "a\nb", "", "~x", "*", `back\slash`, "-n"} {
		out, err := exec.Command("sh", "-c", "printf '%s' "+Quote(path)).Output()
		if err != nil || string(out) != path {
			t.Errorf("%q as %s is %q, %v", path, Quote(path), out, err)
		}
	}
	if got := Quote("a/people.schema.json"); got != "a/people.schema.json" {
		t.Errorf("quoted without need: %s", got)
	}
}

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whoever has no Go, or one that is too old, is told so and what to install: the Go of
// go.mod, which the README asks for as well.
func TestMakeAsksForGo(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(mod))[1]
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil || !strings.Contains(string(readme), "Go ≥ "+wanted) {
		t.Errorf("README.md does not ask for Go ≥ %s (%v)", wanted, err)
	}
	dir := t.TempDir()
	for version, want := range map[string]string{
		"":           "found no Go",
		"go1.24.4":   "found go1.24.4",
		"go1.26.5":   "",
		"go1.30":     "",
		"devel go99": "",
	} {
		goes := filepath.Join(dir, "nowhere")
		if version != "" {
			script := "#!/bin/sh\n[ -z \"$GOEXPERIMENT\" ] || exit 2 # an old one knows none of ours\necho '" + version + "'\n"
			goes = filepath.Join(dir, strings.ReplaceAll(version, " ", "-"))
			if err := os.WriteFile(goes, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("make", "-C", root, "--no-print-directory", "GO="+goes, "has-go").CombinedOutput()
		if said := string(out); (err == nil) != (want == "") || !strings.Contains(said, want) || err != nil && !strings.Contains(said, "install Go "+wanted+" or newer") {
			t.Errorf("with %q make says %q, %v", version, said, err)
		}
	}
}

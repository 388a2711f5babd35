package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/kernel"
)

// Notebooks are executed whatever they promise, and those that do not show it are named;
// so are those that are late, which is no failure.
// One that cannot be read, or whose promise cannot, is refused before anything is set up.
func TestNotebooksAreHeldToWhatTheyPromise(t *testing.T) {
	folder := t.TempDir()
	write := func(name, metadata string) string {
		t.Helper()
		nb := kernel.NewNotebook("%%\nfmt.Println(\"moles\")")
		nb.Metadata["molehill"] = json.RawMessage(metadata)
		path := filepath.Join(folder, name)
		if err := nb.Write(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	misspelt := write("misspelt.ipynb", `{"expects": {}}`)
	for path, want := range map[string]string{misspelt: "misspelt.ipynb", filepath.Join(folder, "none.ipynb"): "no such file"} {
		if out, err := molehill(t, "notebooks", path); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	if _, err := molehill(t, "notebooks", "--html", "a/x.ipynb", "b/x.ipynb"); err == nil || !strings.Contains(err.Error(), "two notebooks are called x.ipynb") {
		t.Errorf("two notebooks of one name: %v", err)
	}
	if testing.Short() {
		t.Skip("-short: executes notebooks")
	}
	kept, broken := write("kept.ipynb", `{"expect": {"text": ["moles"]}, "max_seconds": 0.001}`), write("broken.ipynb", `{"expect": {"text": ["hills"]}, "max_seconds": 600}`)
	out, err := molehill(t, "notebooks", broken, kept)
	if err == nil {
		t.Fatalf("promises are kept:\n%s", out)
	}
	if want := `broken.ipynb: expected the text "hills"`; !strings.Contains(err.Error(), want) {
		t.Errorf("%q is not among what is missing: %v", want, err)
	}
	if strings.Contains(err.Error(), "kept.ipynb") || !strings.Contains(out, "kept.ipynb executed in") || strings.Contains(out, "broken.ipynb is late") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, path := range []string{kept, broken} {
		if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "moles") < 2 {
			t.Errorf("%s has no output (%v):\n%s", path, err, text)
		}
	}
	if out := mustMolehill(t, "notebooks", kept); !strings.Contains(out, "kept.ipynb is late: expected it to end within 1ms") {
		t.Errorf("it is not said that one is late:\n%s", out)
	}
}

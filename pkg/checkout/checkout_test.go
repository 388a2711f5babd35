package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheCheckoutIsFoundFromBelow(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "notebooks", "other")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(root, "go.mod"):  "// ours\nmodule \"" + module + "\"\n\ngo 1.26\n",
		filepath.Join(below, "go.mod"): "module somebody/else\n", // to be passed by
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := Root(below); !ok || got != root {
		t.Errorf("%q, %v; want %q", got, ok, root)
	}
	if got, ok := Root(filepath.Join(root, "not there yet")); !ok || got != root {
		t.Errorf("of a folder to be made: %q, %v; want %q", got, ok, root)
	}
	if got, ok := Root(t.TempDir()); ok {
		t.Errorf("found %q where there is none", got)
	}
}

// A checkout is its own: what go.mod says is what packages are imported by.
func TestPathIsThatOfTheCheckout(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if root, ok := Root(here); !ok || root != filepath.Dir(filepath.Dir(here)) {
		t.Errorf("module %q: %q, %v", module, root, ok)
	}
}

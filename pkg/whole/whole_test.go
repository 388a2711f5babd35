package whole

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAreThereWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Bytes(path, 0o600, []byte("first")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, "sec"); return errors.Join(err, broken) }); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the writer", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "first" {
		t.Errorf("after a writer that failed there is %q, %v", text, err)
	}
	if err := Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, "second"); return err }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if text, _ := os.ReadFile(path); err != nil || string(text) != "second" || info.Mode().Perm() != 0o644 {
		t.Errorf("there is %q with mode %v, %v", text, info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
	if err := Bytes(filepath.Join(dir, "none", "file"), 0o644, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

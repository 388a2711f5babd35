package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestFilesAreThereWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, 0o600, Content([]byte("first"))); err != nil {
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
	if err := Write(filepath.Join(dir, "none", "file"), 0o644, Content(nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

// Of several that would make a file one wins, and what it wrote stays.
func TestNewNeverReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var won, winner atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			switch err := New(path, 0o600, Content([]byte{byte(i)})); {
			case err == nil:
				won.Add(1)
				winner.Store(int32(i))
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(filepath.Dir(path)); won.Load() != 1 || len(entries) != 1 {
		t.Errorf("%d made the file; %v are there, %v", won.Load(), entries, err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) != 1 || int32(text[0]) != winner.Load() {
		t.Errorf("it is of %v, %v; want %d, which has won", text, err, winner.Load())
	}
}

// The umask of who writes holds for what may be read, as it does for all else.
func TestModeIsLessTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, 0o644, Content(nil)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What a writer that is killed leaves can be told from what it wrote.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	err := Write(path, 0o644, func(io.Writer) error {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || !Leftover(entries[0].Name()) {
			t.Errorf("on the way %v are there, %v", entries, err)
		}
		return nil
	})
	if err != nil || Leftover("file") {
		t.Errorf("the file itself is taken for a leftover, %v", err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(dir); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v are left, %v", entries, err)
	}
	if err := Writable(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

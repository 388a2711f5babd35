package sqlite

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Where a file system has no links a new ledger is copied to its place, whole, for its
// owner alone, and never over another.
func TestACopyReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "new"), filepath.Join(dir, "ledger.db")
	write := func(text string) {
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"the first", "a second"} {
		write(text)
		if err := copyNew(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "the first" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := copyNew(filepath.Join(dir, "nothing"), filepath.Join(dir, "other.db")); err == nil {
		t.Error("nothing was copied")
	}
}

// Of several that make a ledger one wins, and it is whole for all of them.
func TestALedgerIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "ledger.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := create(path); err != nil {
				t.Error(err)
				return
			}
			s, err := open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.DB.Close()
			tx, err := s.DB.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			defer tx.Rollback()
			if found, err := made(t.Context(), tx, path); err != nil || !found {
				t.Errorf("the ledger is there: %v, %v", found, err)
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the ledger something was left: %v, %v", left, err)
	}
}

package run

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The same data has one hash in a store, and another in any other, under a key that
// only its owner reads, whoever asks first.
func TestKeyedHashesAreTheStores(t *testing.T) {
	s, other := Store{Dir: filepath.Join(t.TempDir(), "runs")}, Store{Dir: t.TempDir()}
	var hashes [8]string
	var all sync.WaitGroup
	for i := range hashes {
		all.Go(func() {
			var err error
			if hashes[i], err = s.Keyed([]byte("rows")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, h := range hashes {
		if h != hashes[0] || len(h) != 32 {
			t.Fatalf("hashes %q", hashes)
		}
	}
	if h, err := s.Keyed([]byte("row")); err != nil || h == hashes[0] {
		t.Errorf("other data: %q, %v", h, err)
	}
	if h, err := other.Keyed([]byte("rows")); err != nil || h == hashes[0] {
		t.Errorf("another store: %q, %v", h, err)
	}
	key, err := os.Stat(filepath.Join(s.Dir, inputsKey))
	if err != nil || key.Mode().Perm() != 0o600 {
		t.Error(key, err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, inputsKey), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keyed(nil); err == nil {
		t.Error("a spoilt key is taken")
	}
}

package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACacheIsWholeOrRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "pixels")
	want := make([]byte, 300)
	for i := range want {
		want[i] = byte(i)
	}
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path, len(want)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read back: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; what is of private records is for their owner only", info.Mode(), err)
	}
	for _, n := range []int{len(want) + 1, len(want) - 1} {
		if _, err := Read(path, n); err == nil {
			t.Errorf("%d bytes were read as %d", len(want), n)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, len(want)); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged cache: %v", err)
	}
	if err := Write("", want); err == nil {
		t.Error("a cache without a place was written")
	}
}

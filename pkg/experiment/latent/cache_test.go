package latent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLatentCacheIsPrivateAndChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "latents")
	want := []float32{1, 2, 3, 4}
	if err := writeLatents(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := readLatents(path, 4); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; latents of private records are for their owner only", info.Mode(), err)
	}
	if _, err := readLatents(path, 8); err == nil {
		t.Error("a cache of another size was read")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[3] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLatents(path, 4); err == nil {
		t.Error("a damaged cache was read")
	}
	if err := writeLatents("", want); err == nil {
		t.Error("a cache without a place was written")
	}
}

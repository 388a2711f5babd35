// Package cache keeps what takes long to make in files: the content, and the SHA-256 of it.
// Only the user can read them, as it may show people.
package cache

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"molehill/pkg/atomicfile"
)

// Read returns the n bytes that Write has put into a file, which no others will do for.
func Read(path string, n int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if want := int64(n) + sha256.Size; info.Size() != want {
		return nil, fmt.Errorf("%s: expected %d bytes, found %d; remove it", path, want, info.Size())
	}
	content, sum := make([]byte, n), make([]byte, sha256.Size)
	for _, part := range [][]byte{content, sum} {
		if _, err := io.ReadFull(file, part); err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(content) != [sha256.Size]byte(sum) {
		return nil, fmt.Errorf("%s: expected the checksum at its end, found another; remove it", path)
	}
	return content, nil
}

// Write puts content into a file, whole or not at all.
func Write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		if _, err := w.Write(content); err != nil {
			return err
		}
		_, err := w.Write(sum[:])
		return err
	})
}

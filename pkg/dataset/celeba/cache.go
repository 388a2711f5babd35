package celeba

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"molehill/pkg/atomicfile"
)

// A cache file is the pixels and the SHA-256 of them. Only the user can read it:
// it shows people.

// ReadCache returns the pixels of n images that WriteCache has put into a file.
func ReadCache(path string, n int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if want := int64(n)*Dim + sha256.Size; info.Size() != want {
		return nil, fmt.Errorf("%s: expected %d bytes, found %d; remove it", path, want, info.Size())
	}
	pixels, sum := make([]byte, n*Dim), make([]byte, sha256.Size)
	for _, part := range [][]byte{pixels, sum} {
		if _, err := io.ReadFull(file, part); err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(pixels) != [sha256.Size]byte(sum) {
		return nil, fmt.Errorf("%s: expected the checksum at its end, found another; remove it", path)
	}
	return pixels, nil
}

// WriteCache puts pixels into a file, whole or not at all.
func WriteCache(path string, pixels []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(pixels)
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		if _, err := w.Write(pixels); err != nil {
			return err
		}
		_, err := w.Write(sum[:])
		return err
	})
}

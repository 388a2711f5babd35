package download

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// packedSuffix ends the names of files that may also be kept unpacked.
const packedSuffix = ".gz"

// File is a file whose content is known.
type File struct {
	Path     string   // below the data folder, with slashes: "mnist/train-images-idx3-ubyte.gz"
	Size     int64    // in bytes
	SHA256   string   // of its content, in lower-case hexadecimal digits; "" if unknown: then whoever reads it verifies it, here only Size counts
	Unpacked string   // SHA-256 of what a .gz file holds, "" if it may not be kept unpacked
	Mirrors  []string // addresses of the file, in the order to try them
}

// In returns where f lies below a data folder.
func (f File) In(folder string) string { return filepath.Join(folder, filepath.FromSlash(f.Path)) }

// UnpackedIn returns where f lies below a data folder if it is kept unpacked,
// and whether it may be.
func (f File) UnpackedIn(folder string) (path string, ok bool) {
	path, packed := strings.CutSuffix(f.In(folder), packedSuffix)
	return path, packed && f.Unpacked != ""
}

// MismatchError says that a file is not the one that its name promises.
type MismatchError struct {
	Path            string
	Expected, Found string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s; it is damaged or another file: remove it and fetch it again",
		e.Path, e.Expected, e.Found)
}

// Read returns the content of path, which must be f, packed or unpacked. Any
// other content gives a *MismatchError.
func (f File) Read(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("expected a readable file of %d bytes: %w", f.Size, err)
	}
	sum := sha256.Sum256(content)
	return content, f.compare(path, int64(len(content)), sum[:])
}

// Check reads path and returns nil if it is f, packed or unpacked, a
// *MismatchError if it is not, and the file system's error if it cannot be
// read.
func (f File) Check(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, in)
	if err != nil {
		return err
	}
	return f.compare(path, size, hash.Sum(nil))
}

func (f File) compare(path string, size int64, sum []byte) error {
	found := hex.EncodeToString(sum)
	switch {
	case found == f.SHA256, f.SHA256 == "" && size == f.Size:
		return nil
	case f.Unpacked != "" && filepath.Base(path)+packedSuffix == filepath.Base(f.Path):
		if found == f.Unpacked {
			return nil
		}
		return &MismatchError{path, "SHA-256 " + f.Unpacked, fmt.Sprintf("%s in %d bytes", found, size)}
	case size != f.Size:
		return &MismatchError{path, fmt.Sprintf("%d bytes", f.Size), fmt.Sprintf("%d", size)}
	}
	return &MismatchError{path, "SHA-256 " + f.SHA256, found}
}

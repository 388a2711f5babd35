package own

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	schemas "molehill/pkg/dataset/schema"
)

// claim keeps other commands from writing to the same place until release is called, so
// that no table lies beside the report of another. What differs in the ending alone has the
// same reports. The kernel lets go of what a killed command has claimed.
func (s *synthesis) claim() (release func(), err error) {
	stem := schemas.Stem(s.out)
	path := filepath.Join(filepath.Dir(stem), "."+filepath.Base(stem)+".lock")
	for {
		lock := flock.New(path)
		held, err := lock.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK): // the file system has no locks
			_ = os.Remove(path)
			return func() {}, nil
		case err != nil:
			return nil, fmt.Errorf("--out %s: nothing was computed, and nothing paid: %w", s.out, err)
		case !held:
			return nil, fmt.Errorf("--out %s: another `molehill synth` makes it, or another with the reports of that name; let it end, or write to another; nothing was computed, and nothing paid", s.out)
		}
		mine, err := lock.Stat()
		there, gone := os.Stat(path)
		if err == nil && gone == nil && os.SameFile(mine, there) {
			return func() { _, _ = os.Remove(path), lock.Close() }, nil
		}
		// Who held it has removed it since it was opened here: this is the lock of nothing.
		if err = errors.Join(err, lock.Close()); err != nil || gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return nil, errors.Join(err, gone)
		}
	}
}

// vacant returns an error where files would be replaced that nobody has said may be.
func (s *synthesis) vacant() error {
	if s.replace {
		return nil
	}
	for _, path := range append([]string{s.out}, s.beside()...) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there already; --force replaces it, and --out with another name leaves it (the same release, at no further cost)", path)
		}
	}
	return nil
}

// Package whole writes files that are there whole or not at all: a reader, and whoever
// comes after a crash or a full disk, finds the old file or the new one.
package whole

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts what write writes in the place of the file at path, in one step and on the
// disk. An error leaves what was there as it was.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	w := bufio.NewWriter(file)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Bytes is Write of bytes that are there already.
func Bytes(path string, mode fs.FileMode, content []byte) error {
	return Write(path, mode, func(w io.Writer) error { _, err := w.Write(content); return err })
}

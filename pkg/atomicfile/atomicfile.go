// Package atomicfile writes files that are there whole or not at all: a reader, and whoever
// comes after a crash or a full disk, finds the old file or the new one.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Write puts what write writes in the place of the file at path, in one step and on the
// disk, with mode less the process' umask. An error leaves what was there as it was.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return put(os.Rename, path, mode, write)
}

// New is Write of a file that must not exist: of several writers one wins, and the others
// get an error that wraps fs.ErrExist.
func New(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return put(publish, path, mode, write)
}

// Content writes bytes that are there already, for Write and New.
func Content(content []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(content); return err }
}

// mark is in the names of files that are being written.
const mark = ".tmp-"

// Leftover reports whether a file of this name is one that a write was killed on the way of.
func Leftover(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, mark)
}

func put(publish func(from, to string) error, path string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, base := filepath.Split(path)
	temporary := filepath.Join(dir, fmt.Sprintf(".%s%s%016x", base, mark, rand.Uint64()))
	defer os.Remove(temporary) // gone already after a rename
	err := synced(temporary, mode, write)
	if err == nil {
		err = publish(temporary, path)
	}
	if err == nil {
		err = SyncFolder(filepath.Dir(path))
	}
	return err
}

// publish is a rename that never replaces. Where the file system has no hard links there is
// nothing better than to look first.
func publish(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		if _, err := os.Lstat(to); err == nil {
			return fs.ErrExist
		}
		return os.Rename(from, to)
	}
	return err
}

func synced(path string, mode fs.FileMode, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<16)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// SyncFolder makes what was renamed or removed in a folder survive a power cut. File systems
// that cannot sync a folder say EINVAL or ENOTSUP; they have nothing more to offer.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Writable says why nothing can be written in a folder, nil if something can.
func Writable(folder string) error {
	probe, err := os.CreateTemp(folder, "."+mark+"*")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, 1<<12)) // a name may find room where no content does
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

package run

import (
	"bufio"
	"encoding/json"
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

// A file that appears under its name is whole: it was written under another
// name in the same folder, forced to the disk and renamed. A process killed on
// the way leaves the old file as it was, and a temporary one that the next
// computing process sweeps away.

const temporaryMark = ".tmp-"

// writeAtomic replaces the file at path by what write writes, or leaves it as
// it is and says why.
func writeAtomic(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return writeThen(os.Rename, path, perm, write)
}

// writeNew is writeAtomic for a file that must not exist: of several writers
// one wins, the others get fs.ErrExist.
func writeNew(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return writeThen(publishNew, path, perm, write)
}

// publishNew is a rename that never replaces. Where the file system has no hard
// links there is nothing better than to look first.
func publishNew(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		if exists(to) {
			return fs.ErrExist
		}
		return os.Rename(from, to)
	}
	return err
}

func writeThen(publish func(from, to string) error, path string, perm fs.FileMode, write func(io.Writer) error) error {
	dir, base := filepath.Split(path)
	temporary := filepath.Join(dir, fmt.Sprintf(".%s%s%016x", base, temporaryMark, rand.Uint64()))
	defer os.Remove(temporary) // gone already after a rename
	err := writeSynced(temporary, perm, write)
	if err == nil {
		err = publish(temporary, path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	return explain(path, err)
}

func writeSynced(path string, perm fs.FileMode, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
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

// syncDir makes a rename in dir survive a power cut. File systems that cannot
// sync a folder say EINVAL or ENOTSUP; they have nothing more to offer.
func syncDir(dir string) error {
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

// explain adds to a failed write of path what to do about it.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	advice := "what was there before is unchanged"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = "the disk or quota is full; " + advice + ": free space and start the run again, it goes on from its last checkpoint"
	case errors.Is(err, syscall.EFBIG):
		advice = "the file would pass the size limit of this process or file system; " + advice + ": raise it (ulimit -f) and start the run again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		advice = "the folder cannot be written; " + advice + ": change its permissions, or set MOLEHILL_RUNS to a folder of yours"
	}
	return fmt.Errorf("run: writing %s: %w (%s)", path, err, advice)
}

// sweep removes what killed processes left half written below dir.
func sweep(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), ".") && strings.Contains(entry.Name(), temporaryMark) {
			_ = os.Remove(path) // a leftover that stays does no harm
		}
		return nil
	})
}

// maxJSON bounds the JSON files of a run directory, so that a foreign file
// under one of their names cannot fill the memory.
const maxJSON = 64 << 20

func asJSON(value any) func(io.Writer) error {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
}

// readFile returns the content of a regular file of at most maxJSON bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // a pipe under this name would block on opening
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: expected a file, found %s", path, info.Mode().Type())
	case info.Size() == 0:
		return nil, fmt.Errorf("%s: expected JSON, found an empty file, which molehill does not write; restore it from a copy", path)
	case info.Size() > maxJSON:
		return nil, fmt.Errorf("%s: expected a few kilobytes, found %d bytes; molehill did not write it: remove it", path, info.Size())
	}
	return os.ReadFile(path)
}

func readJSON(path string, value any) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w; edited by hand? restore it, or delete the run", path, err)
	}
	return nil
}

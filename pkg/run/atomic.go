package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"molehill/pkg/atomicfile"
)

// writeAtomic replaces the file at path by what write writes, or leaves it as
// it is and says why (atomicfile.Write).
func writeAtomic(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return explain(path, atomicfile.Write(path, perm, write))
}

// writeNew is writeAtomic for a file that must not exist: of several writers
// one wins, the others get fs.ErrExist.
func writeNew(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return explain(path, atomicfile.New(path, perm, write))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// remove removes a file that may be missing.
func remove(path string) error {
	if !exists(path) {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return explain(path, err)
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
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
		if err == nil && entry.Type().IsRegular() && atomicfile.Leftover(entry.Name()) {
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

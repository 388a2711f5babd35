package run

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A checkpoint file is a line that gives the format and the step, the state as
// the experiment wrote it, and the SHA-256 of both: a file that matches it is
// exactly what was saved.
const (
	checkpointHeader = "molehill checkpoint 1 step %d\n"
	checkpointPrefix = "checkpoint-"
	checkpointName   = checkpointPrefix + "%012d"
	checkpointGlob   = checkpointPrefix + "????????????"
)

// checkpoint is one state to go on from.
type checkpoint struct {
	path  string
	step  int
	start int64 // of the state in the file, in bytes
	size  int64 // of the state, in bytes
}

// writeCheckpoint saves a state durably under its step.
func writeCheckpoint(dir string, step int, save func(io.Writer) error) error {
	path := filepath.Join(dir, fmt.Sprintf(checkpointName, step))
	return writeAtomic(path, 0o600, func(w io.Writer) error {
		sum := sha256.New()
		both := io.MultiWriter(w, sum)
		if _, err := fmt.Fprintf(both, checkpointHeader, step); err != nil {
			return err
		}
		if err := save(both); err != nil {
			return err
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
}

// damagedError says of a checkpoint that it is not what was saved. Other errors are of
// reading it, and what cannot be read now may be sound.
type damagedError struct{ error }

func damaged(format string, args ...any) error {
	return damagedError{fmt.Errorf("run: "+format, args...)}
}

// unlessShort is an error of reading, or of a file that has become shorter meanwhile.
func unlessShort(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("%s is cut off: %w", path, err)
	}
	return err
}

// readCheckpoint verifies the file at path.
func readCheckpoint(path string) (checkpoint, error) {
	c := checkpoint{path: path}
	step, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(path), checkpointPrefix), 10, 62)
	if err != nil {
		return c, damaged("%s is no checkpoint's name: %w", path, err)
	}
	c.step = int(step)
	header := fmt.Sprintf(checkpointHeader, c.step)
	file, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return c, err
	}
	c.start = int64(len(header))
	c.size = info.Size() - c.start - sha256.Size
	if c.size < 0 {
		return c, damaged("%s is cut off: it has %d bytes, even an empty checkpoint has %d", path, info.Size(), c.start+sha256.Size)
	}
	found := make([]byte, len(header))
	sum := sha256.New()
	both := io.TeeReader(file, sum)
	if _, err := io.ReadFull(both, found); err != nil {
		return c, unlessShort(path, err)
	}
	if string(found) != header {
		return c, damaged("%s: expected it to begin with %q, found %q", path, header, found)
	}
	if _, err := io.CopyN(io.Discard, both, c.size); err != nil {
		return c, unlessShort(path, err)
	}
	trailer, err := io.ReadAll(file)
	if err != nil {
		return c, err
	}
	if !bytes.Equal(trailer, sum.Sum(nil)) {
		return c, damaged("%s is damaged: its SHA-256 does not match", path)
	}
	return c, nil
}

// load hands the state to the experiment.
func (c checkpoint) load(load func(step int, r io.Reader) error) error {
	file, err := os.Open(c.path)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer file.Close()
	state := io.NewSectionReader(file, c.start, c.size)
	if err := load(c.step, bufio.NewReaderSize(state, 1<<16)); err != nil {
		return fmt.Errorf("run: restoring %s, which is as it was saved: %w; if the experiment changed since, its version must change, too", c.path, err)
	}
	return nil
}

// checkpoints returns the paths of all checkpoints in dir, newest first.
func checkpoints(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if match, _ := filepath.Match(checkpointGlob, entry.Name()); match {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	slices.Reverse(paths) // the names have the order of the steps
	return paths, nil
}

// newestCheckpoint returns the newest sound checkpoint, nil if there is none.
// Damaged newer ones are set aside under another name: they must neither be
// restored nor count as one of the two to keep.
func newestCheckpoint(dir string) (*checkpoint, error) {
	paths, err := checkpoints(dir)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	for _, path := range paths {
		c, err := readCheckpoint(path)
		if err == nil {
			return &c, nil
		}
		if _, ok := errors.AsType[damagedError](err); !ok {
			return nil, fmt.Errorf("run: checkpoint %s cannot be read: %w; make it readable and start the run again, or remove the file to go on from an older one", path, err)
		}
		if err := os.Rename(path, path+".damaged"); err != nil {
			return nil, explain(path, err)
		}
	}
	return nil, nil
}

// keptCheckpoints is two: should the disk lose the newest, one step back is
// still there.
const keptCheckpoints = 2

// pruneCheckpoints removes all but the newest checkpoints.
func pruneCheckpoints(dir string) error {
	paths, err := checkpoints(dir)
	if err != nil || len(paths) <= keptCheckpoints {
		return err
	}
	var errs []error
	for _, path := range paths[keptCheckpoints:] {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// removeCheckpoints removes all of them, damaged ones too, when there is nothing left to go
// on to.
func removeCheckpoints(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), checkpointPrefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

package own

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"molehill/pkg/run"
)

// folder reports whether images are to be written to a folder.
func (s *synthesis) folder() bool { return filepath.Ext(s.out) == "" }

// within reports whether a folder is another, or lies in it, whatever links lead there.
func within(folder, path string) bool {
	outer, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	inner, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if outer, err = filepath.Abs(outer); err != nil {
		return false
	}
	if inner, err = filepath.Abs(inner); err != nil {
		return false
	}
	inside, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(inside)
}

// unzipWhole unpacks an artefact into a folder, which is there whole or not at all.
func unzipWhole(r *run.Run, artefact, folder string) error {
	file, err := r.Artefact(artefact)
	if err != nil {
		return err
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return errors.Join(fmt.Errorf("%s of %s cannot be read in parts", artefact, r.ID), file.Close())
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".molehill-*")
	if err == nil {
		if err = unzip(at, made); err == nil {
			err = os.Chmod(made, 0o755)
		}
		if err == nil {
			err = os.Rename(made, folder)
		}
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}
	return errors.Join(err, file.Close())
}

func unzip(from io.ReaderAt, folder string) error {
	size, err := sizeOf(from)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return err
	}
	return os.CopyFS(folder, archive)
}

// sizeOf returns how many bytes a file has.
func sizeOf(from io.ReaderAt) (int64, error) {
	seeker, ok := from.(io.Seeker)
	if !ok {
		return 0, errors.New("a file whose size is not known")
	}
	return seeker.Seek(0, io.SeekEnd)
}

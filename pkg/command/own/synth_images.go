package own

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/experiment/synth/images"
	"molehill/pkg/run"
)

// checkImages finds mistakes that only images can have.
func (s *synthesis) checkImages() error {
	s.out = filepath.Clean(s.out)
	if ending := strings.ToLower(filepath.Ext(s.out)); ending != "" && !slices.Contains(images.Formats, ending) {
		return fmt.Errorf("--out %s ends in %q; expected %s, or no ending for a folder", s.out, ending, strings.Join(images.Formats, ", "))
	}
	for _, read := range []string{s.data, s.test} {
		switch {
		case read == "":
		case within(read, filepath.Dir(s.out)):
			return fmt.Errorf("--out %s lies in %s, which is read; write to another folder", s.out, read)
		case within(s.out, read):
			return fmt.Errorf("--out %s holds %s, which is read; write to another folder", s.out, read)
		}
	}
	if info, err := os.Lstat(s.out); err == nil && (info.IsDir() || s.folder()) {
		return fmt.Errorf("%s is there already, and folders are not replaced; remove it first, or write to another", s.out)
	}
	return nil
}

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

// folder reports whether images are to be written to a folder.
func (s *synthesis) folder() bool { return filepath.Ext(s.out) == "" }

// askForImages adds the settings of images.
func (s *synthesis) askForImages() {
	s.request.Experiment = images.Name
	s.request.Settings["images"] = strconv.Itoa(s.rows)
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

// Package owndata is what the lesson on data of one's own needs beside what it teaches:
// examples to try it on, and looks at tables, images and schemas.
//
//	examples, err := owndata.Examples()
//	data, test := examples.File("people.csv"), examples.File("others.csv")
//	err = examples.People(data, test)
//
// An example is a file or folder that the lesson has written, and that is still as it was.
// All others are somebody's own, however they are called: they are read, and nothing
// replaces them or their schemas.
package owndata

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molehill/pkg/atomicfile"
)

// Folder is where examples are written, and nothing is outside it.
type Folder string

// Examples returns the folder of this user's examples.
func Examples() (Folder, error) {
	cache, err := os.UserCacheDir()
	return Folder(filepath.Join(cache, "molehill", "own-data")), err
}

// File is the path of a file or folder in f.
func (f Folder) File(name string) string { return filepath.Join(string(f), name) }

// lacks reports whether path is in f and nothing is there.
func (f Folder) lacks(path string) bool {
	_, err := os.Lstat(path)
	return filepath.Dir(path) == filepath.Clean(string(f)) && errors.Is(err, fs.ErrNotExist)
}

// write writes an example, if f lacks it.
func (f Folder) write(path, text string) error {
	if !f.lacks(path) {
		return nil
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := mark(path, fmt.Sprintf("%x", sha256.Sum256([]byte(text)))); err != nil {
		return err
	}
	return atomicfile.New(path, 0o600, atomicfile.Content([]byte(text)))
}

// markOf is the file that says of an example what it was when it was written.
func markOf(path string) string { return path + ".example" }

// mark says that what is going to be at path is an example if it has this digest. It comes
// first: what is there and is not marked is somebody's own.
func mark(path, sum string) error { return os.WriteFile(markOf(path), []byte(sum), 0o600) }

// IsExample reports whether a file or folder is an example.
func IsExample(path string) bool {
	mark, err := os.ReadFile(markOf(path))
	if err != nil {
		return false
	}
	sum, err := digest(path)
	return err == nil && string(mark) == sum
}

// digest is that of a file's content, or of the names and contents in a folder.
func digest(path string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(at)
		if at != path {
			fmt.Fprintf(sum, "%s %d\n", strings.TrimPrefix(at, path), len(content))
		}
		sum.Write(content)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// HeldOut is the path of the rows to test on: test, or "" for none where it is an example
// and data are not, as its rows are of other people.
func HeldOut(test, data string) string {
	if IsExample(test) && !IsExample(data) {
		return ""
	}
	return test
}

// Confirmed reads the schema of somebody's own data from the file at path, to which it
// first writes the draft if nothing is there. Until somebody has corrected and confirmed
// the schema it is an error that says so.
func Confirmed[S interface {
	Encode(to io.Writer) error
	Confirmed() error
}](path string, draft S, read func(path string) (S, error)) (S, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := atomicfile.New(path, 0o600, draft.Encode); err != nil {
			return draft, err
		}
	}
	s, err := read(path)
	if err == nil {
		if err = s.Confirmed(); err != nil {
			err = fmt.Errorf("look at the schema in %s: %w", path, err)
		}
	}
	return s, err
}

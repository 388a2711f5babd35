// Package celeba reads CelebA (Liu, Luo, Wang & Tang 2015): aligned photographs of faces, cut to their
// middle square and scaled to 64×64 pixels, as in Sebag et al. (2025), C.1.
//
// They are pictures of real people, for non-commercial research only. Nothing
// here copies them anywhere but into the cache of the user who has them.
package celeba

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Side is the height and width of the images read, in pixels, and Dim the
// number of values of one: rows of pixels of red, green and blue.
const (
	Side = 64
	Dim  = Side * Side * 3
)

// Layout is how a copy of CelebA is kept.
type Layout struct {
	Name          string
	Images        string // folder of the images
	Width, Height int    // of each, in pixels
}

// The layouts that are read: the original, and a sample of half its side.
var (
	Original = Layout{"the original", "img_align_celeba", 178, 218}
	HalfSize = Layout{"the half-size sample", "img_89x109", 89, 109}
)

// The tables beside the images.
const (
	attributesFile = "list_attr_celeba.txt"
	partitionFile  = "list_eval_partition.txt"
)

// Set is a copy of CelebA.
type Set struct {
	Folder      string
	Layout      Layout
	Train, Test []string // names of image files
}

// Error says what is wrong with a file.
type Error struct {
	File     string
	Expected string
	Found    string
	Do       string // what to do about it
	Err      error  // the cause, or nil
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s; %s", e.File, e.Expected, e.Found, e.Do)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// replace is what to do about a file that is not as it was published.
const replace = "replace it by a fresh copy"

// Present tells which layout a folder has.
func Present(folder string) (Layout, bool) {
	for _, layout := range []Layout{Original, HalfSize} {
		if info, err := os.Stat(filepath.Join(folder, layout.Images)); err == nil && info.IsDir() {
			return layout, true
		}
	}
	return Layout{}, false
}

// Open finds out what a folder holds. The original is split as its
// list_eval_partition.txt says, without the validation images. The sample, all
// of which are training images there, is split by number: the first four fifths
// for training. A folder that holds neither gives an error that is
// fs.ErrNotExist.
func Open(folder string) (*Set, error) {
	layout, ok := Present(folder)
	if !ok {
		return nil, &Error{File: folder, Expected: "a folder " + Original.Images + " or " + HalfSize.Images, Found: "neither",
			Do: "put the images there", Err: fs.ErrNotExist}
	}
	s := &Set{Folder: folder, Layout: layout}
	if layout == Original {
		return s, s.partition()
	}
	return s, s.byNumber()
}

// imageName is the form of every image's name, which also keeps a table from
// naming files elsewhere.
var imageName = regexp.MustCompile(`^[0-9]{6}\.jpg$`)

// byNumber splits the images of the folder.
func (s *Set) byNumber() error {
	folder := filepath.Join(s.Folder, s.Layout.Images)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		if imageName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	if len(names) < 5 {
		return &Error{File: folder, Expected: "at least 5 images called 000001.jpg and so on", Found: fmt.Sprint(len(names)), Do: "put the images there"}
	}
	slices.Sort(names)
	first := len(names) * 4 / 5
	s.Train, s.Test = names[:first], names[first:]
	return nil
}

// table opens one of the tables.
func (s *Set) table(name string) (*os.File, error) {
	path := filepath.Join(s.Folder, name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: path, Expected: "the table that goes with " + s.Layout.Images, Found: "no such file",
			Do: "put CelebA's " + name + " there", Err: err}
	}
	return file, err
}

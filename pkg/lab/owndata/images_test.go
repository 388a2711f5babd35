package owndata

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/pictures"
)

// stripes are images of 2×2 pixels, of the classes a and b in turn.
func stripes(n int) *dataset.Dataset {
	d := &dataset.Dataset{Name: "stripes", Height: 2, Width: 2, Channels: 1, Classes: []string{"a", "b"}}
	for i := range n {
		d.X, d.Labels = append(d.X, 0, 0.2, 0.4, float32(i)/10), append(d.Labels, i%2)
	}
	return d
}

func TestImagesAreAFolderWithSubfolders(t *testing.T) {
	f := Folder(t.TempDir())
	path := f.File("photos")
	if err := f.Images(stripes(6), path); err != nil || !IsExample(path) {
		t.Fatalf("no example was written, %v", err)
	}
	s, err := pictures.Draft(t.Context(), "photos", path)
	if err != nil || !slices.Equal(s.Names(), []string{"a", "b"}) || s.Images.Shape != (pictures.Shape{Height: 2, Width: 2, Channels: 1}) {
		t.Fatalf("drafted as %+v, %v", s, err)
	}
	source, err := pictures.Open(path, s)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 4)
	if class, err := source.Picture(x, 5); err != nil || source.Len() != 6 || class != 1 || !slices.Equal(x, []float32{0, 0.2, 0.4, x[3]}) {
		t.Errorf("%d images, the last is %v of class %d, %v", source.Len(), x, class, err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	more := f.File("photos/a/mine.png")
	leave(t, more, "mine")
	if IsExample(path) {
		t.Error("a folder to which somebody has added an image is an example")
	}
	if err := f.Images(stripes(2), path); err != nil {
		t.Error(err)
	}
	holds(t, more, "mine")
	elsewhere := filepath.Join(t.TempDir(), "photos")
	if err := f.Images(stripes(2), elsewhere); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("images were written to a folder of somebody's own, %v", err)
	}
}

// What was written by half is written again, and is never taken for the whole.
func TestHalfAFolderIsNone(t *testing.T) {
	f := Folder(t.TempDir())
	leave(t, f.File("photos.half"), "")
	if err := f.Images(stripes(2), f.File("photos")); err != nil || !IsExample(f.File("photos")) {
		t.Error(err)
	}
	for name, d := range map[string]*dataset.Dataset{
		"colour":     {Name: "c", Height: 1, Width: 1, Channels: 3, X: []float32{0, 0, 0}, Labels: []int{0}, Classes: []string{"a"}},
		"unlabelled": {Name: "u", Height: 1, Width: 1, Channels: 1, X: []float32{0}},
		"nothing":    {Name: "n", Height: 1, Width: 1, Channels: 1},
	} {
		if err := f.Images(d, f.File(name)); err == nil || !f.lacks(f.File(name)) {
			t.Errorf("%s: a folder was made of it, %v", name, err)
		}
	}
}

// Each row has a class: images that were made, a white gap, and others; and white where
// there are no more.
func TestImagesStandBesideOthersOfTheirClass(t *testing.T) {
	made, others := stripes(3), stripes(6)
	grid := Beside(made, others, 2)
	white := []float32{1, 1, 1, 1}
	want := slices.Concat(
		made.Row(0), made.Row(2), white, others.Row(0), others.Row(2),
		made.Row(1), white, white, others.Row(1), others.Row(3))
	if !slices.Equal(grid.X, want) || grid.Cols != 5 || !slices.Equal(grid.RowLabels, made.Classes) {
		t.Errorf("%+v, want %v", grid, want)
	}
	if err := grid.PNG(io.Discard); err != nil {
		t.Error(err)
	}
	made.Labels = nil
	if grid = Beside(made, others, 1); !slices.Equal(grid.X[:8], slices.Concat(white, white)) {
		t.Errorf("%v", grid.X)
	}
}

// An example that cannot be marked as one is not written: it would pass for somebody's own.
func TestNoExampleIsWithoutItsMark(t *testing.T) {
	f := Folder(t.TempDir())
	for name, write := range map[string]func(path string) error{
		"people.csv": func(path string) error { return f.write(path, "a\n1\n") },
		"photos":     func(path string) error { return f.Images(stripes(2), path) },
	} {
		path := f.File(name)
		if err := os.Mkdir(markOf(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(path); err == nil || !f.lacks(path) {
			t.Errorf("%s is written without a mark, %v", name, err)
		}
		if err := os.Remove(markOf(path)); err != nil {
			t.Fatal(err)
		}
		if err := write(path); err != nil || !IsExample(path) {
			t.Errorf("%s is no example, %v", name, err)
		}
	}
}

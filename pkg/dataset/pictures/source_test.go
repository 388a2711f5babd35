package pictures

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func schemaOf(shape Shape, classes ...string) *Schema {
	s := &Schema{Name: "photos", Images: Images{Shape: shape, Fit: Crop, Public: true}}
	if classes != nil {
		s.Classes = &Classes{Names: classes, Public: true}
	}
	return s
}

// put writes files below dir.
func put(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func asPNG(img image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// shade is an image of one level of grey.
func shade(width, height int, level byte) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = level
	}
	return img
}

// read returns all records of a source.
func read(t *testing.T, path string, s *Schema) (images []float32, classes []int, names []string, found []Disagreement) {
	t.Helper()
	source, err := Open(path, s)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	found, err = Each(t.Context(), source, s.Images.Dim(), 3, func(first int, x []float32, c []int) error {
		if first != len(classes) || len(x) != len(c)*s.Images.Dim() {
			t.Fatalf("%d images of %d values at %d, want them at %d", len(c), len(x), first, len(classes))
		}
		images, classes = append(images, x...), append(classes, c...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range source.Len() {
		names = append(names, source.Name(i))
	}
	return images, classes, names, found
}

func TestWhatIsNoSourceIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string][]byte{"readme.txt": nil, "x.csv": nil, "broken.npz": []byte("PK")})
	for path, want := range map[string]string{dir: "no images", filepath.Join(dir, "x.csv"): "expected a folder", filepath.Join(dir, "none"): "no such file", filepath.Join(dir, "broken.npz"): "whole .npz"} {
		if _, err := Open(path, schemaOf(Shape{2, 2, 1}, "a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, found %v", path, want, err)
		}
	}
}

func TestSumsTellRecordsApart(t *testing.T) {
	s := schemaOf(Shape{2, 2, 1}, "a", "b")
	s.Images.White = 255
	open := func(path string) string {
		source, err := Open(path, s)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		got, err := source.Sum(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	sum := func(files map[string][]byte) string {
		dir := t.TempDir()
		put(t, dir, files)
		return open(dir)
	}
	one, other := asPNG(shade(2, 2, 1)), asPNG(shade(2, 2, 2))
	all := map[string]bool{}
	for _, files := range []map[string][]byte{
		{"a/1.png": one, "b/2.png": other}, {"a/1.png": other, "b/2.png": one}, {"a/1.png": one, "a/2.png": other}, {"a/1.png": one}, {"a/1.png": one, "b/2.png": nil},
	} {
		if got := sum(files); all[got] || sum(files) != got {
			t.Errorf("%d files: the sum is that of others, or of none", len(files))
		} else {
			all[got] = true
		}
	}
	// Those of archives: by their values, types, shapes and labels.
	bytesOf := func(shape string, values ...byte) []byte { return npyOf("|u1", shape, values) }
	for _, arrays := range []map[string][]byte{
		{"x": bytesOf("2, 2, 2", 1, 2, 3, 4, 5, 6, 7, 8), "y": bytesOf("2,", 0, 1)}, {"x": bytesOf("2, 2, 2", 1, 2, 3, 4, 5, 6, 7, 9), "y": bytesOf("2,", 0, 1)},
		{"x": bytesOf("2, 2, 2", 1, 2, 3, 4, 5, 6, 7, 8), "y": bytesOf("2,", 1, 0)}, {"x": bytesOf("2, 1, 4", 1, 2, 3, 4, 5, 6, 7, 8), "y": bytesOf("2,", 0, 1)},
		{"x": npyOf("|i1", "2, 2, 2", []byte{1, 2, 3, 4, 5, 6, 7, 8}), "y": bytesOf("2,", 0, 1)},
	} {
		if got := open(archiveOf(t, arrays)); all[got] || open(archiveOf(t, arrays)) != got {
			t.Errorf("an archive of %q: the sum is that of others, or of none", arrays)
		} else {
			all[got] = true
		}
	}
}

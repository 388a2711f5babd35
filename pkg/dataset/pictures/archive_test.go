package pictures

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// archiveOf writes a NumPy archive of arrays: header fields, then bytes.
func archiveOf(t *testing.T, arrays map[string][]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	for name, content := range arrays {
		entry, err := w.Create(name + ".npy")
		if err == nil {
			_, err = entry.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func npyOf(kind, shape string, data any) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", kind, shape)
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	out, err := binary.Append(append(out, text...), binary.LittleEndian, data)
	if err != nil {
		panic(err)
	}
	return out
}

func whiteAt(value float64, s *Schema) *Schema {
	s.Images.White = value
	return s
}

// NumPy gives an array the widest type of its images: one of them must not change
// what others become.
func TestOneImageDoesNotScaleOthers(t *testing.T) {
	s := whiteAt(255, schemaOf(Shape{2, 2, 1}))
	narrow, _, _, _ := read(t, archiveOf(t, map[string][]byte{"x": npyOf("|u1", "2, 2, 2", []byte{0, 51, 102, 255, 9, 9, 9, 9})}), s)
	for kind, data := range map[string]any{
		"<u2": []uint16{0, 51, 102, 255, 300, 9, 9, 9},
		"<f8": []float64{0, 51, 102, 255, 0.5, 9, 9, 9},
	} {
		wide, _, _, _ := read(t, archiveOf(t, map[string][]byte{"x": npyOf(kind, "2, 2, 2", data)}), s)
		if !slices.Equal(wide[:4], narrow[:4]) {
			t.Errorf("%s: the first image became %v, and %v without the second", kind, wide[:4], narrow[:4])
		}
	}
	if _, err := Open(archiveOf(t, map[string][]byte{"x": npyOf("|u1", "1, 2, 2", make([]byte, 4))}), schemaOf(Shape{2, 2, 1})); err == nil || !strings.Contains(err.Error(), `set "white"`) {
		t.Error("no word on which value is white:", err)
	}
	drafted, err := Draft(t.Context(), "x", archiveOf(t, map[string][]byte{"x": npyOf("<u2", "1, 2, 2", make([]uint16, 4))}))
	if err != nil || drafted.Images.White != 65535 || !strings.Contains(drafted.Parts()[0].Says, "65535") {
		t.Error(drafted, err)
	}
}

func TestAnArchiveIsRead(t *testing.T) {
	x := npyOf("|u1", "3, 2, 2", []byte{0, 51, 102, 255, 1, 1, 1, 1, 2, 2, 2, 2})
	path := archiveOf(t, map[string][]byte{"x": x, "y": npyOf("<i8", "3,", []int64{7, 3, 9})})
	images, classes, _, found := read(t, path, whiteAt(255, schemaOf(Shape{2, 2, 1}, "3", "7")))
	if !slices.Equal(classes, []int{1, 0, 0}) || images[1] != 0.2 || images[3] != 1 || images[8] != grey || len(found) != 1 || found[0].What != errClass.Error() {
		t.Error(images, classes, found)
	}
	// Names that are no numbers stand for their places.
	path = archiveOf(t, map[string][]byte{"x": npyOf("<f4", "2, 2, 2, 3", append([]float32{0, 0.5, 1, 2, -1, float32(math.NaN())}, make([]float32, 18)...)), "y": npyOf("|u1", "2,", []byte{1, 0})})
	images, classes, _, found = read(t, path, whiteAt(1, schemaOf(Shape{2, 2, 3}, "cat", "dog")))
	if !slices.Equal(classes, []int{1, 0}) || !slices.Equal(images[:6], []float32{0, 0.5, 1, 1, 0, 0}) || len(found) != 1 || found[0].What != errRange.Error() || found[0].Became != asClamped {
		t.Error(images, classes, found)
	}
	// Another size is fit.
	if images, _, _, _ := read(t, archiveOf(t, map[string][]byte{"x": npyOf("<u2", "1, 4, 4", slices.Repeat([]uint16{65535}, 16))}), whiteAt(65535, schemaOf(Shape{2, 2, 3}))); !slices.Equal(images, slices.Repeat([]float32{1}, 12)) {
		t.Error(images)
	}
	for want, arrays := range map[string]map[string][]byte{
		"no array x":            {"z": x},
		"no array y":            {"x": x},
		"expected [3]":          {"x": x, "y": npyOf("<i8", "2,", []int64{1, 2})},
		"expected [images, hei": {"x": npyOf("|u1", "4,", []byte{1, 2, 3, 4})},
		"1 or 3 channels":       {"x": npyOf("|u1", "1, 1, 1, 4", []byte{1, 2, 3, 4})},
		"needs 400000000 bytes": {"x": npyOf("|u1", "4, 10000, 10000", []byte{1})},
		"C order":               {"x": []byte(strings.NewReplacer("False", "True", ", }", ",  }").Replace(string(x)))}, // of the same length
		"of type":               {"x": npyOf("<c8", "1, 1, 1", []float32{1, 1})},
	} {
		if _, err := Open(archiveOf(t, arrays), whiteAt(255, schemaOf(Shape{2, 2, 1}, "3", "7"))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

// A label that is no whole number names no class, and moves no other's: the draft leaves it
// out. Names of which some are numbers and some are not say nothing about labels.
func TestLabelsAreNumbersOrPlaces(t *testing.T) {
	images := npyOf("|u1", "4, 2, 2", make([]byte, 16))
	path := archiveOf(t, map[string][]byte{"x": images, "y": npyOf("<f8", "4,", []float64{3, math.NaN(), 0.5, 1})})
	s, err := Draft(t.Context(), "x", path)
	if err != nil || !slices.Equal(s.Classes.Names, []string{"1", "3"}) {
		t.Fatalf("%+v, %v", s.Classes, err)
	}
	a, err := openArchive(path, s)
	if err != nil || !slices.Equal(a.classes, []int{1, -1, -1, 0}) {
		t.Errorf("classes %v, %v", a.classes, err)
	}
	s.Classes.Names = []string{"1", "3", "unknown"}
	if _, err := openArchive(path, s); err == nil || !strings.Contains(err.Error(), `"unknown" is none`) {
		t.Error(err)
	}
	none := archiveOf(t, map[string][]byte{"x": images, "y": npyOf("<f8", "4,", []float64{0.5, 0.5, math.Inf(1), math.NaN()})})
	if _, err := Draft(t.Context(), "x", none); err == nil || !strings.Contains(err.Error(), "no whole number") {
		t.Error(err)
	}
}

package pictures

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
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

// header is a PNG that says how large it is, and has nothing else.
func header(width, height uint32) []byte {
	whole := asPNG(shade(1, 1, 0))
	end := bytes.Index(whole, []byte("IDAT")) - 4
	out := slices.Clone(whole[:end])
	binary.BigEndian.PutUint32(out[16:], width)
	binary.BigEndian.PutUint32(out[20:], height)
	binary.BigEndian.PutUint32(out[29:], crc(out[12:29]))
	return out
}

func TestAFolderIsReadWhateverItHolds(t *testing.T) {
	dir := t.TempDir()
	whole := asPNG(shade(4, 4, 51))
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, shade(8, 8, 102), nil); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string][]byte{
		"cat/a.png": whole, "dog/b.JPG": photo.Bytes(),
		"cat/truncated.png": whole[:len(whole)-20], "cat/text.png": []byte("hello"), "cat/empty.png": nil,
		"dog/huge.png": header(60_000, 60_000), "dog/bomb.png": header(5000, 5000), "cat/thin.png": header(1, 20_000),
		"dog/long.png": make([]byte, MaxBytes+1),
		"wolf/w.png":   whole, "root.png": whole,
		"cat/notes.txt": nil, "cat/._a.png": nil, "Thumbs.db": nil, "cat/deep/x.png": whole, ".git/x.png": whole,
	})
	outside := filepath.Join(t.TempDir(), "secret.png")
	if err := os.WriteFile(outside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"cat/link.png": outside, "dog/linked": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images, classes, names, found := read(t, dir, schemaOf(Shape{4, 4, 1}, "cat", "dog"))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 5*MaxBytes { // the long file is read, in a growing buffer
		t.Errorf("it took %d MB", took>>20)
	}
	want := []string{"cat/a.png", "dog/b.JPG", "dog/bomb.png", "cat/empty.png", "dog/huge.png", "dog/long.png", "root.png", "cat/text.png", "cat/thin.png", "cat/truncated.png", "wolf/w.png"}
	if !slices.Equal(names, want) {
		t.Fatalf("records are %v, want %v", names, want)
	}
	for i, name := range names {
		level, class := float32(grey), 0
		switch name {
		case "cat/a.png":
			level = 0.2
		case "dog/b.JPG":
			level, class = 0.4, 1
		}
		if classes[i] != class {
			t.Errorf("%s is of class %d, want %d", name, classes[i], class)
		}
		for _, v := range images[16*i : 16*(i+1)] {
			if math.Abs(float64(v-level)) > 1e-6 {
				t.Errorf("%s has a pixel of %v, want %v", name, v, level)
				break
			}
		}
	}
	counts := map[string]int{}
	for _, d := range found {
		counts[d.What] = d.Count
	}
	expected := map[string]int{errImage.Error(): 4, errPixels.Error(): 2, errBytes.Error(): 1, errClass.Error(): 2, leftFiles: 4, leftLinks: 2, leftDeep: 1}
	if !reflect.DeepEqual(counts, expected) {
		t.Errorf("the keeper is told %v, want %v", counts, expected)
	}

	// Without classes the folder's own files alone are records.
	if _, _, names, _ := read(t, dir, schemaOf(Shape{4, 4, 1})); !slices.Equal(names, []string{"root.png"}) {
		t.Errorf("without classes records are %v", names)
	}
}

func TestAFileThatCannotBeReadStopsNothing(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser reads all files")
	}
	dir := t.TempDir()
	put(t, dir, map[string][]byte{"a.png": asPNG(shade(2, 2, 255)), "b.png": nil})
	if err := os.Chmod(filepath.Join(dir, "b.png"), 0); err != nil {
		t.Fatal(err)
	}
	if images, _, _, found := read(t, dir, schemaOf(Shape{2, 2, 1})); images[0] != 1 || images[4] != grey || len(found) != 1 {
		t.Error(images, found)
	}
}

// A left half of red and a right half of blue, of half the height.
func halves() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(10, 20, 18, 24))
	for y := 20; y < 24; y++ {
		for x := 10; x < 18; x++ {
			c := color.NRGBA{255, 0, 0, 255}
			if x >= 14 {
				c = color.NRGBA{0, 0, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func TestImagesAreFitByARule(t *testing.T) {
	red, blue, black := [3]float32{1, 0, 0}, [3]float32{0, 0, 1}, [3]float32{}
	for fit, want := range map[Fit]map[image.Point][3]float32{
		Crop:    {{0, 0}: red, {0, 3}: red, {3, 0}: blue, {3, 3}: blue},
		Stretch: {{0, 0}: red, {0, 3}: red, {3, 0}: blue, {3, 3}: blue},
		Pad:     {{0, 0}: black, {3, 0}: black, {0, 1}: red, {3, 2}: blue, {0, 3}: black},
	} {
		s := Images{Shape: Shape{4, 4, 3}, Fit: fit}
		dst := make([]float32, s.Dim())
		s.fit(dst, halves())
		for at, c := range want {
			if got := [3]float32(dst[3*(4*at.Y+at.X):]); got != c {
				t.Errorf("%s: the pixel at %v is %v, want %v", fit, at, got, c)
			}
		}
	}
	// Of a lasting size nothing is resampled: every level comes out as it went in.
	ramp := image.NewGray(image.Rect(0, 0, 256, 1))
	for i := range ramp.Pix {
		ramp.Pix[i] = byte(i)
	}
	s := Images{Shape: Shape{1, 256, 1}, Fit: Crop}
	dst := make([]float32, 256)
	s.fit(dst, ramp)
	for i, v := range dst {
		if v != float32(i)/255 {
			t.Fatalf("level %d became %v", i, 255*v)
		}
	}
	// What is transparent is white; extreme shapes are no slip.
	s = Images{Shape: Shape{2, 2, 1}, Fit: Pad}
	s.fit(dst[:4], image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	if dst[0] != 1 {
		t.Error("transparent pixels became", dst[0])
	}
	for _, fit := range Fits {
		s.Fit = fit
		s.fit(dst[:4], shade(1, 500, 255))
		s.fit(dst[:4], shade(500, 1, 255))
	}
}

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

func TestScansAreCounted(t *testing.T) {
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, shade(40, 30, 77), nil); err != nil {
		t.Fatal(err)
	}
	segment := func(marker byte, content string) string {
		return string([]byte{0xff, marker, byte((len(content) + 2) >> 8), byte(len(content) + 2)}) + content
	}
	scan := segment(startOfScan, "\x01\x01\x00\x00\x00\x00") + "a\xff\x00b\xff\xd0c"
	for data, want := range map[string]int{
		plain.String(): 1,
		plain.String() + strings.Repeat("\xff\xda", 200):                                1, // behind its end
		"\xff\xd8" + segment(0xe1, strings.Repeat("\xff\xda", 200)) + scan + "\xff\xd9": 1, // in its header
		"\xff\xd8" + strings.Repeat(scan, 7) + "\xff\xff" + scan[1:] + "\xff\xd9":       8,
		"\xff\xd8" + strings.Repeat(scan, 7):                                            7,
		"\xff\xd8\xff":                                                                  0,
		"\xff\xd8\xff\xda":                                                              0,
		"\x89PNG\xff\xda\xff":                                                           0,
	} {
		if got := scans([]byte(data)); got != want {
			t.Errorf("%d scans in %.20q of %d bytes; want %d", got, data, len(data), want)
		}
	}
	s := Images{Shape: Shape{4, 4, 1}, Fit: Crop}
	end := bytes.LastIndex(plain.Bytes(), []byte{0xff, endOfImage})
	if err := s.read(make([]float32, 16), strings.NewReader(plain.String())); err != nil {
		t.Error(err)
	}
	if err := s.read(make([]float32, 16), strings.NewReader(plain.String()[:end]+strings.Repeat(scan, maxScans)+"\xff\xd9")); err != errImage {
		t.Errorf("a JPEG of %d scans: %v", maxScans+1, err)
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
	if !slices.Equal(classes, []int{1, 0}) || !slices.Equal(images[:6], []float32{0, 0.5, 1, 1, 0, 0}) || len(found) != 1 || found[0].What != errRange.Error() {
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
		"C order":               {"x": bytes.Replace(x, []byte("False"), []byte("True"), 1)},
		"of type":               {"x": npyOf("<c8", "1, 1, 1", []float32{1, 1})},
	} {
		if _, err := Open(archiveOf(t, arrays), whiteAt(255, schemaOf(Shape{2, 2, 1}, "3", "7"))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
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

func TestWhatIsWrittenIsRead(t *testing.T) {
	levels := []float32{0, 0.2, 0.4, 0.6, 0.8, 1}
	for _, channels := range []int{1, 3} {
		for _, classes := range [][]string{nil, {"4", "12"}, {"Äpfel", "pears"}} {
			s := schemaOf(Shape{2, 3, channels}, classes...)
			labels, drawn := []int{0, 1, 1, 0}, []float32(nil)
			draw := func(dst []float32, i int) error {
				for k := range dst {
					dst[k] = levels[(i+k)%len(levels)]
				}
				return nil
			}
			for i := range labels {
				dst := make([]float32, s.Images.Dim())
				if err := draw(dst, i); err != nil {
					t.Fatal(err)
				}
				drawn = append(drawn, dst...)
			}
			if classes == nil {
				labels = []int{0, 0, 0, 0}
			}
			check := func(path string, order []int) {
				t.Helper()
				images, got, _, found := read(t, path, s)
				if found != nil || len(got) != len(labels) {
					t.Fatalf("%v, %v", got, found)
				}
				for to, from := range order {
					if got[to] != labels[from] || !slices.Equal(images[to*s.Images.Dim():(to+1)*s.Images.Dim()], drawn[from*s.Images.Dim():(from+1)*s.Images.Dim()]) {
						t.Errorf("%d channels, classes %v: record %d of %s is another", channels, classes, to, path)
					}
				}
			}
			dir := t.TempDir()
			for name, write := range map[string]func(*os.File) error{
				"x.npz": func(f *os.File) error { return s.WriteNPZ(f, 4, labels, draw) },
				"x.zip": func(f *os.File) error { return s.WriteZip(f, 4, labels, draw) },
			} {
				file, err := os.Create(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := write(file); err != nil {
					t.Fatal(err)
				}
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s.Images.White = 255
			check(filepath.Join(dir, "x.npz"), []int{0, 1, 2, 3})
			unzipped, err := zip.OpenReader(filepath.Join(dir, "x.zip"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(filepath.Join(dir, "folder"), unzipped); err != nil {
				t.Fatal(err)
			}
			if err := unzipped.Close(); err != nil {
				t.Fatal(err)
			}
			order := []int{0, 1, 2, 3} // 00001.png is the first of its class
			if classes != nil {
				order = []int{0, 1, 3, 2}
			}
			if classes != nil && classes[0] > classes[1] {
				order = []int{1, 0, 2, 3}
			}
			check(filepath.Join(dir, "folder"), order)
		}
	}
}

func TestSumsTellRecordsApart(t *testing.T) {
	s := schemaOf(Shape{2, 2, 1}, "a", "b")
	sum := func(files map[string][]byte) string {
		dir := t.TempDir()
		put(t, dir, files)
		source, err := Open(dir, s)
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
}

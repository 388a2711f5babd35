package celeba

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// painted is a JPEG image, drawn by a function of its pixels.
func painted(t *testing.T, width, height int, at func(x, y int) color.Color) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			picture.Set(x, y, at(x, y))
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plain(c color.Color) func(x, y int) color.Color {
	return func(int, int) color.Color { return c }
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// original makes a folder of the original layout: images 1 and 2 for training,
// 3 for validation, 4 for testing, each of its own grey.
func original(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	partition := ""
	attributes := "4\nBald Smiling \n"
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("%06d.jpg", i)
		write(t, filepath.Join(folder, Original.Images, name), painted(t, 178, 218, plain(color.Gray{uint8(50 * i)})))
		partition += fmt.Sprintf("%s %d\n", name, []int{0, 0, 1, 2}[i-1])
		attributes += fmt.Sprintf("%s -1 %2d\n", name, []int{1, -1, 1, 1}[i-1])
	}
	write(t, filepath.Join(folder, partitionFile), []byte(partition))
	write(t, filepath.Join(folder, attributesFile), []byte(attributes))
	return folder
}

func TestOriginalIsSplitByItsTable(t *testing.T) {
	s, err := Open(original(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Layout != Original || !slices.Equal(s.Train, []string{"000001.jpg", "000002.jpg"}) || !slices.Equal(s.Test, []string{"000004.jpg"}) {
		t.Errorf("%+v", s)
	}
	has, err := s.Attribute("Smiling", slices.Concat(s.Test, s.Train))
	if err != nil || !slices.Equal(has, []bool{true, true, false}) {
		t.Errorf("smiling: %v, %v", has, err)
	}
	calls := 0
	pixels, err := s.Pixels(context.Background(), s.names(), func(done int) { calls = max(calls, done) })
	if err != nil || len(pixels) != 3*Dim || calls != 3 {
		t.Fatalf("%d values, %d reported, %v", len(pixels), calls, err)
	}
	for i, level := range []float64{50, 100, 200} {
		for _, v := range pixels[i*Dim : (i+1)*Dim] {
			if !(math.Abs(float64(v)-level) <= 2) {
				t.Fatalf("image %d has a value of %d, painted %v", i, v, level)
			}
		}
	}
}

func TestSampleIsSplitByNumber(t *testing.T) {
	folder := t.TempDir()
	for i := 11; i >= 1; i-- {
		write(t, filepath.Join(folder, HalfSize.Images, fmt.Sprintf("%06d.jpg", i)), nil)
	}
	write(t, filepath.Join(folder, HalfSize.Images, "readme.txt"), nil)
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if s.Layout != HalfSize || len(s.Train) != 8 || s.Train[0] != "000001.jpg" || !slices.Equal(s.Test, []string{"000009.jpg", "000010.jpg", "000011.jpg"}) {
		t.Errorf("%+v", s)
	}
	// The original wins where both are.
	os.MkdirAll(filepath.Join(folder, Original.Images), 0o755)
	if layout, ok := Present(folder); !ok || layout != Original {
		t.Errorf("%v, %v", layout, ok)
	}
}

// What is cut off is above and below; what is scaled keeps its place and the
// mean of what each pixel covers.
func TestImagesAreTheMiddleSquareAveraged(t *testing.T) {
	for _, layout := range []Layout{Original, HalfSize} {
		margin := (layout.Height - layout.Width) / 2
		folder := t.TempDir()
		write(t, filepath.Join(folder, layout.Images, "000001.jpg"), painted(t, layout.Width, layout.Height, func(x, y int) color.Color {
			if y < margin || y >= margin+layout.Width {
				return color.RGBA{255, 0, 0, 255}
			}
			return color.RGBA{0, uint8(255 * x / layout.Width), uint8(255 * (y - margin) / layout.Width), 255}
		}))
		write(t, filepath.Join(folder, layout.Images, "000002.jpg"), painted(t, layout.Width, layout.Height, func(x, y int) color.Color {
			return color.Gray{uint8(255 * ((x + y) % 2))}
		}))
		s := &Set{Folder: folder, Layout: layout}
		pixels, err := s.Pixels(context.Background(), []string{"000001.jpg", "000002.jpg"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for y := range Side {
			for x := range Side {
				got := pixels[3*(y*Side+x):][:3]
				want := [3]float64{0, 255 * (float64(x) + 0.5) / Side, 255 * (float64(y) + 0.5) / Side}
				for c := range 3 {
					border := y < 4 || y >= Side-4 // JPEG smears colours over its blocks
					if d := math.Abs(float64(got[c]) - want[c]); !(d <= 8) && !border || !(d <= 160) {
						t.Fatalf("%s: pixel (%d, %d) is %v, painted %.0f", layout.Name, x, y, got, want)
					}
				}
				if v := float64(pixels[Dim+3*(y*Side+x)]); layout == Original && !(math.Abs(v-127.5) <= 40) {
					t.Fatalf("%s: a chequered image has %v at (%d, %d), expected its mean", layout.Name, v, x, y)
				}
			}
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	folder := original(t)
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(folder, Original.Images, "000001.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, Original.Images, "000002.jpg")
	for want, content := range map[string][]byte{
		"found 89×109 pixels":      painted(t, 89, 109, plain(color.Black)),
		"found 3 bytes":            []byte("GIF"),
		"found 0 bytes":            nil,
		"at most 1048576 bytes":    make([]byte, 2<<20),
		"bytes that are none (inv": good[:len(good)/2],
	} {
		write(t, path, content)
		_, err := s.Pixels(context.Background(), s.names(), nil)
		var fault *Error
		if !errors.As(err, &fault) || fault.File != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q of %s", err, want, path)
		}
	}
	os.Remove(path)
	if _, err := s.Pixels(context.Background(), s.names(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing image: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Pixels(ctx, s.Test, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := s.Attribute("Smiling", []string{"999999.jpg"}); err == nil || !strings.Contains(err.Error(), "a row for 999999.jpg") {
		t.Errorf("an image without attributes: %v", err)
	}
	os.Remove(filepath.Join(folder, partitionFile))
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "put CelebA's list_eval_partition.txt there") {
		t.Errorf("without the table: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestBadTablesAreNamed(t *testing.T) {
	for want, table := range map[string]string{
		"line 2, \"000002.jpg 3\"":       "000001.jpg 0\n000002.jpg 3\n",
		"line 1, \"../../x.jpg 0\"":      "../../x.jpg 0\n",
		"each image once":                "000001.jpg 0\n000001.jpg 2\n",
		"for testing, found 1 and 0":     "000001.jpg 0\n",
		"lines of at most 8192 bytes":    strings.Repeat("x", longestLine+1),
		"for testing, found 0 and 0; re": "",
	} {
		if _, _, err := readPartition(strings.NewReader(table), "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want it to say %q", table, err, want)
		}
	}
	for want, table := range map[string]string{
		"found the end after line 0":            "",
		"found Bald, Young; choose":             "2\nBald Young\n",
		"1 or -1 for each of 2 attributes":      "2\nBald Smiling\n000001.jpg -1 0\n",
		"found line 3, \"000001.jpg 1\"":        "2\nBald Smiling\n000001.jpg 1\n",
		"names, found line 1, \"Bald Smiling\"": "Bald Smiling\n",
	} {
		if _, err := readAttribute(strings.NewReader(table), "a", "Smiling"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want it to say %q", table, err, want)
		}
	}
}

// The digest changes with an image, its part and nothing else.
func TestDigestTellsContentsApart(t *testing.T) {
	folder := original(t)
	digest := func() string {
		t.Helper()
		s, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Digest(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := map[string]bool{digest(): true, digest(): true}
	write(t, filepath.Join(folder, attributesFile), nil)
	seen[digest()] = true
	if len(seen) != 1 {
		t.Error("the same images have several digests")
	}
	write(t, filepath.Join(folder, Original.Images, "000001.jpg"), painted(t, 178, 218, plain(color.White)))
	seen[digest()] = true
	write(t, filepath.Join(folder, partitionFile), []byte("000001.jpg 0\n000002.jpg 2\n000004.jpg 2\n"))
	seen[digest()] = true
	if len(seen) != 3 {
		t.Errorf("%d digests of three sets", len(seen))
	}
}

func FuzzTables(f *testing.F) {
	f.Add("2\nBald Smiling\n000001.jpg -1 1\n")
	f.Add("000001.jpg 0\n000002.jpg 2\n")
	f.Fuzz(func(t *testing.T, table string) {
		train, test, err := readPartition(strings.NewReader(table), "p")
		for _, name := range append(train, test...) {
			if filepath.Base(name) != name {
				t.Errorf("an image called %q", name)
			}
		}
		if err == nil && (len(train) == 0 || len(test) == 0) {
			t.Error("an empty part")
		}
		if values, err := readAttribute(strings.NewReader(table), "a", "Smiling"); (values == nil) == (err == nil) && err == nil {
			t.Error("neither values nor an error")
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe0"))
	f.Fuzz(func(t *testing.T, content []byte) {
		picture, err := HalfSize.decode("x.jpg", content)
		if err == nil && (picture.Bounds().Dx() != HalfSize.Width || picture.Bounds().Dy() != HalfSize.Height) {
			t.Errorf("decoded %v", picture.Bounds())
		}
	})
}

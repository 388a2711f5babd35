package pictures

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

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

package images

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"molehill/pkg/dataset/pictures"
)

type steps struct{ atomic.Int32 }

func (s *steps) Step() { s.Add(1) }

// Reading images, which may take long, tells of each of them.
func TestEachImageThatIsReadIsTold(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b.png", "c.png"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = png.Encode(file, image.NewGray(image.Rect(0, 0, 4, 4)))
		}
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
	}
	schema, err := pictures.Draft(t.Context(), "photos", dir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := pictures.Open(dir, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var told steps
	if _, err := pictures.Each(t.Context(), followed{source, &told}, schema.Images.Dim(), 2, func(int, []float32, []int) error { return nil }); err != nil || told.Load() != 3 {
		t.Errorf("told of %d of 3, %v", told.Load(), err)
	}
}

package viz

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata")

// goldenResolution keeps testdata small: one dot for each CSS pixel.
const goldenResolution = 96

// golden compares a figure with testdata/NAME.png.
func golden(t *testing.T, name string, f illustrator) {
	t.Helper()
	got := render(t, f)
	path := filepath.Join("testdata", name+".png")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test ./viz -update and look at the picture", err)
	}
	if err := samePicture(got, want); err != nil {
		seen := filepath.Join(t.ArtifactDir(), name+".png")
		_ = os.WriteFile(seen, got, 0o644)
		t.Errorf("%s: %v; if the new picture (kept with go test -artifacts) is better, run go test ./viz -update", name, err)
	}
}

func render(t *testing.T, f illustrator) []byte {
	t.Helper()
	s, err := compose(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.PNG(&b, goldenResolution); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tolerance is the mean difference, of 255 levels, that one block of the picture may have. Fused
// multiply-adds on other processors move edges by far less; a marker that moves by two pixels changes
// its block by more than 20.
const tolerance = 6

// samePicture compares PNGs block by block: so a small change in a large picture shows.
func samePicture(got, want []byte) error {
	a, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		return err
	}
	b, err := png.Decode(bytes.NewReader(want))
	if err != nil {
		return err
	}
	if a.Bounds() != b.Bounds() {
		return fmt.Errorf("the picture is %v and was %v", a.Bounds().Max, b.Bounds().Max)
	}
	const block = 8
	worst, at := 0.0, image.Point{}
	for y := 0; y < a.Bounds().Dy(); y += block {
		for x := 0; x < a.Bounds().Dx(); x += block {
			sum := 0
			for k := range block * block {
				sum += difference(a, b, x+k%block, y+k/block)
			}
			if mean := float64(sum) / (3 * block * block); mean > worst {
				worst, at = mean, image.Pt(x, y)
			}
		}
	}
	if worst > tolerance {
		return fmt.Errorf("the picture differs by %.1f levels around %v: at most %d are expected", worst, at, tolerance)
	}
	return nil
}

func difference(a, b image.Image, x, y int) (sum int) {
	r, g, bl, _ := a.At(x, y).RGBA()
	r2, g2, b2, _ := b.At(x, y).RGBA()
	for _, d := range []int{int(r>>8) - int(r2>>8), int(g>>8) - int(g2>>8), int(bl>>8) - int(b2>>8)} {
		sum += max(d, -d)
	}
	return sum
}

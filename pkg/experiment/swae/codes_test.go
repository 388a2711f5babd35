package swae

import (
	"bytes"
	"image"
	_ "image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/viz"
)

// checkLooks draws what a finished run, of two numbers a code and ten classes, has left of
// its codes.
func checkLooks(t *testing.T, r *run.Run) {
	t.Helper()
	codes, err := CodesOf(r)
	if err != nil {
		t.Fatal(err)
	}
	if codes.Dim != 2 || len(codes.Table) != 100*3 || !slices.Equal(codes.Classes, strings.Split("0123456789", "")) {
		t.Errorf("%d codes of %d numbers and classes %q", len(codes.Table)/3, codes.Dim, codes.Classes)
	}
	between, err := Interpolations(r)
	if err != nil {
		t.Fatal(err)
	}
	figure, ok := codes.Figure()
	if !ok {
		t.Fatal("codes of two numbers have no figure")
	}
	for _, f := range []viz.Figure{figure, between} {
		var picture bytes.Buffer
		if err := f.PNG(&picture); err != nil {
			t.Error(err)
		}
	}
}

// Every class has a colour and a shape that no other has, all of them are drawn and named,
// and codes that are not finite are left out.
func TestCodesAreColouredByClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := Codes{Dim: 2, Classes: strings.Split("0123456789", ""), Seed: 1}
	for i := range 50 {
		c.Table = append(c.Table, rng.Float32(), rng.Float32(), float32(i%10))
	}
	figure, ok := c.Figure()
	if !ok || len(figure.Cells) != 2 { // and what the colours mean
		t.Fatalf("%d cells", len(figure.Cells))
	}
	var encoded bytes.Buffer
	if err := figure.PNG(&encoded); err != nil {
		t.Fatal(err)
	}
	picture, _, err := image.Decode(&encoded)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint8]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}] = true
		}
	}
	for class, colour := range palette {
		near := false
		for rgb := range seen { // a PNG has 256 colours
			near = near || max(apart(rgb[0], colour.R), apart(rgb[1], colour.G), apart(rgb[2], colour.B)) <= 8
		}
		if !near {
			t.Errorf("nothing has the colour of class %d, %v", class, colour)
		}
		for other := range class {
			if a, b := style(class), style(other); a.Color == b.Color {
				t.Errorf("classes %d and %d look the same", class, other)
			}
		}
	}
	if _, ok := (Codes{Dim: 1, Table: []float32{0.5, 3}}).Figure(); ok {
		t.Error("one coordinate was drawn in the plane")
	}
}

func apart(a, b uint8) uint8 { return max(a, b) - min(a, b) }

// A run from before classes had names has their numbers; a class that is no number is an
// error that says where it stands.
func TestCodesWithoutNames(t *testing.T) {
	for _, c := range []struct {
		class float32
		says  string
	}{{3, ""}, {2.5, "row 1 is of class 2.5"}, {-1, "row 1 is of class -1"}} {
		r := experimenttest.Acquired(t, request(nil))
		if err := r.WriteTable("codes.npy", []float32{0, 0, 1, 0, 0, c.class}, 3); err != nil {
			t.Fatal(err)
		}
		codes, err := CodesOf(r)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("class %v: error %v, want one with %q", c.class, err, c.says)
			}
		case err != nil || !slices.Equal(codes.Classes, []string{"0", "1", "2", "3"}):
			t.Errorf("classes %q, %v", codes.Classes, err)
		}
	}
}

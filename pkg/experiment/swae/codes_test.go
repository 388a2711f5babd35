package swae

import (
	"bytes"
	_ "image/png"
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

// Codes are drawn two coordinates at a time, the first of them, over what images are made from.
func TestCodesAreDrawnInPlanes(t *testing.T) {
	c := Codes{Dim: 5, Classes: []string{"a", "b"}, Drawn: []float32{1, 2, 3, 4, 5}, Table: []float32{6, 7, 8, 9, 10, 1, 11, 12, 13, 14, 15, 0}}
	figure, ok := c.Figure()
	if !ok || len(figure.Cells) != 2 || figure.Above[1] != "coordinates 3 and 4" || !strings.Contains(figure.Title, "over what images are generated from") {
		t.Fatalf("%v, %+v", ok, figure)
	}
	second := figure.Cells[1].(viz.Classes)
	if !slices.Equal(second.X, []float32{8, 9, 13, 14}) || !slices.Equal(second.Class, []int{1, 0}) || !slices.Equal(second.Below, []float32{3, 4}) {
		t.Errorf("%+v", second)
	}
	if _, ok := (Codes{Dim: 1, Table: []float32{0.5, 3}}).Figure(); ok {
		t.Error("one coordinate was drawn in the plane")
	}
}

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

package viz_test

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"strings"
	"testing"

	"molehill/viz"
)

// ten are points of ten classes, three of each and one that is not finite.
func ten() viz.Classes {
	f := viz.Classes{Title: "Ten classes", Names: strings.Split("0123456789", ""), Below: []float32{0, 0, 0.1, 0.1}, LabelX: "first", LabelY: "second"}
	for i := range 30 {
		sin, cos := math.Sincos(float64(i) / 30 * 2 * math.Pi)
		f.X, f.Class = append(f.X, float32(cos), float32(sin)), append(f.Class, i%10)
	}
	f.X, f.Class = append(f.X, float32(math.NaN()), 0), append(f.Class, 0)
	return f
}

// Each of ten classes has a colour that no other has, in the picture and in the legend.
func TestClassesHaveColours(t *testing.T) {
	var encoded bytes.Buffer
	if err := ten().PNG(&encoded); err != nil {
		t.Fatal(err)
	}
	picture, _, err := image.Decode(&encoded)
	if err != nil {
		t.Fatal(err)
	}
	count := map[[3]int]int{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			count[[3]int{int(r >> 8), int(g >> 8), int(b >> 8)}]++
		}
	}
	for class, want := range []string{"332288", "cc6677", "117733", "ddaa33", "88ccee", "882255", "44aa99", "999933", "aa4499", "555555"} {
		var c [3]int
		if _, err := fmt.Sscanf(want, "%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
			t.Fatal(err)
		}
		dots := 0
		for rgb, n := range count { // a PNG has 256 colours
			if max(abs(rgb[0]-c[0]), abs(rgb[1]-c[1]), abs(rgb[2]-c[2])) <= 8 {
				dots += n
			}
		}
		if dots < 4*50 { // three points and one of the legend, some 100 dots each
			t.Errorf("class %d: %d dots have the colour %s", class, dots, want)
		}
	}
}

func abs(v int) int { return max(v, -v) }

func TestBadClasses(t *testing.T) {
	for want, f := range map[string]viz.Classes{
		"point 1 of Classes is of class 2: expected one of the 2 of Names": {X: []float32{0, 0, 1, 1}, Class: []int{0, 2}, Names: []string{"a", "b"}},
		"Class":        {X: []float32{0, 0, 1, 1}, Class: []int{0}, Names: []string{"a"}},
		"Classes":      {},
		"even number":  {X: []float32{0, 0}, Class: []int{0}, Names: []string{"a"}, Below: []float32{1}},
		"has no point": {X: []float32{float32(math.NaN()), 0}, Class: []int{0}, Names: []string{"a"}},
	} {
		if err := f.PNG(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

package viz

import (
	"cmp"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"molehill/viz/internal/sheet"
)

// However many points a line has, few are drawn, and none of its peaks is lost; its pieces
// are the whole of it.
func TestNoisyLinesAreThinned(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, width = 200_000, 600.
	path := make([]vg.Point, n)
	for i := range path {
		path[i] = vg.Point{X: vg.Length(width * float64(i) / n), Y: vg.Length(rng.NormFloat64())}
	}
	path[77_777].Y, path[150_001].Y = 50, -50
	first, last := path[0], path[n-1]
	kept := thin(slices.Clone(path))
	if most := 4 * int(width/0.1); len(kept) > most+4 {
		t.Errorf("%d of %d points are drawn, more than four for each of %g columns", len(kept), n, width/0.1)
	}
	if kept[0] != first || kept[len(kept)-1] != last || !slices.Contains(kept, path[77_777]) || !slices.Contains(kept, path[150_001]) {
		t.Error("an end or a peak is not drawn")
	}
	if !slices.IsSortedFunc(kept, func(a, b vg.Point) int { return cmp.Compare(a.X, b.X) }) {
		t.Error("points are drawn in another order")
	}
	var all []vg.Point
	count := 0
	for part := range pieces(kept) {
		if count++; count > 1 {
			if part[0] != all[len(all)-1] {
				t.Fatal("a piece does not begin where the one before it ends")
			}
			part = part[1:]
		}
		all = append(all, part...)
	}
	if !slices.Equal(all, kept) || count < 50 {
		t.Errorf("%d pieces have %d points of %d", count, len(all), len(kept))
	}
	smooth := path[:1000]
	for i := range smooth {
		smooth[i].Y = vg.Length(i)
	}
	for part := range pieces(smooth) {
		if len(part) != len(smooth) {
			t.Error("a line without turns was cut, and its dashes with it")
		}
	}
}

// An interval that reaches 0 or below is drawn to the end of a logarithmic axis: it is the
// widest, and must not vanish.
func TestIntervalsReachTheEndOfALogarithmicAxis(t *testing.T) {
	log, linear := &sheet.Range{Log: true}, &sheet.Range{}
	for _, c := range []struct {
		on   *sheet.Range
		v    float64
		want float64
		ok   bool
	}{{log, 0.5, 0.5, true}, {log, 0, math.NaN(), true}, {log, -3, math.NaN(), true}, {log, math.NaN(), math.NaN(), false}, {linear, -3, -3, true}, {log, math.Inf(-1), math.NaN(), false}} {
		if got, ok := lowEnd(c.on, c.v); ok != c.ok || ok && got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v ends at %v, %v; want %v, %v", c.v, got, ok, c.want, c.ok)
		}
	}
	shaded := func(low float64) (count int) {
		r, w := io.Pipe()
		go func() {
			f := Curves{Lines: []Line{{X: []float64{1, 2, 3}, Y: []float64{1, 0.5, 0.3}, Low: []float64{0.9, low, 0.2}, High: []float64{1.1, 1.1, 0.4}}}, Y: Axis{Log: true}}
			w.CloseWithError(f.PNG(w))
		}()
		picture, err := png.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				if r, _, b, _ := picture.At(x, y).RGBA(); b > r+0x2000 {
					count++
				}
			}
		}
		return count
	}
	if below, narrow := shaded(-0.1), shaded(0.4); narrow == 0 || below <= narrow {
		t.Errorf("%d pixels of a band that reaches below 0, %d of a narrow one", below, narrow)
	}
	f := Dots{Rows: []string{"a", "b"}, Conditions: []string{"c"}, Values: [][]float64{{0.5}, {1.7}}, X: Axis{Max: 1}}
	p, err := f.illustrate()
	if err != nil || !strings.Contains(strings.Join(p.notes, " "), "1 value beyond the axis") {
		t.Error(p, err)
	}
}

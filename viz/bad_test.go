package viz

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// TestBadInput checks that each kind of bad input gives an error that names what is wrong.
func TestBadInput(t *testing.T) {
	nan := math.NaN()
	dots := func(change func(*Dots)) Dots {
		f := Dots{Rows: []string{"a", "b"}, Conditions: []string{"c"}, Values: [][]float64{{1}, {2}}}
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		figure Figure
		want   string
	}{
		"no lines":           {Curves{}, "no line to draw"},
		"a title":            {Curves{Title: "Training"}, `Curves "Training" has no line to draw`},
		"only NaN":           {Curves{Lines: []Line{{Y: []float64{nan, nan}}}}, "at least one finite value"},
		"only zero on log":   {Curves{Y: Axis{Log: true}, Lines: []Line{{Y: []float64{0, -1}}}}, "at least one finite value"},
		"x and y":            {Curves{Lines: []Line{{Name: "loss", X: []float64{1}, Y: []float64{1, 2}}}}, `line "loss" of Curves: X has 1 values and Y has 2`},
		"band":               {Curves{Lines: []Line{{Y: []float64{1, 2}, Low: []float64{1, 2}}}}, "line 1 of Curves: High has 0 values"},
		"no rows":            {Dots{}, "0 rows and 0 conditions"},
		"rows":               {dots(func(f *Dots) { f.Rows = f.Rows[:1] }), "Values has 2 values and Rows has 1"},
		"row":                {dots(func(f *Dots) { f.Values[1] = nil }), `row "b" of Dots: Values has 0 values and Conditions has 1`},
		"one-sided bars":     {dots(func(f *Dots) { f.Low = f.Values }), "both Low and High"},
		"dots of NaN":        {dots(func(f *Dots) { f.Values = [][]float64{{nan}, {nan}} }), "no value to draw"},
		"odd points":         {Particles{X: []float32{1, 2, 3}}, "X of Particles has 3 values: expected an even number"},
		"no points":          {Particles{}, "no point to draw"},
		"region":             {Particles{X: []float32{1, 2}, Region: Region{0, 0, 0, 1}}, "is empty"},
		"flat region":        {Particles{X: []float32{1, 2}, Region: Region{0, 1e6, 0, 1}}, "expected between 0.05 and 20"},
		"narrow region":      {Particles{X: []float32{1, 2}, Region: Region{1e17, 1e17 + 16, 0, 1}}, "too narrow"},
		"no mass":            {Particles{X: []float32{1, 2}, Density: func(x, y float64) float64 { return 0 }}, "expected a positive number"},
		"density of NaN":     {Particles{X: []float32{1, 2}, Density: func(x, y float64) float64 { return nan }}, "expected a positive number"},
		"no images":          {Images{Height: 2, Width: 2}, "no image to draw"},
		"image size":         {Images{X: make([]float32, 4)}, "height 0 and width 0"},
		"image length":       {Images{X: make([]float32, 5), Height: 2, Width: 2}, "multiple of 4 = 2×2×1"},
		"channels":           {Images{X: make([]float32, 8), Height: 2, Width: 2, Channels: 2}, "2 channels"},
		"row labels":         {Images{X: make([]float32, 8), Height: 2, Width: 2, Cols: 1, RowLabels: []string{"a"}}, "1 row labels"},
		"no cells":           {Panels{}, "no cell to draw"},
		"cell":               {Panels{Cols: []string{"a", "b"}, Cells: []Figure{nil, Curves{}}}, "cell (b) of Panels: viz: Curves has no line"},
		"panels in panels":   {Panels{Cells: []Figure{Panels{}}}, "itself Panels"},
		"panels in itself":   {inItself(), "itself Panels"},
		"foreign cell":       {Panels{Cells: []Figure{foreign{}}}, "viz.foreign"},
		"panel rows":         {Panels{Rows: []string{"a"}, Cols: []string{"a"}, Cells: make([]Figure, 2)}, "1 row labels"},
		"mixed axes":         {Panels{Cells: []Figure{Curves{Lines: []Line{{Y: []float64{1}}}}, Curves{Y: Axis{Log: true}, Lines: []Line{{Y: []float64{1}}}}}}, "different kinds of axes"},
		"mixed rows":         {Panels{Cells: []Figure{dots(func(*Dots) {}), dots(func(f *Dots) { f.Rows = []string{"b", "a"} })}}, "different rows"},
		"no figure":          {Panels{Cells: []Figure{(*Curves)(nil)}}, "cell (row 1, column 1) of Panels: viz: a *viz.Curves could not be drawn"},
		"density":            {Particles{X: []float32{1, 2}, Density: func(x, y float64) float64 { panic("no such place") }}, "a viz.Particles could not be drawn: no such place"},
		"density in a panel": {Panels{Cells: []Figure{Particles{X: []float32{1, 2}, Density: func(x, y float64) float64 { panic("no such place") }}}}, "(row 1, column 1)"},
		"direction":          {Slice{X: []float32{1, 2}}, "expected a finite vector that is not zero"},
		"slice of none":      {Slice{Theta: [2]float64{1, 0}}, "no point to draw"},
		"matching of none":   {Matching{X: []float32{1}}, "1 finite values in X and 0 in Y"},
		"plan of none":       {Plan{X: []float32{1, 2}}, "no point in Y"},
		"plan in space":      {Plan{Dim: 3, X: make([]float32, 6), Y: make([]float32, 6)}, "Dim of Plan is 3"},
		"plan of NaN":        {Plan{Dim: 1, X: []float32{1}, Y: []float32{float32(nan)}}, "point 0 of Y of Plan is not finite"},
		"plan weights":       {Plan{Dim: 1, X: []float32{1}, Y: []float32{1}, B: []float64{1, 2}}, "B has 2 values and points Y has 1"},
		"negative weight":    {Plan{Dim: 1, X: []float32{1}, Y: []float32{1}, A: []float64{-1}}, "weight A[0] of Plan is -1"},
		"link":               {Plan{Dim: 1, X: []float32{1}, Y: []float32{1}, Links: []Link{{0, 1, 1}}}, "to point 1 of 1"},
		"link mass":          {Plan{Dim: 1, X: []float32{1}, Y: []float32{1}, Links: []Link{{0, 0, nan}}}, "has mass NaN"},
		"no plot":            {Plot{}, "set its field Plot"},
		"plot of NaN on log": {Plot{Title: "broken", Plot: brokenPlot()}, `the figure "broken" could not be drawn`},
		"too large":          {Plot{Plot: plot.New(), Width: 19000, Height: 19000}, "million pixels"},
		"far too large":      {Plot{Plot: plot.New(), Width: 1 << 30, Height: 10}, "expected between 1 and 19200"},
	} {
		err := c.figure.PNG(io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want one with %q", name, err, c.want)
		}
	}
}

type foreign struct{}

func (foreign) Heading() string     { return "" }
func (foreign) PNG(io.Writer) error { panic("foreign") }
func (foreign) Save(string) error   { return nil }

func brokenPlot() *plot.Plot {
	p := plot.New()
	p.X.Scale = plot.LogScale{}
	p.X.Min, p.X.Max = -1, 1
	return p
}

func inItself() Panels {
	p := &Panels{}
	p.Cells = []Figure{p}
	return *p
}

// TestLeftOut checks that dropped values are counted below the picture.
func TestLeftOut(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		figure illustrator
		want   string
	}{
		{Curves{Y: Axis{Log: true}, Lines: []Line{{Y: []float64{1, nan, 0, -1, inf, 2}}}}, "Not drawn: 2 values that are not finite.|Not drawn: 2 values ≤ 0, which a logarithmic axis cannot show."},
		{Curves{X: Axis{Log: true}, Lines: []Line{{X: []float64{1, 10, 100}, Y: []float64{-1, 0.5, 2}}}}, ""}, // all is drawn
		{Particles{X: []float32{1, 2, float32(nan), 1, 3, 4}}, "Not drawn: 1 point with a coordinate that is not finite."},
		{Particles{X: []float32{1, 2, 30, 4}, Region: Region{0, 5, 0, 5}}, "Not drawn: 1 point outside the region shown."},
		{Dots{Rows: []string{"a"}, Conditions: []string{"b", "c", "d"}, Values: [][]float64{{1, nan, inf}}}, "Not drawn: 1 value that is not finite.|No dot for 1 of 3 combinations, which have no value."},
		{Images{X: []float32{0, float32(nan)}, Height: 1, Width: 1}, "Drawn in blue: 1 pixel value that is not finite."},
		{Plan{X: []float32{1, 2}, Y: []float32{3, 4, 5, 6}, Links: []Link{{0, 0, 1}, {0, 1, 0.0009}, {0, 1, 0.0009}, {0, 1, 0.0009}, {0, 1, 0.0009}, {0, 1, 0.0009}, {0, 1, 0.0009}}}, "Too faint to draw: links that carry 1 % of the mass."},
		{Plan{X: []float32{1, 2, 30, 4}, Y: []float32{3, 4, 5, 9}, Region: Region{0, 5, 0, 5}}, "Not drawn: 2 points outside the region shown."},
		{Matching{X: []float32{1, 2}, Y: []float32{float32(inf), 3}}, "Not drawn: 1 value that is not finite."},
	} {
		p, err := c.figure.illustrate()
		if err != nil {
			t.Errorf("%T: %v", c.figure, err)
			continue
		}
		if got := strings.Join(p.notes, "|"); got != c.want {
			t.Errorf("%T: notes %q, want %q", c.figure, got, c.want)
		}
		render(t, c.figure)
	}
}

// TestNeverPanics draws figures of extreme values: each must draw or return an error, and soon.
func TestNeverPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 0))
	extreme := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e17, 1e17 + 16, 1e-300, 1e300, 1e149, -1e149, 0.1, 0.1 + 1e-16, 1e-150}
	values := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = extreme[rng.IntN(len(extreme))]
		}
		return out
	}
	floats := func(n int) []float32 {
		out := make([]float32, n)
		for i, v := range values(n) {
			out[i] = float32(v)
		}
		return out
	}
	for range 30 {
		n := 1 + rng.IntN(4)
		v := values(4)
		axis := Axis{Log: rng.IntN(2) == 0, Min: v[0], Max: v[1]}
		curves := Curves{X: axis, Y: Axis{Log: rng.IntN(2) == 0}, Lines: []Line{{X: values(n), Y: values(n), Low: values(n), High: values(n)}}, References: []Reference{{"r", v[2]}}, Width: 200, Height: 100}
		for _, f := range []Figure{
			curves,
			Dots{X: axis, Rows: []string{"a"}, Conditions: make([]string, n), Values: [][]float64{values(n)}, Low: [][]float64{values(n)}, High: [][]float64{values(n)}, References: []Reference{{"r", v[2]}}, Width: 200},
			Particles{X: floats(2 * n), Target: floats(2), Density: func(x, y float64) float64 { return extreme[rng.IntN(len(extreme))] }, Width: 100},
			Particles{X: floats(2 * n), Region: Region{v[0], v[1], v[2], v[3]}, Width: 100},
			Slice{X: floats(2 * n), Y: floats(2), Theta: [2]float64{v[0], v[1]}},
			Matching{X: floats(n), Y: floats(n)},
			Plan{Dim: 1 + rng.IntN(2), X: floats(2), Y: floats(2), A: values(1), Links: []Link{{Mass: v[3]}}, Width: 100},
			Images{X: floats(n), Height: 1, Width: 1, Cols: rng.IntN(3) - 1},
			Panels{Cells: []Figure{curves, nil}, Width: 200},
		} {
			s, err := compose(f.(illustrator))
			if err == nil {
				err = s.PNG(io.Discard, 48)
			}
			if err != nil && (strings.Contains(err.Error(), "runtime error") || strings.Contains(err.Error(), "could not be drawn")) {
				t.Errorf("%T: %v\n%+v", f, err, f)
			}
		}
	}
}

// TestSave checks the three formats, their determinism, and that a failing save leaves what was there.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	f := sliceFigure()
	for ending, magic := range map[string]string{".png": "\x89PNG", ".svg": "<?xml", ".pdf": "%PDF"} {
		path := filepath.Join(dir, "figure"+ending)
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(content, []byte(magic)) {
			t.Errorf("%s starts with %.8q (%v), want %q", path, content, err, magic)
		}
		if err := (Curves{}).Save(path); err == nil {
			t.Error("saving an empty figure succeeded")
		}
		if again, _ := os.ReadFile(path); !bytes.Equal(again, content) {
			t.Errorf("%s changed although saving failed", path)
		}
	}
	var first, second bytes.Buffer
	if err := errors.Join(lossCurves().PNG(&first), lossCurves().PNG(&second)); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("drawing the same figure twice gave different files (%v)", err)
	}
	first.Reset()
	if err := flowPanels().PNG(&first); err != nil {
		t.Fatal(err)
	}
	if first.Len() > 150_000 {
		t.Errorf("nine panels of 500 particles take %d bytes, want at most 150000", first.Len())
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "figure.gif"):      "ends in .png, .svg or .pdf",
		filepath.Join(dir, "no", "where.png"): "no such file or directory",
	} {
		if err := f.Save(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Save(%s): %v, want %q", path, err, want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("saving left %d files, want 3", len(files))
	}
}

// TestGoldenFails checks that the comparison sees a small change: one particle among 500, one letter.
func TestGoldenFails(t *testing.T) {
	base := Particles{Title: "points", X: around(500, 0, 0, 1), Region: plane}
	moved := base
	moved.X = append([]float32{3, 3}, base.X[2:]...)
	renamed := base
	renamed.Title = "paints"
	want := render(t, base)
	if err := samePicture(render(t, base), want); err != nil {
		t.Errorf("the same figure: %v", err)
	}
	for name, f := range map[string]Particles{"a moved particle": moved, "another letter": renamed} {
		if samePicture(render(t, f), want) == nil {
			t.Errorf("%s was not noticed", name)
		}
	}
}

// A symmetric density meets its levels at many grid points exactly, which took
// plotter.Contour more memory than a machine has. The circles' lengths are
// known: 2πr in grid units, however the level falls.
func TestContoursOfASymmetricDensity(t *testing.T) {
	g := &grid{region: Region{-1, 1, -1, 1}, z: make([]float64, cells*cells)}
	for i := range g.z {
		x, y := g.X(float64(i%cells)), g.Y(float64(i/cells))
		g.z[i] = 2 - x*x - y*y
	}
	for _, level := range []float64{1.5, g.z[30*cells+30], g.z[60*cells+12]} {
		var length float64
		for row := range cells - 1 {
			for column := range cells - 1 {
				ends := g.crossings(column, row, level)
				for i := 0; i+1 < len(ends); i += 2 {
					length += math.Hypot(ends[i].x-ends[i+1].x, ends[i].y-ends[i+1].y)
				}
			}
		}
		if want := 2 * math.Pi * math.Sqrt(2-level) * (cells - 1) / 2; !(math.Abs(length/want-1) <= 0.01) {
			t.Errorf("the circle at level %v is %v long, want %v", level, length, want)
		}
	}
}

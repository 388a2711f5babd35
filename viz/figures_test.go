package viz

import (
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// fiveGaussians is a density like that of Figure 1 of the particle-flow paper, and a sampler of it.
func fiveGaussians(x, y float64) float64 {
	sum := 0.0
	for _, m := range centres {
		sum += math.Exp(-(math.Pow(x-m[0], 2) + math.Pow(y-m[1], 2)) / (2 * 0.3 * 0.3))
	}
	return sum
}

var centres = [][2]float64{{0, 0}, {2, 0}, {-2, 0}, {0, 2}, {0, -2}}

// around draws n points of the five Gaussians, mixed with a wide one and blurred by sigma.
func around(n int, mixed, sigma float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []float32
	for range n {
		m, s := centres[rng.IntN(len(centres))], math.Hypot(0.3, sigma)
		if rng.Float64() < mixed {
			m, s = [2]float64{}, 1
		}
		out = append(out, float32(m[0]+s*rng.NormFloat64()), float32(m[1]+s*rng.NormFloat64()))
	}
	return out
}

var plane = Region{-4, 4, -4, 4}

func flowPanels() Panels {
	f := Panels{
		Title:   "Particle flows towards five Gaussians",
		Rows:    []string{"σ = 0", "σ = 0.5", "σ = 1"},
		Cols:    []string{"step 1", "step 10", "step 200"},
		Caption: "Black: level sets of the target that hold 20, 40, 60, 80 and 95 % of its mass. Green: 500 particles.",
	}
	for row, sigma := range []float64{0, 0.5, 1} {
		for col, mixed := range []float64{1, 0.5, 0} {
			seed := uint64(3*row + col)
			f.Cells = append(f.Cells, Particles{X: around(500, mixed, sigma*(1-mixed), seed), Density: fiveGaussians, Region: plane})
		}
	}
	return f
}

func lossCurves() Curves {
	rng := rand.New(rand.NewPCG(7, 7))
	f := Curves{
		Title:      "Sliced W₂ to held-out latents falls until the noise floor",
		Caption:    "Mean of five seeds; the bands are one standard deviation.",
		X:          Axis{Label: "step"},
		Y:          Axis{Label: "sliced W₂ (latent units)", Log: true},
		References: []Reference{{"floor of 10⁴ samples", 0.011}},
	}
	for i, name := range []string{"not private", "DPSWflow, ε = 10", "DPSWflow-r, ε = 5", "sketch, ε ≤ 1"} {
		line := Line{Name: name}
		for k := range 200 {
			y := 0.012*math.Pow(1.9, float64(i)) + math.Exp(-float64(k)/(18+6*float64(i)))
			y *= math.Exp(0.03 * rng.NormFloat64())
			line.X = append(line.X, float64(k+1))
			line.Y = append(line.Y, y)
			if i < 2 {
				line.Low, line.High = append(line.Low, y*0.85), append(line.High, y*1.18)
			}
		}
		f.Lines = append(f.Lines, line)
	}
	return f
}

func methodDots() Dots {
	nan := math.NaN()
	return Dots{
		Title:      "Distance to real digits by method and ε",
		Caption:    "Bars span five seeds. DP-MERF was not run at ε = ∞.",
		X:          Axis{Label: "sliced W₂ of 10,000 samples", Log: true},
		Rows:       []string{"not private flow", "DPSWflow-r", "DPSWflow", "DP-MERF", "quantile sketch"},
		Conditions: []string{"ε = ∞", "ε = 10", "ε = 5", "ε = 1"},
		Values:     [][]float64{{0.012, nan, nan, nan}, {0.014, 0.031, 0.05, 0.2}, {0.014, 0.05, 0.083, 0.33}, {nan, 0.13, 0.14, 0.2}, {0.013, 0.02, 0.024, 0.061}},
		Low:        [][]float64{{0.011, nan, nan, nan}, {0.013, 0.028, 0.041, 0.17}, {0.013, 0.042, 0.071, 0.28}, {nan, 0.11, 0.12, 0.18}, {0.012, 0.018, 0.02, 0.05}},
		High:       [][]float64{{0.013, nan, nan, nan}, {0.016, 0.035, 0.057, 0.24}, {0.016, 0.06, 0.099, 0.41}, {nan, 0.15, 0.17, 0.23}, {0.014, 0.023, 0.03, 0.075}},
		References: []Reference{{"floor: real against real", 0.0105}},
	}
}

// strokes paints n pictures of size × size: a ring, a bar or a hook, softly drawn, like handwriting.
func strokes(n, size int, blur float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	out := make([]float32, n*size*size)
	for i := range n {
		turn, radius, span := rng.Float64()*6, 0.2+0.12*rng.Float64(), 1.5+5*rng.Float64()
		for k := range size * size {
			x, y := (float64(k%size)+0.5)/float64(size)-0.5, (float64(k/size)+0.5)/float64(size)-0.5
			angle := math.Mod(math.Atan2(y, x)-turn+4*math.Pi, 2*math.Pi)
			away := math.Abs(math.Hypot(x, y*0.8) - radius)
			if angle > span {
				away += 0.3 * min(angle-span, 2*math.Pi-angle)
			}
			v := 1/(1+math.Exp((away-0.045)*90)) + blur*rng.NormFloat64()
			out[i*size*size+k] = float32(v)
		}
	}
	return out
}

func digitTable() Panels {
	f := Panels{
		Title:   "Generated digits, by method and ε",
		Rows:    []string{"not private", "DPSWflow-r", "quantile sketch"},
		Cols:    []string{"ε = ∞", "ε = 10", "ε = 1"},
		Caption: "Each cell: the first 12 samples of one run, not chosen. δ = 10⁻⁵.",
	}
	for row := range 3 {
		for col := range 3 {
			cell := Images{X: strokes(12, 28, 0.03*float64(col*row), uint64(10*row+col)), Height: 28, Width: 28, Cols: 4}
			if row == 0 && col > 0 {
				f.Cells = append(f.Cells, nil)
				continue
			}
			f.Cells = append(f.Cells, cell)
		}
	}
	return f
}

func colourImages() Images {
	f := Images{Title: "Three channels, two labelled rows", Height: 16, Width: 12, Channels: 3, RowLabels: []string{"real", "generated"}, Cols: 8}
	for i := range 16 {
		for k := range 16 * 12 {
			x, y := float64(k%12)/11, float64(k/12)/15
			f.X = append(f.X, float32(x), float32(y), float32(i)/15)
		}
	}
	return f
}

func pairOfSamples() (x, y []float32) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 90 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, float32(0.9*a-1), float32(0.5*a+0.5*b-0.4))
	}
	for i := range 70 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		y = append(y, float32(0.4*a+1.2), float32(0.4*b+2*float64(i%2)-0.6))
	}
	return x, y
}

func sliceFigure() Slice {
	x, y := pairOfSamples()
	return Slice{Title: "One slice: two clouds seen along one direction", X: x, Y: y, Names: [2]string{"data", "particles"}, Theta: [2]float64{2, 1}}
}

func matchingFigure() Matching {
	x, y := pairOfSamples()
	f := Matching{Title: "On a line the best transport keeps the order", Names: [2]string{"particles", "data"}}
	for i := 0; i < len(x); i += 2 {
		f.X = append(f.X, 0.9*x[i]+0.45*x[i+1])
	}
	for i := 0; i < len(y); i += 2 {
		f.Y = append(f.Y, 0.9*y[i]+0.45*y[i+1])
	}
	return f
}

// planPanels couples few weighted points of the plane with more and more of the others.
func planPanels() Panels {
	f := Panels{Title: "A plan that spreads", Cols: []string{"one to one", "to all"}}
	for _, spread := range []float64{0.3, 3} {
		plan := Plan{LabelX: "first coordinate", LabelY: "second", Names: [2]string{"from", "to"}}
		for i := range 10 {
			angle := 2 * math.Pi * float64(i) / 10
			plan.X = append(plan.X, float32(math.Cos(angle)), float32(math.Sin(angle)))
			plan.Y = append(plan.Y, float32(2*math.Cos(angle+0.2)), float32(2*math.Sin(angle+0.2)))
			plan.A = append(plan.A, float64(1+i%3))
			for j := range 10 {
				apart := min((i-j+10)%10, (j-i+10)%10)
				plan.Links = append(plan.Links, Link{i, j, plan.A[i] * math.Exp(-float64(apart*apart)/spread)})
			}
		}
		f.Cells = append(f.Cells, plan)
	}
	return f
}

func TestFigures(t *testing.T) {
	onLine := Plan{
		Title: "Three heaps into two", Dim: 1, X: []float32{0, 1, 4}, Y: []float32{0.5, 3}, A: []float64{0.2, 0.4, 0.4}, B: []float64{0.5, 0.5},
		Links: []Link{{0, 0, 0.2}, {1, 0, 0.3}, {1, 1, 0.1}, {2, 1, 0.4}}, Names: [2]string{"from", "to"}, LabelX: "x",
	}
	small := Curves{
		Title: "Number of records against time", X: Axis{Label: "records"}, Y: Axis{Label: "time (s)"},
		Lines: []Line{
			{Name: "host", X: []float64{1e3, 1e4, 2e4, 4e4, 6e4}, Y: []float64{0.01, 0.12, 0.25, 0.52, 0.80}},
			{Name: "graph", X: []float64{1e3, 1e4, 2e4, 4e4, 6e4}, Y: []float64{0.05, 0.32, math.NaN(), 1.12, 1.70}},
		},
		Width: 600,
	}
	clouds := Particles{
		Title: "Particles, target and its level sets", LabelX: "first latent", LabelY: "second latent",
		X: around(300, 0.2, 0, 3), Target: around(300, 0, 0, 4), Density: fiveGaussians,
	}
	for name, f := range map[string]illustrator{
		"panels": flowPanels(), "curves": lossCurves(), "curves_linear": small, "dots": methodDots(),
		"digits": digitTable(), "images": colourImages(), "particles": clouds,
		"slice": sliceFigure(), "matching": matchingFigure(), "plan": planPanels(), "plan_line": onLine,
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, f) })
	}
}

// Points come in any order, and stand in that of x, each with its band.
func TestPointsAreAddedInOrder(t *testing.T) {
	var f Curves
	for _, x := range []float64{3, 1, 2} {
		f.Add("a", x, 10*x, 1)
		f.Add("b", x, x, math.NaN())
	}
	want := []Line{
		{Name: "a", X: []float64{1, 2, 3}, Y: []float64{10, 20, 30}, Low: []float64{9, 19, 29}, High: []float64{11, 21, 31}},
		{Name: "b", X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Low: []float64{1, 2, 3}, High: []float64{1, 2, 3}},
	}
	if !reflect.DeepEqual(f.Lines, want) {
		t.Errorf("%+v; want %+v", f.Lines, want)
	}
}

// A line that came without a band or without X takes points as well; one whose lengths
// do not agree is left to drawing, which says what is wrong.
func TestPointsAreAddedToAnyLine(t *testing.T) {
	f := Curves{Lines: []Line{{Name: "a", Y: []float64{5, 6}}, {Name: "b", X: []float64{1}}}}
	f.Add("a", 1.5, 7, 1)
	f.Add("b", 2, 3, 0)
	want := []Line{
		{Name: "a", X: []float64{1, 1.5, 2}, Y: []float64{5, 7, 6}, Low: []float64{5, 6, 6}, High: []float64{5, 8, 6}},
		{Name: "b", X: []float64{1}},
	}
	if !reflect.DeepEqual(f.Lines, want) {
		t.Errorf("%+v; want %+v", f.Lines, want)
	}
	if err := f.PNG(io.Discard); err == nil || !strings.Contains(err.Error(), `line "b" of Curves: X has 1 values and Y has 0`) {
		t.Errorf("error %v", err)
	}
}

// A line that goes only across or up and down, as a histogram does, has no markers; others have.
func TestStepsAreUnmarked(t *testing.T) {
	for _, c := range []struct {
		line Line
		want bool
	}{
		{Line{X: []float64{0, 1, 1, 2}, Y: []float64{3, 3, 1, 1}}, true},
		{Line{X: []float64{0, 1, 1, 2}, Y: []float64{3, 3, 1, 2}}, false},
		{Line{X: []float64{0, 1, 2, 3}, Y: []float64{2, 2, 2, 2}}, false}, // measured, always the same
		{Line{X: []float64{1, 1}, Y: []float64{2, 3}}, false},
		{Line{}, false},
	} {
		if got := c.line.stepped(); got != c.want {
			t.Errorf("%v, %v: stepped is %v", c.line.X, c.line.Y, got)
		}
	}
}

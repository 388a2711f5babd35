package sheet

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/vg"
)

// TestLetters checks that every letter our figures use has a drawing, bold and regular.
func TestLetters(t *testing.T) {
	var buffer sfnt.Buffer
	const letters = "σεδλθμνπφψωΔΣΦΨ≤≥≈≠±×·∞√∂∑∏∫→←–—′‖⟨⟩₀₁₂₃₉ₙᵢ⁰¹²³⁹⁻ⁿ∇∈∝ℝ𝔼é"
	for _, style := range []Type{{Size: 10}, {Size: 10, Bold: true}} {
		for _, letter := range letters {
			glyphs := style.layout(string(letter))
			if len(glyphs) == 0 || len(glyphs[0].outline) == 0 {
				t.Errorf("%c has no outline", letter)
			}
		}
		face := regular()
		for _, letter := range letters {
			if _, script := subscript[letter]; script {
				continue
			}
			if _, script := superscript[letter]; script {
				continue
			}
			if _, spelled := absent[string(letter)]; spelled {
				continue
			}
			if index, err := face.GlyphIndex(&buffer, letter); err != nil || index == 0 {
				t.Errorf("the font lacks %c and nothing stands in for it", letter)
			}
		}
	}
}

// TestTicks checks known answers, and that ticks lie on the axis, ascend, and are few.
func TestTicks(t *testing.T) {
	labels := func(a Axis, n int) (text string) {
		for _, tick := range a.ticks(n) {
			if tick.Label != "" {
				text += tick.Label + " "
			}
		}
		return text
	}
	for _, c := range []struct {
		axis Axis
		want string
	}{
		{Axis{Min: 0, Max: 1}, "0 0.2 0.4 0.6 0.8 1.0 "},
		{Axis{Min: -3, Max: 3}, "−2 0 2 "},
		{Axis{Min: 0, Max: 60000}, "0 20,000 40,000 60,000 "},
		{Axis{Min: 0, Max: 4e6}, "0 10⁶ 2×10⁶ 3×10⁶ 4×10⁶ "},
		{Axis{Min: 0.001, Max: 1, Log: true}, "0.001 0.01 0.1 1 "},
		{Axis{Min: 1e-9, Max: 1e-3, Log: true}, "10⁻⁹ 10⁻⁷ 10⁻⁵ 10⁻³ "},
		{Axis{Min: 0.02, Max: 0.3, Log: true}, "0.02 0.05 0.1 0.2 "},
		{Axis{Min: 2, Max: 5, Log: true}, "2 3 4 5 "},
		{Axis{Min: 0.0142, Max: 0.0148, Log: true}, "0.0142 0.0144 0.0146 0.0148 "},
		{Axis{Min: 0.0138, Max: 0.033, Log: true}, "0.015 0.020 0.025 0.030 "},
		{Axis{Min: 0.95, Max: 1.06, Log: true}, "0.950 0.975 1.000 1.025 1.050 "},
		{Axis{Min: 1.2e-6, Max: 1.9e-6, Log: true}, "1.2×10⁻⁶ 1.4×10⁻⁶ 1.6×10⁻⁶ 1.8×10⁻⁶ "},
		{Axis{Min: 1e6, Max: 1000500}, "10⁶ 1.0001×10⁶ 1.0002×10⁶ 1.0003×10⁶ 1.0004×10⁶ 1.0005×10⁶ "},
		{Axis{Min: 1e6, Max: 1001250}, "10⁶ 1.00025×10⁶ 1.0005×10⁶ 1.00075×10⁶ 1.001×10⁶ 1.00125×10⁶ "},
		{Axis{Min: -2e-6, Max: 2e-6}, "−2×10⁻⁶ −1×10⁻⁶ 0 10⁻⁶ 2×10⁻⁶ "},
	} {
		if got := labels(c.axis, 5); got != c.want {
			t.Errorf("%+v: ticks %q, want %q", c.axis, got, c.want)
		}
	}
	if got, want := labels(Axis{Min: 2, Max: 6000, Log: true}, 3), "10 100 1000 "; got != want {
		t.Errorf("room for three ticks on four decades: %q, want %q", got, want)
	}
	for _, pair := range [][2]float64{{1e17, 1e17 + 16}, {0, 1e-150}, {-1e150, 1e150}, {5, 5}, {1e-150, 1e150}, {0.1, 0.1 + 1e-16}} {
		for _, log := range []bool{false, true} {
			r := Range{Log: log}
			r.Add(pair[0])
			r.Add(pair[1])
			if r.Empty() {
				continue
			}
			a := r.Axis("", 0, 0)
			ticks := a.ticks(7)
			if len(ticks) > 100 {
				t.Errorf("%+v has %d ticks", a, len(ticks))
			}
			last := math.Inf(-1)
			for _, tick := range ticks {
				if !(tick.Value > last && tick.Value <= a.Max*(1+1e-6)+1e-140) || math.IsNaN(tick.Value) {
					t.Errorf("%+v has a tick at %v after %v", a, tick.Value, last)
				}
				last = tick.Value
			}
		}
	}
}

// TestPaletted checks that few colours stay exact and many are near: no value off by more than 40.
func TestPaletted(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.SetRGBA(i%64, i/64, color.RGBA{uint8(i % 64 * 4), uint8(i / 64 * 4), 128, 255})
	}
	for x := range 64 {
		img.SetRGBA(x, 0, color.RGBA{255, 255, 255, 255})
	}
	out := paletted(img, countColours(img), 256)
	if len(out.Palette) > 256 {
		t.Fatalf("%d colours", len(out.Palette))
	}
	if got := out.At(5, 0); got != (color.RGBA{255, 255, 255, 255}) {
		t.Errorf("the ground became %v", got)
	}
	for i := range img.Pix {
		r, g, b, _ := out.At(i/4%64, i/4/64).RGBA()
		if d := int(img.Pix[i]) - int([]uint32{r >> 8, g >> 8, b >> 8, 255}[i%4]); d > 40 || d < -40 {
			t.Fatalf("value %d is off by %d", i, d)
		}
	}
}

// TestSeriesDiffer checks that of seven rounds through the colours no two series share two of colour, dashes
// and marker, and that the first seven have them in their order.
func TestSeriesDiffer(t *testing.T) {
	type pair struct{ first, second any }
	seen := map[pair]int{}
	for i := range 49 {
		for _, p := range []pair{{Colour(i), dash(i)}, {Colour(i), "marker " + strconv.Itoa(marker(i))}, {dash(i), "marker " + strconv.Itoa(marker(i))}} {
			if j, before := seen[p]; before {
				t.Errorf("series %d and %d both have %v", j, i, p)
			}
			seen[p] = i
		}
		if i < 7 && (dash(i) != i || marker(i) != i) {
			t.Errorf("series %d has dashes %d and marker %d", i, dash(i), marker(i))
		}
	}
}

// A hyphen that begins a number is set as a minus sign, and no other.
func TestNegativeNumbersHaveMinusSigns(t *testing.T) {
	for text, want := range map[string]string{
		"-0.53": "−0.53", "from -1 to (-2)": "from −1 to (−2)", "dp-2, 1e-05, 2020-11-30, - 1": "dp-2, 1e-05, 2020-11-30, - 1",
	} {
		if got := NoteType.Width(text); got != NoteType.Width(want) {
			t.Errorf("%q is %v wide, and %q is %v", text, got, want, NoteType.Width(want))
		}
	}
}

func TestWrapKeepsStatements(t *testing.T) {
	title := "mnist, dp-sinkhorn-latent at ε = 10 ± 1"
	wide := TitleType.Width(title)
	for _, test := range []struct {
		width vg.Length
		want  []string
	}{
		{wide, []string{title}},
		{wide - 1, []string{"mnist, dp-sinkhorn-latent at", "ε = 10 ± 1"}},
		{TitleType.Width("ε = 10"), []string{"mnist,", "dp-sinkhorn-latent", "at", "ε = 10", "± 1"}},
		{TitleType.Width("ε"), strings.Fields(title)},
	} {
		if got := TitleType.Wrap(title, test.width); !slices.Equal(got, test.want) {
			t.Errorf("a width of %.0f gave %q; expected %q", test.width, got, test.want)
		}
	}
}

// A name of a category is set in three lines at the most, the last of which ends in an
// ellipsis within the room for names; a shorter one stays as it is.
func TestLongNamesAreCut(t *testing.T) {
	c := &Chart{Names: 120, Y: Axis{Categories: []string{""}}}
	if got := c.NameLines("a name"); !slices.Equal(got, []string{"a name"}) {
		t.Errorf("a short name is %q", got)
	}
	for _, name := range []string{strings.Repeat("many words ", 300), strings.Repeat("x", 3000)} {
		lines := c.NameLines(name)
		if len(lines) != mostNameLines || !strings.HasSuffix(lines[2], "…") || strings.Contains(lines[0]+lines[1], "…") {
			t.Errorf("%.20q is set as %q", name, lines)
		}
		for _, line := range lines {
			if w := c.typeY().Width(line); w > c.Names {
				t.Errorf("%q is %.0f wide of %.0f", line, w, c.Names)
			}
		}
	}
}

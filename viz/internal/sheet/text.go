package sheet

import (
	"image/color"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	_ "gonum.org/v1/plot/font/liberation" // registers the fonts in plotfont.DefaultCache
	"gonum.org/v1/plot/vg"
)

// Type is a way to set text.
type Type struct {
	Size   vg.Length // height of the em square
	Bold   bool
	Color  color.Color
	AlignX float64 // 0: the text starts at the point, 0.5: is centred on it, 1: ends there
	AlignY float64 // 0: the baseline is at the point, 0.5: the middle of the capitals, 1: their top
	Upward bool    // read from bottom to top
}

// The type sizes of all figures, readable at the width of a notebook.
var (
	TitleType = Type{Size: 13.5, Bold: true, Color: Black}
	HeadType  = Type{Size: 11.5, Bold: true, Color: Black, AlignX: 0.5}
	LabelType = Type{Size: 11, Color: Black, AlignX: 0.5}
	TickType  = Type{Size: 10, Color: Grey}
	NoteType  = Type{Size: 9.5, Color: Grey}
)

// capHeight is the height of Liberation Sans' capitals, as a fraction of the size.
const capHeight = 0.69

// Leading is the distance between two baselines.
func (t Type) Leading() vg.Length { return 1.3 * t.Size }

// Align returns t with other alignments.
func (t Type) Align(x, y float64) Type { t.AlignX, t.AlignY = x, y; return t }

// Tinted returns t in another colour.
func (t Type) Tinted(c color.Color) Type { t.Color = c; return t }

// Width returns the length of one line of text.
func (t Type) Width(text string) vg.Length {
	glyphs := t.layout(text)
	if len(glyphs) == 0 {
		return 0
	}
	last := glyphs[len(glyphs)-1]
	return last.x + last.advance
}

// Wrap breaks text between words into lines no wider than width; a single word may be wider.
// A statement such as ε = 10 or 3 ± 1 is one word, unless a line is too narrow for it.
func (t Type) Wrap(text string, width vg.Length) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line := ""
		for _, word := range t.words(paragraph, width) {
			longer := strings.TrimPrefix(line+" "+word, " ")
			if line != "" && t.Width(longer) > width {
				lines = append(lines, line)
				longer = word
			}
			line = longer
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// words are those of a paragraph, with both sides of a relation kept together where they fit on a line.
func (t Type) words(paragraph string, width vg.Length) []string {
	var words []string
	fields := strings.Fields(paragraph)
	for i := 0; i < len(fields); i++ {
		if last := len(words) - 1; last >= 0 && i+1 < len(fields) && strings.Contains("= ≈ ≤ ≥ < > ±", fields[i]) {
			if whole := words[last] + " " + fields[i] + " " + fields[i+1]; t.Width(whole) <= width {
				words[last] = whole
				i++
				continue
			}
		}
		words = append(words, fields[i])
	}
	return words
}

// Fit is Wrap, and breaks words as well that are wider than width.
func (t Type) Fit(text string, width vg.Length) (lines []string) {
	for _, line := range t.Wrap(text, width) {
		rest := []rune(line)
		for t.Width(string(rest)) > width && len(rest) > 1 {
			end := 1
			for t.Width(string(rest[:end+1])) <= width {
				end++
			}
			lines, rest = append(lines, string(rest[:end])), rest[end:]
		}
		lines = append(lines, string(rest))
	}
	return lines
}

// Draw sets one line of text at a point. The letters are drawn as outlines: so a figure looks the same
// as PNG, SVG and PDF, on machines without our fonts, and with every letter the font has (the PDF canvas
// knows only Western European text).
func (t Type) Draw(c vg.Canvas, at vg.Point, text string) {
	glyphs := t.layout(text)
	shiftX := -vg.Length(t.AlignX) * t.Width(text)
	shiftY := -vg.Length(t.AlignY) * capHeight * t.Size
	var path vg.Path
	for _, g := range glyphs {
		place := func(p fixed.Point26_6) vg.Point {
			x := shiftX + g.x + g.scale*vg.Length(p.X)
			y := shiftY + g.y - g.scale*vg.Length(p.Y) // fonts count downwards
			if t.Upward {
				x, y = -y, x
			}
			return vg.Point{X: at.X + x, Y: at.Y + y}
		}
		open := false
		for _, s := range g.outline {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if open {
					path.Close()
				}
				open = true
				path.Move(place(s.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(place(s.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(place(s.Args[0]), place(s.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(place(s.Args[0]), place(s.Args[1]), place(s.Args[2]))
			}
		}
		if open {
			path.Close()
		}
	}
	if len(path) > 0 {
		c.SetColor(t.Color)
		c.Fill(path)
	}
}

// glyph is one letter, placed relative to the start of its line.
type glyph struct {
	outline       sfnt.Segments
	x, y, advance vg.Length
	scale         vg.Length // of a font unit
}

// layout places the letters of one line, with kerning.
func (t Type) layout(text string) []glyph {
	face := regular()
	if t.Bold {
		face = bold()
	}
	for letter, spelled := range absent {
		text = strings.ReplaceAll(text, letter, spelled)
	}
	text = negative.ReplaceAllString(text, "${1}−${2}")
	var (
		buffer   sfnt.Buffer
		glyphs   []glyph
		x        vg.Length
		previous sfnt.GlyphIndex
		unit     = fixed.Int26_6(face.UnitsPerEm()) // one 26.6 step is then one font unit
	)
	for _, letter := range text {
		size, rise := t.Size, vg.Length(0)
		if base, ok := superscript[letter]; ok {
			letter, size, rise = base, 0.66*t.Size, 0.36*t.Size
		} else if base, ok := subscript[letter]; ok {
			letter, size, rise = base, 0.66*t.Size, -0.16*t.Size
		}
		index, err := face.GlyphIndex(&buffer, letter)
		if err != nil {
			continue
		}
		scale := size / vg.Length(face.UnitsPerEm())
		if kern, err := face.Kern(&buffer, previous, index, unit, font.HintingNone); err == nil && previous != 0 {
			x += scale * vg.Length(kern)
		}
		g := glyph{x: x, y: rise, scale: scale}
		if advance, err := face.GlyphAdvance(&buffer, index, unit, font.HintingNone); err == nil {
			g.advance = scale * vg.Length(advance)
		}
		if outline, err := face.LoadGlyph(&buffer, index, unit, nil); err == nil {
			g.outline = append(sfnt.Segments(nil), outline...) // LoadGlyph reuses its buffer
		}
		glyphs = append(glyphs, g)
		x += g.advance
		previous = index
	}
	return glyphs
}

var (
	regular = sync.OnceValue(func() *sfnt.Font { return liberation(font.WeightNormal) })
	bold    = sync.OnceValue(func() *sfnt.Font { return liberation(font.WeightBold) })
)

func liberation(weight font.Weight) *sfnt.Font {
	return plotfont.DefaultCache.Lookup(plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, 10).Face
}

// Super- and subscripts are drawn as small raised and lowered letters: the font has only some of them,
// and those at differing heights.
var (
	superscript = scripts("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+−n")
	subscript   = scripts("₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789+−aehijklmnoprstuvx")
)

func scripts(from, to string) map[rune]rune {
	bases, table := []rune(to), map[rune]rune{}
	for i, letter := range []rune(from) {
		table[letter] = bases[i]
	}
	return table
}

// negative is a number that %.2f and the like have written: its hyphen is set as a true minus sign.
var negative = regexp.MustCompile(`(^|[\s(])-(\d)`)

// absent spells mathematical letters that the font lacks.
var absent = map[string]string{
	"∇": "grad ", "∈": "in", "∝": "~", "ℝ": "R", "𝔼": "E", "⊕": "+", "∗": "*", "★": "*", "↦": "→", "⟨": "‹", "⟩": "›",
}

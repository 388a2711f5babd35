package sheet

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"molehill/pkg/atomicfile"
)

// Sheet is a figure ready to be drawn: a title above, the body, and notes below on a white ground.
type Sheet struct {
	Title  string
	Notes  []string  // caption and what was left out; wrapped, one paragraph each
	Width  vg.Length // of the whole sheet
	Height vg.Length // of the body alone
	Photo  bool      // contains images: 256 colours whatever the size of the file
	Body   func(c draw.Canvas)
}

const (
	margin = 9 * vg.Length(1)
	gap    = 8 * vg.Length(1)
)

// BodyWidth returns the width left for the body.
func (s *Sheet) BodyWidth() vg.Length { return s.Width - 2*margin }

// SetBodyWidth makes the sheet as wide as its body needs.
func (s *Sheet) SetBodyWidth(width vg.Length) { s.Width = width + 2*margin }

// Resolution of a PNG in dots per inch: two dots for each CSS pixel, sharp on dense screens.
const Resolution = 192

// limit bounds the pixels of a PNG (64 million: 256 MB of memory while drawing).
const limit = 64 << 20

// PNG draws the sheet and writes it as a paletted PNG with dpi dots per inch.
func (s *Sheet) PNG(w io.Writer, dpi int) error {
	width, height, err := s.size()
	if err != nil {
		return err
	}
	if pixels := width.Dots(float64(dpi)) * height.Dots(float64(dpi)); pixels > limit {
		return fmt.Errorf("viz: the figure would have %.0f million pixels and the limit is %d million: draw fewer rows or columns",
			pixels/1e6, limit/1000000)
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	if err := s.draw(canvas); err != nil {
		return err
	}
	img, ok := canvas.Image().(*image.RGBA)
	if !ok {
		return fmt.Errorf("viz: the canvas of gonum/plot holds a %T: expected an *image.RGBA", canvas.Image())
	}
	return encode(w, img, s.Photo)
}

// Save writes the sheet to a file in the format that the path's ending names: .png, .svg or .pdf. The
// file appears whole or not at all; what was there before stays until then.
func (s *Sheet) Save(path string) error {
	var content bytes.Buffer
	write := func(open func(w, h vg.Length) vg.CanvasWriterTo) error {
		width, height, err := s.size()
		if err != nil {
			return err
		}
		canvas := open(width, height)
		if err := s.draw(canvas); err != nil {
			return err
		}
		_, err = canvas.WriteTo(&content)
		return err
	}
	var err error
	switch format := strings.ToLower(filepath.Ext(path)); format {
	case ".png":
		err = s.PNG(&content, Resolution)
	case ".svg":
		err = write(func(w, h vg.Length) vg.CanvasWriterTo { return vgsvg.New(w, h) })
	case ".pdf":
		err = write(func(w, h vg.Length) vg.CanvasWriterTo { return vgpdf.New(w, h) })
	default:
		return fmt.Errorf("viz: cannot save %q: expected a path that ends in .png, .svg or .pdf, found %q", path, format)
	}
	if err != nil {
		return err
	}
	// The SVG canvas of gonum calls its PNGs JPEGs, which strict viewers refuse.
	text := bytes.ReplaceAll(content.Bytes(), []byte("data:image/jpg;base64,iVBORw"), []byte("data:image/png;base64,iVBORw"))
	if err := atomicfile.Write(path, 0o644, atomicfile.Content(text)); err != nil {
		return fmt.Errorf("viz: saving %s: %w", path, err)
	}
	return nil
}

func (s *Sheet) size() (width, height vg.Length, err error) {
	width = s.Width
	height = s.Height + 2*margin + s.headHeight() + s.noteHeight()
	if width.Points() > 14400 || height.Points() > 14400 || !(width > 2*margin) || !(s.Height > 0) {
		return 0, 0, fmt.Errorf("viz: a figure of %.0f × %.0f pixels cannot be drawn: expected between 1 and 19200 each way",
			float64(width/CSS), float64(height/CSS))
	}
	return width, height, nil
}

func (s *Sheet) titleLines() []string { return TitleType.Wrap(s.Title, s.BodyWidth()) }

func (s *Sheet) headHeight() vg.Length {
	n := len(s.titleLines())
	if n == 0 {
		return 0
	}
	return vg.Length(n)*TitleType.Leading() + gap - 2
}

func (s *Sheet) noteLines() (lines []string) {
	for _, note := range s.Notes {
		lines = append(lines, NoteType.Wrap(note, s.BodyWidth())...)
	}
	return lines
}

func (s *Sheet) noteHeight() vg.Length {
	n := len(s.noteLines())
	if n == 0 {
		return 0
	}
	return vg.Length(n)*NoteType.Leading() + gap
}

// draw fills the canvas. The plotters of gonum panic on input that they cannot draw; here that becomes
// an error.
func (s *Sheet) draw(canvas vg.CanvasSizer) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("viz: the figure %q could not be drawn: %v", s.Title, cause)
		}
	}()
	c := draw.New(canvas)
	c.SetColor(White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)

	y := c.Max.Y
	for _, line := range s.titleLines() {
		TitleType.Align(0, 1).Draw(c, vg.Point{X: c.Min.X, Y: y}, line)
		y -= TitleType.Leading()
	}
	y = c.Min.Y + s.noteHeight() - gap
	for _, line := range s.noteLines() {
		NoteType.Align(0, 1).Draw(c, vg.Point{X: c.Min.X, Y: y}, line)
		y -= NoteType.Leading()
	}
	s.Body(draw.Crop(c, 0, 0, s.noteHeight(), -s.headHeight()))
	return nil
}

package pictures

import (
	"image"
	"image/color"
	"math"
)

// pixels is an image of values in [0, 1].
type pixels struct {
	shape  Shape
	values []float32
}

// ColorModel implements image.Image.
func (p *pixels) ColorModel() color.Model { return color.RGBA64Model }

// Bounds implements image.Image.
func (p *pixels) Bounds() image.Rectangle { return image.Rect(0, 0, p.shape.Width, p.shape.Height) }

// At implements image.Image.
func (p *pixels) At(x, y int) color.Color {
	at := p.values[(y*p.shape.Width+x)*p.shape.Channels:]
	level := func(v float32) uint16 { return uint16(math.Round(float64(v) * 65535)) }
	if p.shape.Channels == 1 {
		v := level(at[0])
		return color.RGBA64{v, v, v, 65535}
	}
	return color.RGBA64{level(at[0]), level(at[1]), level(at[2]), 65535}
}

package viz

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"molehill/viz/internal/sheet"
)

// Images is a grid of small images, each pixel a sharp square.
type Images struct {
	Title, Caption string
	X              []float32 // [n, Height*Width*Channels] row-major HWC, values in [0, 1]; others are clipped
	Height, Width  int       // of one image, in pixels
	Channels       int       // 1 (0 means 1) for grey, 3 for red, green, blue
	Cols           int       // images in a row; 0 makes the grid about square, or one row for each label
	RowLabels      []string  // names of the rows, to the left; or nil
	Scale          int       // CSS pixels for each pixel of an image; 0 chooses 1 to 4 by the size of the grid
	Invert         bool      // draw 0 white and 1 black, as ink on paper
}

// SquareImages returns the rows of x, [n, pixels], as images: grey where pixels is
// side², red, green and blue where it is 3·side².
func SquareImages(x []float32, pixels int) (Images, error) {
	for _, channels := range []int{1, 3} {
		side := int(math.Sqrt(float64(pixels / channels)))
		if side > 0 && side*side*channels == pixels {
			return Images{X: x, Height: side, Width: side, Channels: channels}, nil
		}
	}
	return Images{}, fmt.Errorf("viz: rows of %d numbers are no square images: expected side² for grey or 3·side² for colours", pixels)
}

// Heading returns the title.
func (f Images) Heading() string { return f.Title }

// PNG implements Figure.
func (f Images) PNG(w io.Writer) error { return writePNG(w, f) }

// Save implements Figure.
func (f Images) Save(path string) error { return save(path, f) }

func (f Images) caption() string { return f.Caption }

// imageGap is the gap between images in pixels of the images at scale 1, and at most this share of
// their width.
const imageGap = 2

// dot is one dot of a PNG.
const dot = vg.Inch / sheet.Resolution

func (f Images) illustrate() (*picture, error) {
	f, n, err := f.complete()
	if err != nil {
		return nil, err
	}
	rows := (n + f.Cols - 1) / f.Cols
	if len(f.RowLabels) > 0 && len(f.RowLabels) != rows {
		return nil, fmt.Errorf("viz: Images has %s and %d row labels: expected one label for each of the %s of %s",
			sheet.Count(n, "image"), len(f.RowLabels), sheet.Count(rows, "row"), sheet.Count(f.Cols, "image"))
	}
	labels := vg.Length(0)
	for _, label := range f.RowLabels {
		labels = max(labels, sheet.LabelType.Width(label)+panelGap)
	}
	wide, high := f.Cols*(f.Width+imageGap)-imageGap, rows*(f.Height+imageGap)-imageGap
	scale := f.Scale
	if scale <= 0 {
		room := float64((sheet.NotebookWidth - 18 - labels) / sheet.CSS)
		scale = int(min(4, room/float64(wide), 640/float64(high)))
		scale = max(scale, 1)
	}
	pixel := vg.Length(scale) * sheet.CSS
	raster, bad := f.raster(n, wide, high)
	p := &picture{
		aspect: float64(high) / float64(wide),
		pixels: vg.Length(wide),
		width:  labels + vg.Length(wide)*pixel,
		height: vg.Length(high) * pixel,
		draw: func(c draw.Canvas) {
			drawRaster(draw.Crop(c, labels, 0, 0, 0), raster)
			for i, label := range f.RowLabels {
				middle := (float64(i)*float64(f.Height+imageGap) + float64(f.Height)/2) / float64(high)
				at := vg.Point{X: c.Min.X + labels - panelGap, Y: c.Max.Y - vg.Length(middle)*(c.Max.Y-c.Min.Y)}
				sheet.LabelType.Align(1, 0.5).Draw(c, at, label)
			}
		},
	}
	if bad > 0 {
		p.notes = []string{fmt.Sprintf("Drawn in blue: %s that %s not finite.", sheet.Count(bad, "pixel value"), map[bool]string{true: "is", false: "are"}[bad == 1])}
	}
	return p, nil
}

// complete checks the shape, fills in what was left 0 and counts the images.
func (f Images) complete() (Images, int, error) {
	if f.Channels == 0 {
		f.Channels = 1
	}
	each := f.Height * f.Width * f.Channels
	switch {
	case f.Height <= 0 || f.Width <= 0 || f.Height > 4096 || f.Width > 4096:
		return f, 0, fmt.Errorf("viz: Images has height %d and width %d: expected 1 to 4096 pixels each", f.Height, f.Width)
	case f.Channels != 1 && f.Channels != 3:
		return f, 0, fmt.Errorf("viz: Images has %d channels: expected 1 (grey) or 3 (red, green, blue)", f.Channels)
	case len(f.X) == 0:
		return f, 0, errEmpty("Images", "image")
	case len(f.X)%each != 0:
		return f, 0, fmt.Errorf("viz: Images has %d values: expected a multiple of %d = %d×%d×%d, the height, width and channels of one image",
			len(f.X), each, f.Height, f.Width, f.Channels)
	}
	n := len(f.X) / each
	if f.Cols <= 0 {
		f.Cols = int(math.Ceil(math.Sqrt(float64(n))))
		if rows := len(f.RowLabels); rows > 0 {
			f.Cols = (n + rows - 1) / rows
		}
	}
	f.Cols = min(f.Cols, n)
	return f, n, nil
}

// raster paints all images with one dot for each pixel, white between them.
func (f Images) raster(n, wide, high int) (raster *image.RGBA, bad int) {
	raster = image.NewRGBA(image.Rect(0, 0, wide, high))
	for i := range raster.Pix {
		raster.Pix[i] = 0xff
	}
	each := f.Height * f.Width * f.Channels
	for i := range n {
		left, top := i%f.Cols*(f.Width+imageGap), i/f.Cols*(f.Height+imageGap)
		for k := range f.Height * f.Width {
			var shade [3]uint8
			finite := true
			for channel := range 3 {
				v := float64(f.X[i*each+k*f.Channels+channel%f.Channels])
				if math.IsNaN(v) || math.IsInf(v, 0) {
					finite = false
				}
				shade[channel] = f.shade(v)
			}
			pixel := color.RGBA{shade[0], shade[1], shade[2], 0xff}
			if !finite {
				bad++
				pixel = color.RGBA(sheet.Blue)
			}
			raster.SetRGBA(left+k%f.Width, top+k/f.Width, pixel)
		}
	}
	return raster, bad
}

// shade turns a value in [0, 1] into a level. Grey images get 64 levels: the eye sees no difference and
// the file is a third smaller.
func (f Images) shade(v float64) uint8 {
	v = min(max(v, 0), 1)
	if f.Invert {
		v = 1 - v
	}
	if f.Channels == 1 {
		v = math.Round(v*63) / 63
	}
	return uint8(math.Round(v * 255))
}

// drawRaster enlarges the raster by the largest whole number of dots that fits into c, in the middle
// and at whole dots, so that every pixel becomes a sharp square of equal size.
func drawRaster(c draw.Canvas, raster *image.RGBA) {
	bounds, room := raster.Bounds(), c.Size()
	fit := min(float64(room.X/dot)/float64(bounds.Dx()), float64(room.Y/dot)/float64(bounds.Dy()))
	if fit < 1 {
		fit = 1 / math.Ceil(1/(fit+1e-6)) // smaller than the dots: left to the canvas
	} else {
		fit = math.Floor(fit + 1e-6)
	}
	width, height := vg.Length(fit*float64(bounds.Dx()))*dot, vg.Length(fit*float64(bounds.Dy()))*dot
	whole := func(l vg.Length) vg.Length { return vg.Length(math.Round(float64(l/dot))) * dot }
	left, bottom := whole(c.Min.X+(room.X-width)/2), whole(c.Max.Y-(room.Y-height)/2-height)
	rect := vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: left + width, Y: bottom + height}}
	c.DrawImage(rect, enlarge(raster, max(int(fit), 1)))
}

// enlarge repeats every pixel, so that no canvas or viewer blurs it.
func enlarge(src *image.RGBA, factor int) *image.RGBA {
	bounds := src.Bounds()
	dst := image.NewRGBA(image.Rect(0, 0, bounds.Dx()*factor, bounds.Dy()*factor))
	for y := range bounds.Dy() {
		line := dst.Pix[y*factor*dst.Stride : (y*factor+1)*dst.Stride]
		for x := range bounds.Dx() {
			pixel := src.Pix[y*src.Stride+4*x : y*src.Stride+4*x+4]
			for k := range factor {
				copy(line[4*(x*factor+k):], pixel)
			}
		}
		for k := 1; k < factor; k++ {
			copy(dst.Pix[(y*factor+k)*dst.Stride:], line)
		}
	}
	return dst
}

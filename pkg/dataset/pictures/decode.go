package pictures

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // decodes what it registers
	_ "image/png"  // and so does this
	"io"
	"sync"

	"golang.org/x/image/draw"
)

// Limits of a file: beyond them it counts as damaged, and no memory is taken for it.
const (
	MaxBytes  = 32 << 20 // of a file
	MaxPixels = 1 << 25  // of an image, 33 million
	maxLine   = 10_000   // pixels of a side

	// densest is more pixels than a byte of any PNG or JPEG can hold: of PNG, deflate
	// makes up to 1032 bytes of one, and a byte holds up to 8 pixels.
	densest = 8 * 1032
	// maxScans is more than any camera makes: a progressive JPEG has ten or so, and
	// small pictures of it in its header some more.
	maxScans = 100
	// heavy images, by pixels, are decoded one at a time.
	heavy = 1 << 22
)

// Why a file is not taken as it is.
var (
	errBytes  = fmt.Errorf("files of more than %d MiB", MaxBytes>>20)
	errPixels = fmt.Errorf("images of more than %d pixels, or a side of more than %d", MaxPixels, maxLine)
	errImage  = errors.New("files that are no whole PNG or JPEG image")
	errRead   = errors.New("files that cannot be read")
	errClass  = errors.New("images of no class of the schema")
	errRange  = errors.New("images with values below 0 or above the schema's white")
)

// read writes the image of a file to dst, as fit does. The header is believed only as
// far as the file could hold what it says.
func (s Images) read(dst []float32, from io.Reader) (err error) {
	data, err := io.ReadAll(io.LimitReader(from, MaxBytes+1))
	if err != nil {
		return errRead
	}
	defer func() {
		if recover() != nil { // a decoder's slip must not tell of a record either
			err = errImage
		}
	}()
	config, err := headerOf(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if scans(data) > maxScans {
		return errImage
	}
	// What scaling needs has the file's height and the schema's width.
	if max(config.Width, s.Width)*config.Height > heavy {
		heavily.Lock()
		defer heavily.Unlock()
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil || img.Bounds().Dx() != config.Width || img.Bounds().Dy() != config.Height {
		return errImage
	}
	s.fit(dst, img)
	return nil
}

// headerOf reads what a file of so many bytes says of its image, and why it is not taken.
func headerOf(from io.Reader, size int64) (image.Config, error) {
	if size > MaxBytes {
		return image.Config{}, errBytes
	}
	config, _, err := image.DecodeConfig(from)
	switch {
	case err != nil || config.Width < 1 || config.Height < 1:
		return config, errImage
	case config.Width > maxLine || config.Height > maxLine || config.Width*config.Height > MaxPixels:
		return config, errPixels
	case int64(config.Width*config.Height/densest) > size:
		return config, errImage
	}
	return config, nil
}

// Markers of a JPEG (ITU-T T.81, Table B.1).
const (
	startOfImage = 0xd8
	endOfImage   = 0xd9
	startOfScan  = 0xda
)

// scans counts the passes over its pixels that a JPEG has: each takes time, however
// few its bytes are.
func scans(data []byte) (count int) {
	if !bytes.HasPrefix(data, []byte{0xff, startOfImage}) {
		return 0
	}
	for at := 2; at+3 < len(data); {
		next := bytes.IndexByte(data[at:], 0xff)
		if next < 0 || at+next+3 >= len(data) {
			break
		}
		at += next + 1
		switch marker := data[at]; {
		case marker == 0xff: // fills
		case marker == endOfImage:
			return count // what follows is not looked at
		case marker == 0 || marker >= 0xd0 && marker <= startOfImage:
			at++ // a byte of a scan that is escaped, or a marker that stands alone
		default:
			if marker == startOfScan {
				count++
			}
			at += 1 + (int(data[at+1])<<8 | int(data[at+2]))
		}
	}
	return count
}

var heavily sync.Mutex

// grey is what stands for an image that there is none of.
const grey = 0.5

func fillGrey(dst []float32) {
	for i := range dst {
		dst[i] = grey
	}
}

// fit writes an image, brought to the schema's shape, to dst: pixels in [0, 1], what
// is transparent on white. It depends on the image and the schema alone.
func (s Images) fit(dst []float32, img image.Image) {
	from, to := img.Bounds(), image.Rect(0, 0, s.Width, s.Height)
	w, h := from.Dx(), from.Dy()
	switch {
	case s.Fit == Crop && w*s.Height > h*s.Width: // wider than the schema
		part := max(1, h*s.Width/s.Height)
		from.Min.X += (w - part) / 2
		from.Max.X = from.Min.X + part
	case s.Fit == Crop:
		part := max(1, w*s.Height/s.Width)
		from.Min.Y += (h - part) / 2
		from.Max.Y = from.Min.Y + part
	case s.Fit == Pad && w*s.Height > h*s.Width:
		part := max(1, h*s.Width/w)
		to.Min.Y = (s.Height - part) / 2
		to.Max.Y = to.Min.Y + part
	case s.Fit == Pad:
		part := max(1, w*s.Height/h)
		to.Min.X = (s.Width - part) / 2
		to.Max.X = to.Min.X + part
	}
	canvas := image.NewRGBA(image.Rect(0, 0, s.Width, s.Height))
	draw.Draw(canvas, canvas.Bounds(), image.Black, image.Point{}, draw.Src)
	draw.Draw(canvas, to, image.White, image.Point{}, draw.Src)
	if from.Size() == to.Size() {
		draw.Draw(canvas, to, img, from.Min, draw.Over)
	} else {
		draw.BiLinear.Scale(canvas, to, img, from, draw.Over, nil)
	}
	for i := range s.Width * s.Height {
		r, g, b := canvas.Pix[4*i], canvas.Pix[4*i+1], canvas.Pix[4*i+2]
		if s.Channels == 3 {
			dst[3*i], dst[3*i+1], dst[3*i+2] = float32(r)/255, float32(g)/255, float32(b)/255
			continue
		}
		dst[i] = float32(color.GrayModel.Convert(color.RGBA{r, g, b, 255}).(color.Gray).Y) / 255
	}
}

package pictures

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A left half of red and a right half of blue, of half the height.
func halves() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(10, 20, 18, 24))
	for y := 20; y < 24; y++ {
		for x := 10; x < 18; x++ {
			c := color.NRGBA{255, 0, 0, 255}
			if x >= 14 {
				c = color.NRGBA{0, 0, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// striped is an image of 16×4 pixels, or of 4×16: two lines of red and two of blue across
// its middle, green at both ends.
func striped(tall bool) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(-3, 5, 13, 9))
	if tall {
		img = image.NewNRGBA(image.Rect(-3, 5, 1, 21))
	}
	for along := range 16 {
		c := color.NRGBA{0, 255, 0, 255}
		switch along {
		case 6, 7:
			c = color.NRGBA{255, 0, 0, 255}
		case 8, 9:
			c = color.NRGBA{0, 0, 255, 255}
		}
		for across := range 4 {
			if tall {
				img.SetNRGBA(-3+across, 5+along, c)
			} else {
				img.SetNRGBA(-3+along, 5+across, c)
			}
		}
	}
	return img
}

func TestImagesAreFitByARule(t *testing.T) {
	red, blue, black := [3]float32{1, 0, 0}, [3]float32{0, 0, 1}, [3]float32{}
	for fit, want := range map[Fit]map[image.Point][3]float32{
		Crop:    {{0, 0}: red, {0, 3}: red, {3, 0}: blue, {3, 3}: blue},
		Stretch: {{0, 0}: red, {0, 3}: red, {3, 0}: blue, {3, 3}: blue},
		Pad:     {{0, 0}: black, {3, 0}: black, {0, 1}: red, {3, 2}: blue, {0, 3}: black},
	} {
		s := Images{Shape: Shape{4, 4, 3}, Fit: fit}
		dst := make([]float32, s.Dim())
		s.fit(dst, halves())
		for at, c := range want {
			if got := [3]float32(dst[3*(4*at.Y+at.X):]); got != c {
				t.Errorf("%s: the pixel at %v is %v, want %v", fit, at, got, c)
			}
		}
	}
	// What is cut off, squeezed and framed of images that are too wide or too tall: green,
	// with two lines of red and two of blue in its middle.
	green := [3]float32{0, 1, 0}
	for fit, want := range map[Fit][4][4][3]float32{ // by place along the image and across it
		Crop:    {{red, red, red, red}, {red, red, red, red}, {blue, blue, blue, blue}, {blue, blue, blue, blue}},
		Stretch: {{green, green, green, green}, {}, {}, {green, green, green, green}},
		Pad:     {{black, green, black, black}, {}, {}, {black, green, black, black}},
	} {
		for _, tall := range []bool{false, true} {
			s := Images{Shape: Shape{4, 4, 3}, Fit: fit}
			dst := make([]float32, s.Dim())
			s.fit(dst, striped(tall))
			for along, line := range want {
				for across, c := range line {
					at := 4*across + along
					if tall {
						at = 4*along + across
					}
					if got := [3]float32(dst[3*at:]); got != c && line != [4][3]float32{} { // between colours they mix
						t.Errorf("%s, tall %v: pixel %d along and %d across is %v, want %v", fit, tall, along, across, got, c)
					}
				}
			}
		}
	}
	// Of a lasting size nothing is resampled: every level comes out as it went in.
	ramp := image.NewGray(image.Rect(0, 0, 256, 1))
	for i := range ramp.Pix {
		ramp.Pix[i] = byte(i)
	}
	s := Images{Shape: Shape{1, 256, 1}, Fit: Crop}
	dst := make([]float32, 256)
	s.fit(dst, ramp)
	for i, v := range dst {
		if v != float32(i)/255 {
			t.Fatalf("level %d became %v", i, 255*v)
		}
	}
	// What is transparent is white; extreme shapes are no slip.
	s = Images{Shape: Shape{2, 2, 1}, Fit: Pad}
	s.fit(dst[:4], image.NewNRGBA(image.Rect(0, 0, 2, 2)))
	if dst[0] != 1 {
		t.Error("transparent pixels became", dst[0])
	}
	for _, fit := range Fits {
		s.Fit = fit
		s.fit(dst[:4], shade(1, 500, 255))
		s.fit(dst[:4], shade(500, 1, 255))
	}
}

func TestScansAreCounted(t *testing.T) {
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, shade(40, 30, 77), nil); err != nil {
		t.Fatal(err)
	}
	segment := func(marker byte, content string) string {
		return string([]byte{0xff, marker, byte((len(content) + 2) >> 8), byte(len(content) + 2)}) + content
	}
	scan := segment(startOfScan, "\x01\x01\x00\x00\x00\x00") + "a\xff\x00b\xff\xd0c"
	for data, want := range map[string]int{
		plain.String(): 1,
		plain.String() + strings.Repeat("\xff\xda", 200):                                1, // behind its end
		"\xff\xd8" + segment(0xe1, strings.Repeat("\xff\xda", 200)) + scan + "\xff\xd9": 1, // in its header
		"\xff\xd8" + strings.Repeat(scan, 7) + "\xff\xff" + scan[1:] + "\xff\xd9":       8,
		"\xff\xd8" + strings.Repeat(scan, 7):                                            7,
		"\xff\xd8\xff":                                                                  0,
		"\xff\xd8\xff\xda":                                                              0,
		"\x89PNG\xff\xda\xff":                                                           0,
	} {
		if got := scans([]byte(data)); got != want {
			t.Errorf("%d scans in %.20q of %d bytes; want %d", got, data, len(data), want)
		}
	}
	s := Images{Shape: Shape{4, 4, 1}, Fit: Crop}
	end := bytes.LastIndex(plain.Bytes(), []byte{0xff, endOfImage})
	if err := s.read(make([]float32, 16), strings.NewReader(plain.String())); err != nil {
		t.Error(err)
	}
	if err := s.read(make([]float32, 16), strings.NewReader(plain.String()[:end]+strings.Repeat(scan, maxScans)+"\xff\xd9")); err != errImage {
		t.Errorf("a JPEG of %d scans: %v", maxScans+1, err)
	}
}

// watched is an image that tells when it is decoded and when its last pixel was asked
// for.
type watched struct {
	side int
	last func()
}

func (watched) ColorModel() color.Model { return color.GrayModel }
func (w watched) Bounds() image.Rectangle {
	return image.Rect(0, 0, w.side, w.side)
}
func (w watched) At(x, y int) color.Color {
	if x == w.side-1 && y == w.side-1 {
		w.last()
	}
	return color.Gray{128}
}

// Of images that take much memory one at a time is in it, from before it is decoded
// until it has been scaled, however many are read at once; small ones do not wait.
func TestHeavyImagesAreReadOneAtATime(t *testing.T) {
	const (
		name = "watched" // what such a file begins with; then there is an h, or not
		big  = 2100      // pixels of a side
	)
	if big*big <= heavy {
		t.Fatal("no heavy image")
	}
	var at, most atomic.Int32
	small := make(chan struct{}) // closed when a small image has been read
	side := func(from io.Reader) int {
		text, err := io.ReadAll(from)
		if err != nil || text[len(name)] != 'h' {
			return 4
		}
		return big
	}
	image.RegisterFormat(name, name, func(from io.Reader) (image.Image, error) {
		w := watched{side: side(from), last: func() {}}
		if w.side == big {
			now := at.Add(1)
			for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			var once sync.Once
			w.last = func() { once.Do(func() { at.Add(-1) }) }
			select {
			case <-small:
			case <-time.After(20 * time.Second):
				t.Error("a small image waits for a heavy one")
			}
		}
		return w, nil
	}, func(from io.Reader) (image.Config, error) {
		side := side(from)
		return image.Config{Width: side, Height: side}, nil
	})
	s := Images{Shape: Shape{2, 2, 1}, Fit: Stretch}
	file := func(kind string) io.Reader { return strings.NewReader(name + kind + strings.Repeat(" ", big)) }
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			if err := s.read(make([]float32, 4), file("h")); err != nil {
				t.Error(err)
			}
		})
	}
	for at.Load() == 0 { // until one is at it
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // the others would be, too
	if err := s.read(make([]float32, 4), file("l")); err != nil {
		t.Error(err)
	}
	close(small)
	readers.Wait()
	if most.Load() != 1 || at.Load() != 0 {
		t.Errorf("%d heavy images were in memory at once, %d still are", most.Load(), at.Load())
	}
}

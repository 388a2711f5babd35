package pictures

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// array is an array of numbers in NumPy's .npy format, whose values are read when
// they are asked for.
type array struct {
	kind  string // NumPy's name of the type without its order, "u1"
	shape []int
	data  []byte
	size  int // bytes of a value
}

// npyHeader matches the header of an array.
var npyHeader = regexp.MustCompile(`^\{'descr': '([<|=]?[a-zA-Z]\d+)', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\),? *\}\s*$`)

// sizes of values of NumPy's types, in bytes.
var sizes = map[string]int{"b1": 1, "u1": 1, "i1": 1, "u2": 2, "i2": 2, "u4": 4, "i4": 4, "u8": 8, "i8": 8, "f4": 4, "f8": 8}

// parseArray reads an array. It takes no more memory than data has, whatever the
// header says.
func parseArray(data []byte) (array, error) {
	const magic = "\x93NUMPY"
	if len(data) < 12 || string(data[:6]) != magic {
		return array{}, fmt.Errorf("expected NumPy's .npy format, found %q", data[:min(6, len(data))])
	}
	length, start := int(binary.LittleEndian.Uint16(data[8:])), 10
	if data[6] > 1 {
		length, start = int(min(binary.LittleEndian.Uint32(data[8:]), math.MaxInt32)), 12
	}
	if length > len(data)-start {
		return array{}, fmt.Errorf("expected a header of %d bytes, found %d", length, len(data)-start)
	}
	match := npyHeader.FindSubmatch(data[start : start+length])
	if match == nil || string(match[2]) == "True" {
		return array{}, fmt.Errorf("expected an array of numbers in C order, found %.80q; save it with np.ascontiguousarray", data[start:start+length])
	}
	a := array{kind: strings.TrimLeft(string(match[1]), "<|="), data: data[start+length:]}
	if a.size = sizes[a.kind]; a.size == 0 {
		return array{}, fmt.Errorf("values are of type %q; expected whole or floating-point numbers", match[1])
	}
	count := 1
	for field := range strings.SplitSeq(string(match[3]), ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 || dim > math.MaxInt/16/count {
			return array{}, fmt.Errorf("shape (%s): expected numbers from 1", match[3])
		}
		a.shape, count = append(a.shape, dim), count*dim
	}
	if len(a.shape) == 0 || len(a.data) != count*a.size {
		return array{}, fmt.Errorf("shape (%s) needs %d bytes, found %d", match[3], count*a.size, len(a.data))
	}
	return a, nil
}

// at returns value i, row-major.
func (a array) at(i int) float64 {
	b, order := a.data[i*a.size:], binary.LittleEndian
	switch a.kind {
	case "i1":
		return float64(int8(b[0]))
	case "u2":
		return float64(order.Uint16(b))
	case "i2":
		return float64(int16(order.Uint16(b)))
	case "u4":
		return float64(order.Uint32(b))
	case "i4":
		return float64(int32(order.Uint32(b)))
	case "u8":
		return float64(order.Uint64(b))
	case "i8":
		return float64(int64(order.Uint64(b)))
	case "f4":
		return float64(math.Float32frombits(order.Uint32(b)))
	case "f8":
		return math.Float64frombits(order.Uint64(b))
	}
	return float64(b[0]) // b1, u1
}

// white is what a white pixel has in most arrays of that type.
func (a array) white() float64 {
	switch a.kind {
	case "f4", "f8", "b1":
		return 1
	case "u2":
		return 65535
	}
	return 255
}

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

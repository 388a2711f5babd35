package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// View is an array of numbers of any of NumPy's whole or floating-point types, little
// endian, whose values are read when they are asked for.
type View struct {
	Kind  string // NumPy's name of the type without its order, "u1"
	Shape []int
	Data  []byte // all values, row-major

	size int // bytes of a value
}

// header matches that of an array of numbers.
var header = regexp.MustCompile(`^\{'descr': '([<|=]?[a-zA-Z]\d+)', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\),? *\}\s*$`)

// sizes of values of NumPy's types, in bytes.
var sizes = map[string]int{"b1": 1, "u1": 1, "i1": 1, "u2": 2, "i2": 2, "u4": 4, "i4": 4, "u8": 8, "i8": 8, "f4": 4, "f8": 8}

// Look reads the header of an array and keeps data. It takes no memory beside that,
// whatever the header says.
func Look(data []byte) (View, error) {
	if len(data) < 12 || string(data[:len(magic)]) != magic {
		return View{}, fmt.Errorf("expected NumPy's .npy format, found %q", data[:min(len(magic), len(data))])
	}
	// After the format's version comes the header's length, from version 2.0 on in four
	// bytes.
	length, start := int(binary.LittleEndian.Uint16(data[8:])), 10
	if data[6] > 1 {
		length, start = int(min(binary.LittleEndian.Uint32(data[8:]), math.MaxInt32)), 12
	}
	if length > len(data)-start {
		return View{}, fmt.Errorf("expected a header of %d bytes, found %d", length, len(data)-start)
	}
	match := header.FindSubmatch(data[start : start+length])
	switch {
	case match == nil:
		return View{}, fmt.Errorf("expected an array of whole or floating-point numbers in this machine's byte order, found %.80q; convert it with astype, days to their number from 1970", data[start:start+length])
	case string(match[2]) == "True":
		return View{}, fmt.Errorf("expected an array in C order, found %.80q; save it with np.ascontiguousarray", data[start:start+length])
	}
	v := View{Kind: strings.TrimLeft(string(match[1]), "<|="), Data: data[start+length:]}
	if v.size = sizes[v.Kind]; v.size == 0 {
		return View{}, fmt.Errorf("values are of type %q; expected whole or floating-point numbers", match[1])
	}
	count := 1
	for field := range strings.SplitSeq(string(match[3]), ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue // after the last comma, and in ()
		}
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 || dim > math.MaxInt/16/count {
			return View{}, fmt.Errorf("shape (%s): expected numbers from 1", match[3])
		}
		v.Shape, count = append(v.Shape, dim), count*dim
	}
	if len(v.Data) != count*v.size {
		return View{}, fmt.Errorf("shape (%s) needs %d bytes, found %d", match[3], count*v.size, len(v.Data))
	}
	return v, nil
}

// Whole spells value i where values are whole numbers, with all digits: those of eight
// bytes may have more than a float64 keeps.
func (v View) Whole(i int) (text string, whole bool) {
	switch v.Kind {
	case "f4", "f8":
		return "", false
	case "u8":
		return strconv.FormatUint(binary.LittleEndian.Uint64(v.Data[i*v.size:]), 10), true
	case "i8":
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(v.Data[i*v.size:])), 10), true
	}
	return strconv.Itoa(int(v.At(i))), true
}

// At returns value i, row-major, rounded to a float64.
func (v View) At(i int) float64 {
	b, order := v.Data[i*v.size:], binary.LittleEndian
	switch v.Kind {
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

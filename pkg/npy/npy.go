// Package npy reads and writes arrays of floats in NumPy's formats: .npy, one
// array, and .npz, an archive of named ones. The readers of GoMLX and npyio trust a header: the one allocates whatever it asks
// for, the other panics on a file of another kind.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Float is the type of an array's values.
type Float interface{ float32 | float64 }

// descr is NumPy's name of the type, little endian.
func descr[T Float]() string {
	if _, double := any(T(0)).(float64); double {
		return "<f8"
	}
	return "<f4"
}

// Write writes an array of the given shape, row-major.
func Write(w io.Writer, shape []int, value []float32) error { return WriteOf(w, shape, value) }

// WriteOf is Write for arrays of T.
func WriteOf[T Float](w io.Writer, shape []int, value []T) error {
	size, axes := 1, ""
	for _, dim := range shape {
		if dim < 1 || dim > math.MaxInt32/size {
			return fmt.Errorf("npy: no array has the shape %v", shape)
		}
		size *= dim
		axes += strconv.Itoa(dim) + ", "
	}
	if size != len(value) {
		return fmt.Errorf("npy: shape %v has %d values, found %d", shape, size, len(value))
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr[T](), strings.TrimSuffix(axes, " "))
	// NumPy aligns the data to 64 bytes.
	padding := 63 - (len(magic)+2+len(text))%64
	text += strings.Repeat(" ", padding) + "\n"
	out := append([]byte(magic), byte(len(text)), byte(len(text)>>8))
	out, err := binary.Append(append(out, text...), binary.LittleEndian, value)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

const magic = "\x93NUMPY\x01\x00"

// header matches the header of a little-endian array of floats in C order.
var header = regexp.MustCompile(`^\{'descr': '(<f[48])', 'fortran_order': False, 'shape': \(([\d, ]*)\), *\} *\n$`)

// Read reads what Write wrote (version 1.0 of the format, the one of all arrays
// with short headers), as float32. It allocates what data holds, not what its
// header says.
func Read(data []byte) (shape []int, value []float32, err error) { return ReadOf[float32](data) }

// ReadOf is Read for arrays of T.
func ReadOf[T Float](data []byte) (shape []int, value []T, err error) {
	if len(data) < len(magic)+2 || string(data[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("expected NumPy's .npy format, version 1.0, found %q", data[:min(len(magic), len(data))])
	}
	data = data[len(magic):]
	length, data := int(binary.LittleEndian.Uint16(data)), data[2:]
	if length > len(data) {
		return nil, nil, fmt.Errorf("expected a header of %d bytes, found %d", length, len(data))
	}
	text, data := string(data[:length]), data[length:]
	match := header.FindStringSubmatch(text)
	if match == nil || match[1] != descr[T]() {
		return nil, nil, fmt.Errorf("expected an array of type '%s' in C order, found %q", descr[T](), text)
	}
	size := 1
	for _, field := range strings.Split(match[2], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue // after the last comma, and in ()
		}
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 || dim > math.MaxInt32/size {
			return nil, nil, fmt.Errorf("expected an array of some sensible shape, found (%s)", match[2])
		}
		shape, size = append(shape, dim), size*dim
	}
	if bytes := binary.Size(T(0)) * size; len(data) != bytes {
		return nil, nil, fmt.Errorf("shape (%s) needs %d bytes, found %d", match[2], bytes, len(data))
	}
	value = make([]T, size)
	_, err = binary.Decode(data, binary.LittleEndian, value)
	return shape, value, err
}

// Package npy reads and writes arrays of numbers in NumPy's formats: .npy, one array,
// and .npz, an archive of named ones. The readers of GoMLX and npyio trust a header: the
// one allocates whatever it asks for, the other panics on a file of another kind.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Number is the type of an array's values.
type Number interface{ float32 | float64 | uint16 }

// descr is NumPy's name of the type, little endian.
func descr[T Number]() string {
	switch any(T(0)).(type) {
	case float64:
		return "<f8"
	case uint16:
		return "<u2"
	}
	return "<f4"
}

// Write writes an array of the given shape, row-major.
func Write(w io.Writer, shape []int, value []float32) error { return WriteOf(w, shape, value) }

// WriteOf is Write for arrays of T.
func WriteOf[T Number](w io.Writer, shape []int, value []T) error {
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
	out, err := binary.Append(Header(descr[T](), strings.TrimSuffix(axes, " ")), binary.LittleEndian, value)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

const magic = "\x93NUMPY"

// Header is what stands before the values of an array, in version 1.0: its type as NumPy
// calls it, "<f4" for example, and its shape as Python writes it, "3, 4".
func Header(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	// NumPy aligns the data to 64 bytes.
	text += strings.Repeat(" ", 63-(len(magic)+4+len(text))%64) + "\n"
	return append(append([]byte(magic), 1, 0, byte(len(text)), byte(len(text)>>8)), text...)
}

// Read reads an array of float32, as Write writes it. It allocates what data holds,
// not what its header says.
func Read(data []byte) (shape []int, value []float32, err error) { return ReadOf[float32](data) }

// ReadOf is Read for arrays of T.
func ReadOf[T Number](data []byte) (shape []int, value []T, err error) {
	v, err := Look(data)
	if err != nil {
		return nil, nil, err
	}
	if want := descr[T](); v.Kind != want[1:] {
		return nil, nil, fmt.Errorf("expected an array of type %q, found one of %q", want, v.Kind)
	}
	value = make([]T, len(v.Data)/v.size)
	_, err = binary.Decode(v.Data, binary.LittleEndian, value)
	return v.Shape, value, err
}

package autoencoder

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
)

// writeArray writes an array of float32 in NumPy's .npy format.
func writeArray(w io.Writer, shape []int, value []float32) error {
	return numpy.ToNpyWriter(tensors.FromFlatDataAndDimensions(value, shape...), w)
}

// npyHeader matches the header of a little-endian float32 array in C order.
var npyHeader = regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \(([\d, ]*)\), *\} *\n$`)

// readArray reads an array of float32 in NumPy's .npy format (version 1.0, the
// one of all small arrays). It does not use GoMLX's reader because that one
// allocates whatever a header asks for, however short the file.
func readArray(data []byte) (shape []int, value []float32, err error) {
	const magic = "\x93NUMPY\x01\x00"
	if len(data) < len(magic)+2 || string(data[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("expected NumPy's .npy format, version 1.0, found %q", data[:min(len(magic), len(data))])
	}
	data = data[len(magic):]
	length, data := int(binary.LittleEndian.Uint16(data)), data[2:]
	if length > len(data) {
		return nil, nil, fmt.Errorf("expected a header of %d bytes, found %d", length, len(data))
	}
	header, data := string(data[:length]), data[length:]
	match := npyHeader.FindStringSubmatch(header)
	if match == nil {
		return nil, nil, fmt.Errorf("expected a float32 array ('<f4') in C order, found %q", header)
	}
	size := 1
	for _, field := range strings.Split(match[1], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue // after the last comma, and in ()
		}
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 || dim > math.MaxInt32/size {
			return nil, nil, fmt.Errorf("expected an array of some sensible shape, found (%s)", match[1])
		}
		shape, size = append(shape, dim), size*dim
	}
	if len(data) != 4*size {
		return nil, nil, fmt.Errorf("shape (%s) needs %d bytes, found %d", match[1], 4*size, len(data))
	}
	value = make([]float32, size)
	for i := range value {
		value[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return shape, value, nil
}

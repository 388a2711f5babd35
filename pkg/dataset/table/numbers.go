package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// npyHeader matches the header of an array in NumPy's .npy format.
var npyHeader = regexp.MustCompile(`^\{'descr': '([<|=]?[a-zA-Z]\d+)', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\),? *\}\s*$`)

// numbers reads an array of numbers of any of NumPy's plain types, little endian and
// in C order, of one or two axes. Package npy reads what Molehill itself writes;
// people's own archives have integers too.
func numbers(data []byte) (shape []int, values []float64, err error) {
	const magic = "\x93NUMPY"
	if len(data) < 10 || string(data[:6]) != magic {
		return nil, nil, fmt.Errorf("expected NumPy's .npy format, found %q", data[:min(6, len(data))])
	}
	length, start := int(binary.LittleEndian.Uint16(data[8:])), 10
	if data[6] > 1 {
		if len(data) < 12 {
			return nil, nil, fmt.Errorf("expected a header, found the end")
		}
		length, start = int(min(binary.LittleEndian.Uint32(data[8:]), math.MaxInt32)), 12
	}
	if length > len(data)-start {
		return nil, nil, fmt.Errorf("expected a header of %d bytes, found %d", length, len(data)-start)
	}
	match := npyHeader.FindStringSubmatch(string(data[start : start+length]))
	if match == nil || match[2] == "True" {
		return nil, nil, fmt.Errorf("expected an array of numbers in C order, found %.80q; save it with np.ascontiguousarray", data[start:start+length])
	}
	read, size := reader(strings.TrimLeft(match[1], "<|="))
	if read == nil {
		return nil, nil, fmt.Errorf("values are of type %q; expected whole or floating-point numbers", match[1])
	}
	count := 1
	for _, field := range strings.Split(match[3], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 || dim > math.MaxInt32/count {
			return nil, nil, fmt.Errorf("shape (%s) is none of a table", match[3])
		}
		shape, count = append(shape, dim), count*dim
	}
	if len(shape) < 1 || len(shape) > 2 {
		return nil, nil, fmt.Errorf("shape (%s): expected [rows] or [rows, columns]", match[3])
	}
	data = data[start+length:]
	if len(data) != count*size {
		return nil, nil, fmt.Errorf("shape (%s) needs %d bytes, found %d", match[3], count*size, len(data))
	}
	values = make([]float64, count)
	for i := range values {
		values[i] = read(data[i*size:])
	}
	return shape, values, nil
}

// reader returns how a value of one of NumPy's types is read, and its bytes.
func reader(kind string) (func([]byte) float64, int) {
	order := binary.LittleEndian
	switch kind {
	case "f4":
		return func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }, 4
	case "f8":
		return func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }, 8
	case "i1":
		return func(b []byte) float64 { return float64(int8(b[0])) }, 1
	case "u1", "b1":
		return func(b []byte) float64 { return float64(b[0]) }, 1
	case "i2":
		return func(b []byte) float64 { return float64(int16(order.Uint16(b))) }, 2
	case "u2":
		return func(b []byte) float64 { return float64(order.Uint16(b)) }, 2
	case "i4":
		return func(b []byte) float64 { return float64(int32(order.Uint32(b))) }, 4
	case "u4":
		return func(b []byte) float64 { return float64(order.Uint32(b)) }, 4
	case "i8":
		return func(b []byte) float64 { return float64(int64(order.Uint64(b))) }, 8
	case "u8":
		return func(b []byte) float64 { return float64(order.Uint64(b)) }, 8
	}
	return nil, 0
}

// spell returns a number as people write it: names that look like numbers are to be
// the same in every format. Only what would have more than twenty digits, or begin
// with six noughts, has an exponent.
func spell(v float64, bits int) string {
	format := byte('g')
	if size := math.Abs(v); size == 0 || size >= 1e-6 && size < 1e21 {
		format = 'f'
	}
	return strconv.FormatFloat(v, format, -1, bits)
}

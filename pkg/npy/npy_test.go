package npy

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestArraysSurvive(t *testing.T) {
	for _, shape := range [][]int{{1}, {7}, {2, 3}, {4, 1, 5}, {100, 8}} {
		size := 1
		for _, dim := range shape {
			size *= dim
		}
		value := make([]float32, size)
		for i := range value {
			value[i] = float32(i)*0.1 - 3e20
		}
		value[0] = float32(math.Inf(-1))
		var file bytes.Buffer
		if err := Write(&file, shape, value); err != nil {
			t.Fatal(err)
		}
		if start := file.Len() - 4*size; start%64 != 0 {
			t.Errorf("%v: data begin at %d, NumPy aligns to 64", shape, start)
		}
		if gotShape, got, err := Read(file.Bytes()); err != nil || !slices.Equal(gotShape, shape) || !slices.Equal(got, value) {
			t.Errorf("%v became %v, %v", shape, gotShape, err)
		}
	}
}

// The bytes that NumPy 2.4.6 writes for np.save(f, np.float32([[1, 2]])).
const fromNumPy = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" +
	"                                                          \n\x00\x00\x80?\x00\x00\x00@"

func TestNumPysBytes(t *testing.T) {
	shape, value, err := Read([]byte(fromNumPy))
	if err != nil || !slices.Equal(shape, []int{1, 2}) || !slices.Equal(value, []float32{1, 2}) {
		t.Errorf("%v %v, %v", shape, value, err)
	}
	var file bytes.Buffer
	if err := Write(&file, []int{1, 2}, []float32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if back, _, err := Read(file.Bytes()); err != nil || !slices.Equal(back, shape) {
		t.Errorf("%v, %v", back, err)
	}
}

func TestForeignFilesAreErrors(t *testing.T) {
	for _, text := range []string{"", "no table", fromNumPy[:len(fromNumPy)-1], fromNumPy + "x", fromNumPy[:20],
		strings.Replace(fromNumPy, "<f4", "<f8", 1), strings.Replace(fromNumPy, "(1, 2)", "(9, 9)", 1),
		strings.Replace(fromNumPy, "(1, 2)", "(0, 2)", 1), "\x93NUMPY\x01\x00\x00\x00",
		"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9), }"} {
		if shape, _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q was read as an array of shape %v", text, shape)
		}
	}
	for _, shape := range [][]int{{2}, {0}, {-1, -1}, {1 << 40}} {
		if err := Write(&bytes.Buffer{}, shape, []float32{1}); err == nil {
			t.Errorf("one value was written with shape %v", shape)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(fromNumPy))
	f.Fuzz(func(t *testing.T, data []byte) {
		shape, value, err := Read(data)
		if err == nil && len(value)*4 > len(data) {
			t.Errorf("%d values of %d bytes, shape %v", len(value), len(data), shape)
		}
	})
}

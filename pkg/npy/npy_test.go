package npy

import (
	"bytes"
	"math"
	"slices"
	"strconv"
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
	// But for spaces and the comma that ends a tuple the bytes are NumPy's.
	squeezed := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text[10:], " ", ""), ",)", ")")
	}
	if got := file.String(); got[:8] != fromNumPy[:8] || int(got[8])+int(got[9])<<8 != file.Len()-18 || squeezed(got) != squeezed(fromNumPy) {
		t.Errorf("written is %q, by NumPy %q", got, fromNumPy)
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

// Values of every type are what NumPy writes of 1 and, where there is one, −1.
func TestAView(t *testing.T) {
	file := func(kind string, value ...byte) []byte {
		text := "{'descr': '" + kind + "', 'fortran_order': False, 'shape': (1,), }\n"
		return append(append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0), append([]byte(text), value...)...)
	}
	for _, c := range []struct {
		kind  string
		value []byte
		want  float64
	}{
		{"|b1", []byte{1}, 1}, {"|u1", []byte{255}, 255}, {"|i1", []byte{255}, -1},
		{"<u2", []byte{255, 255}, 65535}, {"<i2", []byte{255, 255}, -1}, {"<u4", []byte{255, 255, 255, 255}, 1<<32 - 1}, {"<i4", []byte{255, 255, 255, 255}, -1},
		{"<u8", []byte{1, 0, 0, 0, 1, 0, 0, 0}, 1<<32 + 1}, {"<i8", []byte{255, 255, 255, 255, 255, 255, 255, 255}, -1},
		{"<f4", []byte{0, 0, 128, 191}, -1}, {"<f8", []byte{0, 0, 0, 0, 0, 0, 240, 191}, -1},
	} {
		v, err := Look(file(c.kind, c.value...))
		if err != nil || v.Kind != c.kind[1:] || !slices.Equal(v.Shape, []int{1}) || v.At(0) != c.want {
			t.Errorf("%s: %v of type %q and shape %v, %v; want %v", c.kind, v.At(0), v.Kind, v.Shape, err, c.want)
		}
		if text, whole := v.Whole(0); whole != !strings.Contains(c.kind, "f") || whole && text != strconv.FormatFloat(c.want, 'f', -1, 64) {
			t.Errorf("%s: spelled %q, as a whole number: %v; want %v", c.kind, text, whole, c.want)
		}
	}
	for kind, want := range map[string]string{"<u8": "18446744073709551615", "<i8": "-9007199254740993"} { // a float64 has one less of the second
		value := []byte{255, 255, 255, 255, 255, 255, 255, 255}
		if kind == "<i8" {
			value[6], value[0] = 223, 255
		}
		v, err := Look(file(kind, value...))
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := v.Whole(0); text != want {
			t.Errorf("%s: spelled %s, want %s", kind, text, want)
		}
	}
	for _, kind := range []string{">f4", "<c8", "|O", "<f2"} {
		if _, err := Look(file(kind, make([]byte, 8)...)); err == nil {
			t.Errorf("values of type %s were read", kind)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(fromNumPy))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Look(data)
		if err == nil {
			count := 1
			for _, dim := range v.Shape {
				count *= dim
			}
			for i := range count {
				v.At(i)
			}
		}
		shape, value, err := Read(data)
		if err == nil && len(value)*4 > len(data) {
			t.Errorf("%d values of %d bytes, shape %v", len(value), len(data), shape)
		}
	})
}

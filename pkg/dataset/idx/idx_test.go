package idx

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// file is an IDX file of unsigned bytes with the given header and values.
func file(values []byte, shape ...uint32) []byte {
	b := []byte{0, 0, unsignedByte, byte(len(shape))}
	for _, side := range shape {
		b = binary.BigEndian.AppendUint32(b, side)
	}
	return append(b, values...)
}

func pack(b []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(b)
	w.Close()
	return packed.Bytes()
}

func TestReadsWhatWasWritten(t *testing.T) {
	values := []byte{0, 1, 2, 3, 254, 255, 6, 7, 8, 9, 10, 11}
	for name, wrap := range map[string]func([]byte) []byte{"raw": slices.Clone[[]byte], "gzip": pack} {
		a, err := Images(bytes.NewReader(wrap(file(values, 2, 2, 3))), "x")
		if err != nil || !slices.Equal(a.Shape, []int{2, 2, 3}) || !bytes.Equal(a.Data, values) {
			t.Errorf("%s images: %+v, %v", name, a, err)
		}
		a, err = Labels(bytes.NewReader(wrap(file(values, 12))), "x")
		if err != nil || !slices.Equal(a.Shape, []int{12}) || !bytes.Equal(a.Data, values) {
			t.Errorf("%s labels: %+v, %v", name, a, err)
		}
	}
}

func TestEachFaultIsNamed(t *testing.T) {
	good := file(make([]byte, 12), 2, 2, 3)
	packed := pack(file(bytes.Repeat([]byte("incompressible? no"), 200), 1, 60, 60))
	flipped := slices.Clone(packed)
	flipped[len(flipped)-6] ^= 0xff // inside the checksum that ends a gzip stream
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"one byte", []byte{0}, "truncated"},
		{"half a header", good[:9], "truncated"},
		{"no values", good[:16], "found 0: it is truncated"},
		{"truncated", good[:20], "expected 12 bytes of values, as its header [2 2 3] claims, found 4: it is truncated"},
		{"trailing", append(slices.Clone(good), 0), "found more bytes"},
		{"labels as images", file(make([]byte, 3), 3), "expected images (magic number 2051), found labels (magic number 2049); give the images file as images"},
		{"text", []byte("<html>not found</html>"), "no IDX file"},
		{"floats", append([]byte{0, 0, 0x0d, 3}, good[4:]...), "no IDX file of unsigned bytes"},
		{"no rows", file(nil, 0, 2, 3), "at least one value"},
		{"no width", file(nil, 2, 2, 0), "at least one value"},
		{"huge", file(nil, 1<<31, 1<<31, 1<<31), "claims more"},
		{"gzip header", []byte{0x1f, 0x8b, 9}, "gzip header"},
		{"gzip truncated", packed[:len(packed)/2], "truncated"},
		{"gzip corrupted", flipped, "gzip: invalid checksum"},
		{"gzip trailing", append(slices.Clone(packed), "garbage"...), "bytes"},
	} {
		a, err := Images(bytes.NewReader(c.in), "some/file.gz")
		var fault *Error
		if a != nil || !errors.As(err, &fault) || fault.File != "some/file.gz" {
			t.Errorf("%s: %v, %v; want an *Error for some/file.gz", c.name, a, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q does not say %q", c.name, err, c.want)
		}
	}
	if _, err := Labels(bytes.NewReader(good), "x"); err == nil || !strings.Contains(err.Error(), "found images") {
		t.Errorf("images as labels: %v", err)
	}
	if _, err := Images(io.MultiReader(bytes.NewReader(good[:20]), faulty{}), "x"); !errors.Is(err, errFaulty) {
		t.Errorf("failing reader: %v, want its error kept", err)
	}
}

var errFaulty = errors.New("the disk is on fire")

type faulty struct{}

func (faulty) Read([]byte) (int, error) { return 0, errFaulty }

func TestAClaimTakesNoMemory(t *testing.T) {
	claim := file(make([]byte, 100), 2_000_000, 28, 28) // 1.5 GB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Images(bytes.NewReader(claim), "x")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
		t.Errorf("%d bytes allocated, error %v; want less than 1 MB and an error", took, err)
	}
}

func FuzzImages(f *testing.F) {
	good := file(make([]byte, 12), 2, 2, 3)
	f.Add(good)
	f.Add(pack(good))
	f.Add(good[:11])
	f.Add(file(nil, 1<<31, 1<<31, 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Images(bytes.NewReader(b), "fuzz")
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%v is no *Error", err)
			}
			return
		}
		if a.Shape[0]*a.Shape[1]*a.Shape[2] != len(a.Data) || len(a.Data) == 0 {
			t.Fatalf("shape %v with %d values", a.Shape, len(a.Data))
		}
	})
}

package table

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drain reads a source to its end, and checks that all rows are as wide as the header.
func drain(t *testing.T, s Source) {
	width := len(s.Header())
	for range 10_000 {
		row, err := s.Read()
		if errors.Is(err, io.EOF) || err != nil {
			return
		}
		if len(row) != width {
			t.Fatalf("a row of %d values below a header of %d", len(row), width)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffa;b\r\n\"1\n\";2\r\n", "a\tb\n\"", "\"", "a,a\n", "\xff\xfe", strings.Repeat("x", 70000)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := newCSV(bytes.NewReader(text), "")
		if err != nil {
			return
		}
		if checkHeader(s.Header()) != nil {
			return
		}
		drain(t, s)
	})
}

func FuzzSchema(f *testing.F) {
	var b bytes.Buffer
	if err := everyKind().Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String(), "40")
	f.Add(`{"name":"a","columns":[{"name":"x","kind":"numeric","low":-1e308,"high":1e307,"scale":"log"}]}`, "0")
	f.Add(`{"name":"a","columns":[{"name":"x","kind":"numeric","low":0,"high":1e-320,"decimals":12}]}`, "1e-321")
	f.Add(`{"name":"a","columns":[{"name":"x","kind":"date","first":"0001-01-01","last":"9999-12-31"}]}`, "2000-01-01")
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := DecodeSchema(strings.NewReader(text))
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for _, c := range s.Modelled() {
			k := newCoder(s, c, true)
			code, _ := k.code(value)
			if int(code) > c.Levels() || int(c.Group(code)) > c.Groups() || c.Groups() > c.Levels() {
				t.Fatalf("%+v: %q is code %d of %d in group %d of %d", c, value, code, c.Levels(), c.Group(code), c.Groups())
			}
			for _, code := range []Code{1, Code(c.Levels())} {
				written := c.text(code, rng)
				if _, fault := k.code(written); fault != fine && fault != clamped {
					t.Fatalf("%+v: code %d is written as %q, which is none", c, code, written)
				}
			}
		}
	})
}

func FuzzParquet(f *testing.F) {
	s := everyKind().Only()
	small := all(s)
	for j := range small.Codes {
		small.Codes[j] = small.Codes[j][:3]
	}
	var b bytes.Buffer
	if err := small.Write(&b, ".parquet", 1); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-9])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := Open(path, "")
		if err != nil {
			return
		}
		drain(t, source)
		if err := source.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestArchivesOfOthersAreRead(t *testing.T) {
	header := func(kind, shape string) string {
		text := "{'descr': '" + kind + "', 'fortran_order': False, 'shape': (" + shape + "), }\n"
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), 0}) + text
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string // of the first row, or of an error
	}{
		"two arrays":      {map[string]string{"y.npy": header("|u1", "2,") + "\x07\x08"}, "7"},
		"a matrix":        {map[string]string{"x.npy": header("<i2", "1, 2") + "\x01\x00\xff\xff"}, "1 -1"},
		"NaN is missing":  {map[string]string{"x.npy": header("<f4", "1,") + "\x00\x00\xc0\x7f"}, ""},
		"other lengths":   {map[string]string{"x.npy": header("|u1", "1,") + "a", "y.npy": header("|u1", "2,") + "ab"}, "rows"},
		"three axes":      {map[string]string{"x.npy": header("|u1", "1, 1, 1") + "a"}, "expected [rows]"},
		"texts":           {map[string]string{"x.npy": header("<U1", "1,") + "aaaa"}, "numbers"},
		"a lying header":  {map[string]string{"x.npy": header("<f8", "1000000000,") + "a"}, "bytes, found 1"},
		"nothing":         {map[string]string{"x.txt": "a"}, "no arrays"},
		"too many pixels": {map[string]string{"x.npy": header("|u1", "1, 600") + strings.Repeat("a", 600)}, "at most 500"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.npz")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := zip.NewWriter(file)
			for name, content := range test.files {
				entry, err := w.Create(name)
				if err == nil {
					_, err = io.WriteString(entry, content)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), file.Close()); err != nil {
				t.Fatal(err)
			}
			source, err := Open(path, "")
			if err != nil {
				if !strings.Contains(err.Error(), test.want) || test.want == "" {
					t.Errorf("found %v, want %q", err, test.want)
				}
				return
			}
			row, err := source.Read()
			if err != nil || strings.Join(row, " ") != test.want {
				t.Errorf("read %q, %v; want %q", row, err, test.want)
			}
		})
	}
}

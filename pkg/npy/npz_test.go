package npy

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"
)

type note struct{ Text string }

func TestArchiveComesBack(t *testing.T) {
	var b bytes.Buffer
	arrays := []Array[float64]{{"mu", []int{2}, []float64{1, 0.1}}, {"a/sigma", []int{2, 2}, []float64{1, 2, 3, 4e-300}}}
	if err := WriteArchive(&b, note{"x"}, arrays); err != nil {
		t.Fatal(err)
	}
	var n note
	found, err := ReadArchive[float64](bytes.NewReader(b.Bytes()), 1<<20, &n)
	if err != nil || n.Text != "x" || len(found) != 2 {
		t.Fatalf("%v, %v, %v", found, n, err)
	}
	for _, a := range arrays {
		if v, err := found.Take(a.Name, a.Shape...); err != nil || !slices.Equal(v, a.Value) {
			t.Errorf("%s: %v, %v", a.Name, v, err)
		}
	}
	if _, err := found.Take("mu", 3); err == nil {
		t.Error("an array of another shape was taken")
	}
	if _, err := found.Take("nu", 2); err == nil {
		t.Error("an array that is not there was taken")
	}
	if _, err := ReadArchive[float32](bytes.NewReader(b.Bytes()), 1<<20, &n); err == nil || !strings.Contains(err.Error(), "<f4") {
		t.Errorf("doubles were read as floats: %v", err)
	}
	// Limits hold for the file and for what is in it.
	if _, err := ReadArchive[float64](bytes.NewReader(b.Bytes()), int64(b.Len()-1), &n); err == nil {
		t.Error("a file beyond the limit was read")
	}
	var small bytes.Buffer
	w := zip.NewWriter(&small)
	for name, text := range map[string]string{metadataName: "{}", "zeros.npy": strings.Repeat("\x00", 1<<20)} {
		entry, err := w.Create(name) // which compresses
		if err == nil {
			_, err = entry.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadArchive[float64](bytes.NewReader(small.Bytes()), 1<<16, &n); small.Len() > 1<<16 || err == nil || !strings.Contains(err.Error(), "unpacks to more") {
		t.Errorf("a MiB in a file of %d bytes was unpacked with a limit of 64 KiB: %v", small.Len(), err)
	}
}

func FuzzReadArchive(f *testing.F) {
	var b bytes.Buffer
	if err := WriteArchive(&b, note{"x"}, []Array[float32]{{"w", []int{2}, []float32{1, 2}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		var n note
		if found, err := ReadArchive[float32](bytes.NewReader(data), 1<<16, &n); err == nil {
			total := 0
			for _, a := range found {
				total += 4 * len(a.Value)
			}
			if total > 1<<16 {
				t.Fatalf("%d bytes from a limit of %d", total, 1<<16)
			}
		}
	})
}

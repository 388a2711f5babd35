package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// packed is an archive of arrays of the same bytes, [n].
func packed(t *testing.T, method uint16, values []byte, names ...string) []byte {
	t.Helper()
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': (" + strconv.Itoa(len(values)) + ",), }\n"
	head = "\x93NUMPY\x01\x00" + string(rune(len(head))) + "\x00" + head
	var text bytes.Buffer
	archive := zip.NewWriter(&text)
	for _, name := range names {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(append([]byte(head), values...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// What all arrays of an archive unpack to together is bounded, and bytes are held as bytes.
func TestSmallArchivesOfMuch(t *testing.T) {
	defer func(most uint64) { maxNPZ = most }(maxNPZ)
	maxNPZ = 3000
	path := filepath.Join(t.TempDir(), "x.npz")
	for _, c := range []struct {
		rows  int
		names []string
		want  string
	}{
		{1000, []string{"a", "b"}, ""},
		{1000, []string{"a", "b", "c"}, `array "c"`},
		{100_000, []string{"a"}, "more than 3000 bytes"},
	} {
		if err := os.WriteFile(path, packed(t, zip.Deflate, bytes.Repeat([]byte{1}, c.rows), c.names...), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := Open(path, "")
		if err == nil {
			rows := 0
			for ; ; rows++ {
				row, end := source.Read()
				if end != nil {
					break
				}
				if strings.Join(row, " ") != "1 1" {
					t.Fatalf("a row of %q", row)
				}
			}
			if rows != c.rows {
				t.Errorf("%d rows of %d", rows, c.rows)
			}
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows of %v: %v; expected %q", c.rows, c.names, err, c.want)
		}
	}
}

// What a damaged archive says of its arrays is not made room for.
func TestSizesThatCannotBeAreNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	archive := packed(t, zip.Deflate, bytes.Repeat([]byte{1}, 1000), "a")
	at := bytes.LastIndex(archive, []byte("PK\x01\x02")) // the directory's entry, which has the size from byte 24 on
	binary.LittleEndian.PutUint32(archive[at+24:], math.MaxUint32-1)
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(path, "")
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "it is damaged") {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 10<<20 {
		t.Errorf("%d bytes were made room for", took)
	}
}

// An archive that was changed on its way is refused.
func TestADamagedArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	sound := packed(t, zip.Store, []byte("12345678"), "a")
	if err := os.WriteFile(path, bytes.Replace(sound, []byte("12345678"), []byte("12345679"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, ""); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("%v; expected an error of its checksum", err)
	}
}

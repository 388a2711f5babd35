package pictures

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset/schema"
)

func crc(data []byte) uint32 { return crc32.ChecksumIEEE(data) }

const photos = `{"name": "photos", "images": {"height": 32, "width": 24, "channels": 3, "fit": "crop", "public": false}, "classes": {"names": ["cat", "dog"], "public": false}}`

func TestASchemaIsReadAndConfirmed(t *testing.T) {
	s, err := DecodeSchema(strings.NewReader("\ufeff" + photos))
	if err != nil {
		t.Fatal(err)
	}
	if s.Images.Shape != (Shape{32, 24, 3}) || !slices.Equal(s.Names(), []string{"cat", "dog"}) {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{"images: 24×32 pixels (width × height), in colour", "classes: 2: cat, dog"} {
		if err := s.Confirmed(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q open, found %v", want, err)
		}
	}
	if err := s.Confirm("image"); err == nil || !strings.Contains(err.Error(), "images") {
		t.Error(err)
	}
	if err := s.Confirm("images"); err != nil || s.Confirmed() == nil || strings.Contains(s.Confirmed().Error(), "pixels") {
		t.Error(err, s.Confirmed())
	}
	if err := s.Confirm(); err != nil || s.Confirmed() != nil {
		t.Error(err, s.Confirmed())
	}
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if again, err := DecodeSchema(&b); err != nil || again.Confirmed() != nil {
		t.Error(again, err)
	}
}

func TestBadSchemasAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		`"name": "photos"|"name": "Photos!"`: "lower-case", `"height": 32|"height": 0`: "2 to 1024", `"width": 24|"width": 100000`: "2 to 1024",
		`"channels": 3|"channels": 4`: "1 for grey", `"crop"|"squash"`: "expected one of", `"fit"|"fits"`: "no schema has a field",
		`"dog"|"Cat"`: "more than case", `"dog"|"../x"`: "name of a folder", `"dog"|""`: "name of a folder", `"dog"|".x"`: "name of a folder", `"dog"|"a/b"`: "name of a folder", `"dog"|"a\u0000"`: "name of a folder",
		`["cat", "dog"]|[]`: "0 classes", `{"name": "photos"|[]{"name": "photos"`: "as JSON", `"public": false}}|"public": false}} x`: "more text",
	} {
		from, to, _ := strings.Cut(change, "|")
		text := strings.Replace(photos, from, to, 1)
		if text == photos {
			t.Fatalf("%q is nowhere", from)
		}
		if _, err := DecodeSchema(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, found %v", to, want, err)
		}
	}
	if _, err := DecodeSchema(strings.NewReader(strings.Repeat(" ", schema.Max+1))); err == nil {
		t.Error("a schema of any length was read")
	}
}

func TestKindsOfSchemasAreTold(t *testing.T) {
	for text, want := range map[string]bool{photos: true, `{"name": "people", "columns": []}`: false, `nonsense`: false} {
		path := filepath.Join(t.TempDir(), "schema.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if IsSchema(path) != want {
			t.Errorf("%s: is a schema of images: %v", text, !want)
		}
	}
}

func TestDrafts(t *testing.T) {
	dir := t.TempDir()
	coloured := image.NewNRGBA(image.Rect(0, 0, 300, 200))
	coloured.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	put(t, dir, map[string][]byte{
		"10/a.png": asPNG(coloured), "9/b.png": asPNG(coloured), "9/c.png": asPNG(shade(28, 28, 9)), "9/broken.png": nil, "empty/x.txt": nil, ".cache/x.png": nil,
	})
	s, err := Draft(t.Context(), "photos", dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Images.Shape != (Shape{42, 64, 3}) || !slices.Equal(s.Names(), []string{"9", "10"}) || s.Images.Public || s.Classes.Public {
		t.Errorf("%+v", s)
	}
	put(t, dir, map[string][]byte{"Dogs/x.png": nil, "dogs/x.png": nil})
	if entries, _ := os.ReadDir(dir); len(entries) == 6 { // where names may differ in case alone
		if _, err := Draft(t.Context(), "photos", dir); err == nil || !strings.Contains(err.Error(), "more than case") {
			t.Error(err)
		}
	}
	flat := t.TempDir()
	put(t, flat, map[string][]byte{"a.png": asPNG(shade(28, 30, 9))})
	if s, err = Draft(t.Context(), "flat", flat); err != nil || s.Classes != nil || s.Images.Shape != (Shape{30, 28, 1}) {
		t.Error(s, err)
	}
	put(t, flat, map[string][]byte{"a.png": nil})
	if _, err = Draft(t.Context(), "flat", flat); err == nil || !strings.Contains(err.Error(), "is an image") {
		t.Error(err)
	}
	path := archiveOf(t, map[string][]byte{"x": npyOf("|u1", "3, 2, 2", make([]byte, 12)), "y": npyOf("<i8", "3,", []int64{10, 9, 10})})
	if s, err = Draft(t.Context(), "archive", path); err != nil || !HasImages(path) || !slices.Equal(s.Names(), []string{"9", "10"}) || s.Images.Shape != (Shape{2, 2, 1}) {
		t.Error(s, err)
	}
	if HasImages(archiveOf(t, map[string][]byte{"x": npyOf("|u1", "3, 2", make([]byte, 6))})) {
		t.Error("a table counts as images")
	}
}

// A draft does not propose the size of images that no run would take, and says of them
// what a run would make of them.
func TestDraftsKnowTheLimits(t *testing.T) {
	dir := t.TempDir()
	long := append(asPNG(shade(9, 9, 9)), make([]byte, MaxBytes)...)
	put(t, dir, map[string][]byte{
		"a/1.png": header(9000, 9000), "a/2.png": header(9000, 9000), "a/3.png": header(5000, 5000), "a/4.png": long, "b/1.png": asPNG(shade(30, 20, 9)), "b/2.gif": nil,
	})
	s, err := Draft(t.Context(), "photos", dir)
	if err != nil || s.Images.Shape != (Shape{20, 30, 1}) {
		t.Fatal(s, err)
	}
	found, err := Glance(t.Context(), dir, s)
	if err != nil || Changed(found) != 4 || len(found) != 4 {
		t.Errorf("found %v, %v; want four grey images and a file that is left out", found, err)
	}
	put(t, dir, map[string][]byte{"b/1.png": header(9000, 9000)})
	if _, err := Draft(t.Context(), "photos", dir); err == nil || !strings.Contains(err.Error(), "images of more than 33554432 pixels, or a side of more than 10000: 3; each counts as") {
		t.Error(err)
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(photos))
	f.Add([]byte(`{"name":"a","images":{"height":2,"width":2,"channels":1,"fit":"pad"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := DecodeSchema(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := s.Encode(&b); err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSchema(&b)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		first, _ := json.Marshal(s)
		second, _ := json.Marshal(again)
		if !bytes.Equal(first, second) {
			t.Fatalf("%s was read as %s", first, second)
		}
	})
}

// No file stops a reading, and all become pixels in [0, 1].
func FuzzPicture(f *testing.F) {
	f.Add(asPNG(shade(3, 5, 77)))
	f.Add(header(1<<31-1, 1<<31-1))
	f.Add([]byte("\xff\xd8\xff"))
	s := Images{Shape: Shape{4, 4, 3}, Fit: Pad}
	f.Fuzz(func(t *testing.T, data []byte) {
		dst := make([]float32, s.Dim())
		if s.read(dst, bytes.NewReader(data)) != nil {
			return
		}
		for _, v := range dst {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("a pixel of %v", v)
			}
		}
	})
}

// Images of which nothing is used, and those whose values are moved, are not as they were;
// what is left out is no image.
func TestChangedImagesAreCounted(t *testing.T) {
	if n := Changed([]Disagreement{{Count: 3, Became: asClamped}, {Count: 2, Became: asGrey}, {Count: 7, Became: notTaken}}); n != 5 {
		t.Errorf("%d are changed, want 5", n)
	}
}

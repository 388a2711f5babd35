package pictures

import (
	"bytes"
	"encoding/binary"
	"image/jpeg"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// header is a PNG that says how large it is, and has nothing else.
func header(width, height uint32) []byte {
	whole := asPNG(shade(1, 1, 0))
	end := bytes.Index(whole, []byte("IDAT")) - 4
	out := slices.Clone(whole[:end])
	binary.BigEndian.PutUint32(out[16:], width)
	binary.BigEndian.PutUint32(out[20:], height)
	binary.BigEndian.PutUint32(out[29:], crc(out[12:29]))
	return out
}

func TestAFolderIsReadWhateverItHolds(t *testing.T) {
	dir := t.TempDir()
	whole := asPNG(shade(4, 4, 51))
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, shade(8, 8, 102), nil); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string][]byte{
		"cat/a.png": whole, "dog/b.JPG": photo.Bytes(),
		"cat/truncated.png": whole[:len(whole)-20], "cat/text.png": []byte("hello"), "cat/empty.png": nil,
		"dog/huge.png": header(60_000, 60_000), "dog/bomb.png": header(5000, 5000), "cat/thin.png": header(1, 20_000),
		"dog/long.png": make([]byte, MaxBytes+1),
		"wolf/w.png":   whole, "root.png": whole,
		"cat/notes.txt": nil, "cat/._a.png": nil, "Thumbs.db": nil, "cat/deep/x.png": whole, ".git/x.png": whole,
	})
	outside := filepath.Join(t.TempDir(), "secret.png")
	if err := os.WriteFile(outside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"cat/link.png": outside, "dog/linked": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images, classes, names, found := read(t, dir, schemaOf(Shape{4, 4, 1}, "cat", "dog"))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 5*MaxBytes { // the long file is read, in a growing buffer
		t.Errorf("it took %d MB", took>>20)
	}
	want := []string{"cat/a.png", "dog/b.JPG", "dog/bomb.png", "cat/empty.png", "dog/huge.png", "dog/long.png", "root.png", "cat/text.png", "cat/thin.png", "cat/truncated.png", "wolf/w.png"}
	if !slices.Equal(names, want) {
		t.Fatalf("records are %v, want %v", names, want)
	}
	for i, name := range names {
		level, class := float32(grey), 0
		switch name {
		case "cat/a.png":
			level = 0.2
		case "dog/b.JPG":
			level, class = 0.4, 1
		}
		if classes[i] != class {
			t.Errorf("%s is of class %d, want %d", name, classes[i], class)
		}
		for _, v := range images[16*i : 16*(i+1)] {
			if !(math.Abs(float64(v-level)) <= 1e-6) {
				t.Errorf("%s has a pixel of %v, want %v", name, v, level)
				break
			}
		}
	}
	counts := map[string]int{}
	for _, d := range found {
		counts[d.What] = d.Count
	}
	expected := map[string]int{errImage.Error(): 4, errPixels.Error(): 2, errBytes.Error(): 1, errClass.Error(): 2, leftFiles: 3, leftHidden: 1, leftLinks: 2, leftDeep: 1}
	if !reflect.DeepEqual(counts, expected) {
		t.Errorf("the keeper is told %v, want %v", counts, expected)
	}

	// Without classes the folder's own files alone are records.
	if _, _, names, _ := read(t, dir, schemaOf(Shape{4, 4, 1})); !slices.Equal(names, []string{"root.png"}) {
		t.Errorf("without classes records are %v", names)
	}
}

func TestAFileThatCannotBeReadStopsNothing(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser reads all files")
	}
	dir := t.TempDir()
	put(t, dir, map[string][]byte{"a.png": asPNG(shade(2, 2, 255)), "b.png": nil})
	if err := os.Chmod(filepath.Join(dir, "b.png"), 0); err != nil {
		t.Fatal(err)
	}
	if images, _, _, found := read(t, dir, schemaOf(Shape{2, 2, 1})); images[0] != 1 || images[4] != grey || len(found) != 1 {
		t.Error(images, found)
	}
}

// closed lists a folder of which one subfolder cannot be listed, as happens to people
// who are not the superuser, or where it is removed meanwhile.
func closed(root *os.Root, one string) func(string) ([]fs.DirEntry, error) {
	return func(name string) ([]fs.DirEntry, error) {
		if name == one {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return lister(root)(name)
	}
}

// A subfolder of any name that a system allows is one: of a class, or of none.
func TestNamesThatAreNoText(t *testing.T) {
	dir := t.TempDir()
	whole := asPNG(shade(2, 2, 255))
	put(t, dir, map[string][]byte{"cat/a.png": whole})
	if err := os.Mkdir(filepath.Join(dir, "\xff"), 0o700); err != nil {
		t.Skip("this system has no such names:", err)
	}
	put(t, dir, map[string][]byte{"\xff/b.png": whole})
	_, labels, names, found := read(t, dir, schemaOf(Shape{2, 2, 1}, "cat", "dog"))
	if len(names) != 2 || !slices.Equal(labels, []int{0, 0}) || len(found) != 1 {
		t.Errorf("records are %q of classes %v, the keeper is told %v; a file in a folder of no class is a grey image of the first", names, labels, found)
	}
	if _, err := Draft(t.Context(), "names", dir); err == nil || !strings.Contains(err.Error(), `class "\xff"`) {
		t.Errorf("%v does not name the folder that cannot be a class", err)
	}
}

// A subfolder that cannot be listed is left out, and its keeper is told; the folder
// itself has to be listed.
func TestAFolderThatCannotBeListedStopsNothing(t *testing.T) {
	dir := t.TempDir()
	whole := asPNG(shade(2, 2, 255))
	put(t, dir, map[string][]byte{"cat/a.png": whole, "dog/b.png": whole, "dog/c.png": whole})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f := &folder{schema: schemaOf(Shape{2, 2, 1}, "cat", "dog"), root: root}
	if err := f.list(closed(root, "dog")); err != nil {
		t.Fatal(err)
	}
	if found := f.Left(); !slices.Equal(f.files, []string{"cat/a.png"}) || len(found) != 1 || found[0] != (Disagreement{leftClosed, 1, "dog/", notTaken}) {
		t.Errorf("records are %v, the keeper is told %v", f.files, found)
	}
	if err := (&folder{schema: f.schema, root: root}).list(closed(root, ".")); err == nil {
		t.Error("a folder that cannot be listed has records")
	}
	t.Run("closed by the system", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("the superuser lists all folders")
		}
		if err := os.Chmod(filepath.Join(dir, "dog"), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(dir, "dog"), 0o700)
		if _, _, names, found := read(t, dir, f.schema); !slices.Equal(names, f.files) || !slices.Equal(found, f.left) {
			t.Errorf("records are %v, the keeper is told %v", names, found)
		}
	})
}

package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molehill/pkg/dataset/download"
	"molehill/pkg/dataset/idx"
	"molehill/pkg/plugin"
)

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Two images of 1×3 and their labels, as IDX.
var (
	twoImages = []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 51, 255, 1, 2, 3}
	twoLabels = []byte{0, 0, 8, 1, 0, 0, 0, 2, 9, 0}
)

// Three others and their labels.
var (
	threeImages = []byte{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 3, 102, 102, 102, 4, 5, 6, 7, 8, 9}
	threeLabels = []byte{0, 0, 8, 1, 0, 0, 0, 3, 3, 2, 1}
)

// small is a source of the four files: two rows for training and three for testing.
func small() (source images, contents [4][]byte) {
	source = images{info: plugin.Info{Name: "small"}, classes: digits}
	var prints [4]fingerprint
	for i := range contents {
		values := [][]byte{twoImages, twoLabels, threeImages, threeLabels}[i]
		contents[i] = packed(values)
		prints[i] = fingerprint{int64(len(contents[i])), digest(contents[i]), digest(values)}
	}
	source.files = files("small", prints)
	return source, contents
}

func TestReadIDX(t *testing.T) {
	dir := t.TempDir()
	pictures := write(t, filepath.Join(dir, "pictures"), twoImages)
	tags := write(t, filepath.Join(dir, "tags.gz"), packed(twoLabels))
	load := func(pictures, tags string) (*Dataset, error) {
		var content [2]bytes.Reader
		for i, path := range []string{pictures, tags} {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			content[i].Reset(b)
		}
		return readIDX(&content[0], &content[1], pictures, tags, digits)
	}
	d, err := load(pictures, tags)
	if err != nil || d.Check() != nil {
		t.Fatal(err, d.Check())
	}
	if d.Origin != dir || d.Height != 1 || d.Width != 3 || d.Channels != 1 ||
		!slices.Equal(d.Row(0), []float32{0, 0.2, 1}) || !slices.Equal(d.Labels, []int{9, 0}) {
		t.Errorf("%+v", d)
	}
	for want, paths := range map[string][2]string{
		"found labels (magic number 2049)":  {tags, pictures},
		"no such file":                      {filepath.Join(dir, "none"), tags},
		"expected 2 labels, one for each":   {pictures, write(t, filepath.Join(dir, "one"), []byte{0, 0, 8, 1, 0, 0, 0, 1, 9})},
		"from 0 to 9, found 10 in row 1":    {pictures, write(t, filepath.Join(dir, "ten"), []byte{0, 0, 8, 1, 0, 0, 0, 2, 9, 10})},
		"expected at least one value":       {write(t, filepath.Join(dir, "no"), []byte{0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3}), tags},
		"the file is empty":                 {pictures, write(t, filepath.Join(dir, "empty"), nil)},
		"it is truncated; replace the file": {write(t, filepath.Join(dir, "short"), twoImages[:20]), tags},
	} {
		_, err := load(paths[0], paths[1])
		var fault *idx.Error
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v, want it to say %q and name the file", err, want)
		}
		if !errors.As(err, &fault) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v is of type %T, want *idx.Error", err, err)
		}
	}
}

func TestKnownFilesAreFoundAndVerified(t *testing.T) {
	source, contents := small()
	dir := t.TempDir()
	for i, f := range source.files {
		write(t, f.In(dir), contents[i])
	}
	// One of them unpacked, as some people keep them.
	os.Remove(source.files[0].In(dir))
	unpacked, _ := source.files[0].UnpackedIn(dir)
	write(t, unpacked, twoImages)
	s, err := source.Load(context.Background(), Options{Dir: dir, N: 1, Seed: 1})
	if err != nil || s.Train.Len() != 1 || s.Test.Len() != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	// What is for training is private, what is for testing is not: neither takes rows of
	// the other.
	if s.Train.Labels[0] != 9 && s.Train.Labels[0] != 0 || !slices.Equal(s.Test.Labels, []int{3, 2, 1}) || !slices.Equal(s.Test.Row(0), []float32{0.4, 0.4, 0.4}) {
		t.Errorf("for training %+v, for testing %+v", s.Train, s.Test)
	}
	if _, err := source.Load(context.Background(), Options{Dir: dir, N: 3}); err == nil {
		t.Error("3 of 2 rows give no error")
	}

	for name, content := range map[string][]byte{"another": packed([]byte("another")), "truncated": contents[1][:9]} {
		path := write(t, source.files[1].In(dir), content)
		var mismatch *download.MismatchError
		_, err := source.Load(context.Background(), Options{Dir: dir})
		if !errors.As(err, &mismatch) || mismatch.Path != path {
			t.Errorf("%s file: %v, want *download.MismatchError for %s", name, err, path)
		}
	}
	write(t, unpacked, twoImages[1:])
	if _, err := source.Load(context.Background(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), unpacked) {
		t.Errorf("a damaged unpacked file: %v", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := source.Load(ctx, Options{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSearchOrderAndNotFound(t *testing.T) {
	source, contents := small()
	asked, named, cache := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv(FolderVariable, named)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	ours, err := CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // no module and no data around

	_, err = source.Load(context.Background(), Options{})
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Name != "small" {
		t.Fatalf("%v, want *NotFoundError", err)
	}
	for _, want := range []string{named, ours, filepath.Join("shared", "data"), "molehill data fetch small", FolderVariable} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	// Some of the files are no data set; the first folder with all wins.
	write(t, source.files[0].In(named), contents[0])
	for i, f := range source.files {
		write(t, f.In(ours), contents[i])
	}
	for _, step := range []struct{ fill, dir, want string }{
		{"", "", ours}, {named, "", named}, {asked, asked, asked},
	} {
		if step.fill != "" {
			for i, f := range source.files {
				write(t, f.In(step.fill), contents[i])
			}
		}
		s, err := source.Load(context.Background(), Options{Dir: step.dir})
		if err != nil || s.Train.Origin != filepath.Join(step.want, "small") {
			t.Errorf("rows come from %+v (%v), want %s", s, err, step.want)
		}
	}
	_, err = source.Load(context.Background(), Options{Dir: cache})
	if !errors.As(err, &missing) || len(missing.Looked) != 1 {
		t.Errorf("a folder asked for must be the only one searched: %v", err)
	}
}

// The label counts of the training rows are known from the data sets' papers
// and many reports; Fashion-MNIST is balanced.
func TestRealData(t *testing.T) {
	for name, want := range map[string][]int{
		"mnist":         {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
		"fashion-mnist": {6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Load(context.Background(), name, Options{})
			if _, ok := errors.AsType[*NotFoundError](err); ok {
				t.Skip("goes without real data: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Train.Len() != 60_000 || s.Test.Len() != 10_000 || s.Train.Dim() != 784 {
				t.Errorf("%d and %d rows of %d", s.Train.Len(), s.Test.Len(), s.Train.Dim())
			}
			counts := make([]int, 10)
			for _, label := range s.Train.Labels {
				counts[label]++
			}
			if !slices.Equal(counts, want) {
				t.Errorf("labels %v, want %v", counts, want)
			}
			if low, high := slices.Min(s.Train.X), slices.Max(s.Train.X); low != 0 || high != 1 {
				t.Errorf("values from %v to %v, want 0 to 1", low, high)
			}
		})
	}
}

// shade makes n grey images of 4×4 pixels, from the given value on.
func shade(n int, from float32) *Dataset {
	d := &Dataset{Name: "shades", Origin: "the test", Height: 4, Width: 4, Channels: 1}
	for i := range n {
		for range 16 {
			d.X = append(d.X, from+float32(i)*1e-3)
		}
	}
	return d
}

func TestImagesThatThePromiseCannotCoverAreRefused(t *testing.T) {
	// A tenth of the test images may be training images too, no more.
	shared := func(count int) *Splits {
		s := &Splits{Train: shade(20, 0), Test: shade(20, 0.5)}
		copy(s.Test.X[3*16:(3+count)*16], s.Train.X)
		return s
	}
	if err := shared(2).CheckImages(); err != nil {
		t.Errorf("2 of 20 test images are training images: %v", err)
	}
	if err := shared(3).CheckImages(); err == nil || !strings.Contains(err.Error(), "more than a tenth") {
		t.Errorf("3 of 20 test images are training images: error %v", err)
	}
	lines := shade(20, 0) // which have pixels of the training set, too
	lines.Height, lines.Width = 1, 16
	for want, splits := range map[string]*Splits{
		"rows are 16 numbers each, not images; take a data set of images, such as celeba, fashion-mnist, glyphs, mnist": {Train: lines, Test: lines},
		"":                                     {Train: shade(20, 0), Test: shade(10, 0.5)},
		"more than a tenth of the test images": {Train: shade(20, 0), Test: shade(10, 0)},
		"a pixel of 255":                       {Train: shade(20, 0), Test: shade(10, 255)},
		"image 0 has a pixel of -0.5; e":       {Train: shade(20, 0.5), Test: shade(10, -0.5)},
	} {
		err := splits.CheckImages()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
		name := "shades-" + strconv.Itoa(len(want))
		Register(name, "for a test", func(context.Context, Options) (*Splits, error) { return splits, nil })
		if _, err := Digest(t.Context(), name, Options{}, (*Splits).CheckImages); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("asked for the data set: error %v, want it to say %q", err, want)
		}
	}
	wild := shade(20, -0.01)
	wild.X[5], wild.X[16*19] = 300, 0.25
	splits := &Splits{Train: wild, Test: shade(10, 0.5)}
	if err := splits.CheckImages(); err != nil || splits.Train.X[5] != 1 || splits.Train.X[0] != 0 || splits.Train.X[16*19] != 0.25 || wild.X[5] != 300 {
		t.Errorf("private pixels outside [0, 1]: %v, %v of %v", err, splits.Train.X[:6], wild.X[:6])
	}
}

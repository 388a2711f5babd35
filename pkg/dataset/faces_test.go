package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molehill/pkg/cache"
	"molehill/pkg/dataset/celeba"
)

// portraits makes a data folder with n plain images of the half-size layout,
// image i of the level 20i; every third wears a hat, the second first.
func portraits(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	table := "202599\nYoung Wearing_Hat\n"
	for i := range n {
		picture := image.NewGray(image.Rect(0, 0, 89, 109))
		for k := range picture.Pix {
			picture.Pix[k] = uint8(20 * i)
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, picture, nil); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%06d.jpg", i)
		write(t, filepath.Join(dir, "celeba", celeba.HalfSize.Images, name), b.Bytes())
		hat := -1
		if i%3 == 1 {
			hat = 1
		}
		table += fmt.Sprintf("%s -1 %d\n", name, hat)
	}
	write(t, filepath.Join(dir, "celeba", "list_attr_celeba.txt"), []byte(table))
	return dir
}

func TestFaces(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, dir := context.Background(), portraits(t, 10)
	s, err := Load(ctx, "celeba", Options{Dir: dir, Label: "Wearing_Hat"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.Len() != 8 || s.Test.Len() != 2 || s.Train.Dim() != 64*64*3 || s.Train.Height != 64 || s.Train.Channels != 3 ||
		!strings.Contains(s.Train.Origin, "half-size sample, 89×109") || !strings.Contains(s.Train.Origin, dir) {
		t.Errorf("%d and %d rows of %d from %q", s.Train.Len(), s.Test.Len(), s.Train.Dim(), s.Train.Origin)
	}
	if !slices.Equal(s.Train.Labels, []int{0, 1, 0, 0, 1, 0, 0, 1}) || !slices.Equal(s.Test.Labels, []int{0, 0}) || !slices.Equal(s.Test.Classes, []string{"Wearing_Hat: no", "Wearing_Hat: yes"}) {
		t.Errorf("labels %v and %v of %v", s.Train.Labels, s.Test.Labels, s.Test.Classes)
	}
	for i := range 10 {
		row := s.Test.Row(max(0, i-8))
		if i < 8 {
			row = s.Train.Row(i)
		}
		if v := row[999]; !(v >= float32(20*i-3)/255 && v <= float32(20*i+3)/255) {
			t.Errorf("row %d has a value of %v, painted %v", i, v, float32(20*i)/255)
		}
	}
	// The second time the pixels come from the cache, and are the same.
	again, err := Load(ctx, "celeba", Options{Dir: dir})
	if err != nil || !slices.Equal(again.Train.X, s.Train.X) || !slices.Equal(again.Test.X, s.Test.X) || again.Train.Labels != nil {
		t.Errorf("loaded again: %v", err)
	}
	cached, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "molehill", "data", "celeba.pixels", "*"))
	if err != nil || len(cached) != 1 {
		t.Fatalf("in the cache are %v, %v", cached, err)
	}
	if err := cache.Write(cached[0], bytes.Repeat([]byte{51}, 10*celeba.Dim)); err != nil {
		t.Fatal(err)
	}
	if other, err := Load(ctx, "celeba", Options{Dir: dir}); err != nil || other.Train.X[0] != 0.2 || other.Test.X[0] != 0.2 {
		t.Errorf("what is in the cache was not taken: %v", err)
	}
	// N reads those rows that Draw would take.
	some, err := Load(ctx, "celeba", Options{Dir: dir, N: 3, Seed: 4, Label: "Wearing_Hat"})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := s.Train.Draw(3, 4)
	if !slices.Equal(some.Train.X, want.X) || !slices.Equal(some.Train.Labels, want.Labels) || some.Train.Origin != want.Origin || some.Test.Len() != 2 {
		t.Errorf("three rows: %v of %q, want %v of %q", some.Train.Labels, some.Train.Origin, want.Labels, want.Origin)
	}
	for want, o := range map[string]Options{
		"an attribute Smiling, found Young": {Dir: dir, Label: "Smiling"},
		"change N":                          {Dir: dir, N: 9},
	} {
		if _, err := Load(ctx, "celeba", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to say %q", o, err, want)
		}
	}
	if _, err := Load(ctx, "glyphs", Options{N: 10, Label: "Smiling"}); err == nil || !strings.Contains(err.Error(), "leave it empty") {
		t.Errorf("glyphs that smile: %v", err)
	}
	digest := func(o Options) string {
		t.Helper()
		d, err := Digest(ctx, "celeba", o, nil)
		if err != nil || len(d) != 64 {
			t.Fatal(d, err)
		}
		return d
	}
	plain, labelled := digest(Options{Dir: dir}), digest(Options{Dir: dir, Label: "Wearing_Hat"})
	if other := digest(Options{Dir: portraits(t, 11)}); plain == labelled || plain == other {
		t.Error("different rows have one digest")
	}
}

// Whoever waits is told, at the end too; of work that is soon done nobody is.
func TestLongWorkIsTold(t *testing.T) {
	var told []int
	o := Options{Progress: func(what string, done, total int) {
		if what != "waiting" || total != 3 {
			t.Errorf("told of %q, %d", what, total)
		}
		told = append(told, done)
	}}
	for wait, want := range map[time.Duration][]int{0: {1, 3}, time.Hour: nil} {
		told = nil
		tell := o.tell("waiting", 3, wait)
		time.Sleep(time.Millisecond)
		for done := 1; done <= 3; done++ {
			tell(done)
		}
		if !slices.Equal(told, want) {
			t.Errorf("after %v: told %v, want %v", wait, told, want)
		}
	}
	if (Options{}).tell("waiting", 3, 0) != nil {
		t.Error("nobody wants to know")
	}
}

func TestFacesThatAreNotThere(t *testing.T) {
	_, err := Load(context.Background(), "celeba", Options{Dir: t.TempDir()})
	var missing *NotFoundError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "img_align_celeba.zip") || strings.Contains(err.Error(), "data fetch") {
		t.Errorf("%v, want it to say how to get them", err)
	}
}

// The sample, if this machine has it: counts and attributes of rows as
// published.
func TestRealFaces(t *testing.T) {
	where, err := faces{}.Where("")
	if err != nil {
		t.Skip("goes without CelebA: ", err)
	}
	if layout, _ := celeba.Present(where); layout != celeba.HalfSize {
		t.Skip("the original is large; this is for the sample")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := Load(context.Background(), "celeba", Options{Label: "Male"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.Len() != 1600 || s.Test.Len() != 400 {
		t.Errorf("%d and %d rows", s.Train.Len(), s.Test.Len())
	}
	if low, high := slices.Min(s.Train.X), slices.Max(s.Train.X); low != 0 || high != 1 {
		t.Errorf("values from %v to %v, want 0 to 1", low, high)
	}
	male := 0
	for _, label := range slices.Concat(s.Train.Labels, s.Test.Labels) {
		male += label
	}
	text, err := os.ReadFile(filepath.Join(where, "list_attr_celeba.txt"))
	if err != nil {
		t.Fatal(err)
	}
	// Counted another way: the 21st of the 40 columns, which are three wide.
	want := 0
	for _, line := range strings.Split(string(text), "\n")[2:2002] {
		if strings.TrimSpace(line[10+3*20:10+3*21]) == "1" {
			want++
		}
	}
	if male != want {
		t.Errorf("%d of 2000 are labelled male, the table has %d", male, want)
	}
}

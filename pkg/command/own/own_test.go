package own

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"molehill/pkg/dataset/pictures"
)

type steps struct{ atomic.Int32 }

func (s *steps) Step() { s.Add(1) }

// Reading images, which may take long, tells of each of them.
func TestEachImageThatIsReadIsTold(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.png", "b.png", "c.png"} {
		file, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = png.Encode(file, image.NewGray(image.Rect(0, 0, 4, 4)))
		}
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
	}
	schema, err := pictures.Draft(t.Context(), "photos", dir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := pictures.Open(dir, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var told steps
	if _, err := pictures.Each(t.Context(), followed{source, &told}, schema.Images.Dim(), 2, func(int, []float32, []int) error { return nil }); err != nil || told.Load() != 3 {
		t.Errorf("told of %d of 3, %v", told.Load(), err)
	}
}

// Folders are not replaced, so --force is no advice for them.
func TestWhatIsAdvisedCanBeDone(t *testing.T) {
	for out, force := range map[string]bool{"made": false, "made.zip": true} {
		if advice := (&synthesis{out: out}).tryAgain(); strings.Contains(advice, "--force") != force {
			t.Errorf("for %s: %s", out, advice)
		}
	}
}

// One command at a time writes to a place, and what it has claimed it with is gone then.
func TestAPlaceIsWrittenToByOne(t *testing.T) {
	dir := t.TempDir()
	claim := func(name string) (func(), error) { return (&synthesis{out: filepath.Join(dir, name)}).claim() }
	release, err := claim("made.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, free := range map[string]bool{"made.csv": false, "made.parquet": false, "made": false, "made2.csv": true} {
		other, err := claim(name)
		if (err == nil) != free || err != nil && !strings.Contains(err.Error(), "another `molehill synth` makes it") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			other()
		}
	}
	release()
	var held, claims atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				release, err := claim("made.csv")
				if err != nil {
					continue
				}
				if claims.Add(1); held.Add(1) != 1 {
					t.Error("two have claimed it")
				}
				held.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || claims.Load() == 0 {
		t.Errorf("after %d claims there are %v, %v", claims.Load(), left, err)
	}
}

// Settings of another version are not compared one by one: it had others.
func TestVersionsAreToldApart(t *testing.T) {
	wanted := map[string]any{"version": "2", "epsilon": "1", "data": "", "inputs": "a-b", "rows": 2}
	for want, settings := range map[string]map[string]any{
		"comes from another version of this program": {"version": "1", "epsilon": "1", "data": "/x.csv", "format": "csv"},
		"differs in: epsilon":                        {"version": "2", "epsilon": "2", "data": "", "inputs": "a-b", "rows": 2},
		"differs in: schema, rows":                   {"version": "2", "epsilon": "1", "data": "", "inputs": "a-c", "rows": 3},
	} {
		if got := difference(settings, wanted); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

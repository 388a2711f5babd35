package own

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

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

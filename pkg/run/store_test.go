package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestDefaultStore(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "mine"))
	expect := func(want string) {
		t.Helper()
		if s, err := DefaultStore(); err != nil || s.Dir != want {
			t.Errorf("expected %s, found %s (%v)", want, s.Dir, err)
		}
	}
	expect(filepath.Join(dir, "mine"))
	t.Setenv("MOLEHILL_RUNS", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	below := filepath.Join(dir, "notebooks", "deep")
	ok(t, os.MkdirAll(below, 0o755))
	t.Chdir(below)
	if cache, err := os.UserCacheDir(); err == nil {
		expect(filepath.Join(cache, "molehill", "runs"))
	}
	ok(t, os.WriteFile(filepath.Join(dir, "notebooks", "go.mod"), []byte("module other\n"), 0o644))
	ok(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("// A comment.\nmodule molehill // here\n"), 0o644))
	expect(filepath.Join(dir, "runs"))
}

func TestCreateFindsWhatIsThere(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "runs")}
	var wait sync.WaitGroup
	runs := make([]*Run, 16)
	for i := range runs {
		wait.Go(func() { runs[i], _ = s.Create(Spec{Experiment: "a"}) })
	}
	wait.Wait()
	for _, r := range runs {
		if r == nil || r.ID != runs[0].ID || !r.Created.Equal(runs[0].Created) {
			t.Fatalf("expected one run, found %+v and %+v", runs[0], r)
		}
	}
	ok(t, noTemporary(s.Dir))
}

func TestOpenByPrefix(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if _, err := s.Open("flow"); !errors.Is(err, ErrUnknown) {
		t.Errorf("empty store: %v", err)
	}
	one, two := create(t, s, Spec{Experiment: "flow"}), create(t, s, Spec{Experiment: "flow-r"})
	for prefix, want := range map[string]*Run{one.ID: one, two.ID: two, "flow-r": two, one.ID[:len(one.ID)-3]: one} {
		if r, err := s.Open(prefix); err != nil || r.ID != want.ID {
			t.Errorf("%s: expected %s, found %v", prefix, want.ID, err)
		}
	}
	if _, err := s.Open("flow-"); err == nil || !strings.Contains(err.Error(), one.ID) || !strings.Contains(err.Error(), two.ID) {
		t.Errorf("expected both runs to be named, found %v", err)
	}
	for _, unknown := range []string{"flaw-r", "", "../" + filepath.Base(s.Dir), strings.Repeat("x", 1000)} {
		if _, err := s.Open(unknown); err == nil {
			t.Errorf("%.20q was found", unknown)
		} else if unknown == "flaw-r" && (!errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "nearest: "+two.ID)) {
			t.Errorf("expected %s to be suggested first, found %v", two.ID, err)
		}
	}
}

func TestListToleratesBrokenDirectories(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if entries, err := (Store{Dir: filepath.Join(s.Dir, "none")}).List(); err != nil || len(entries) > 0 {
		t.Errorf("a store without a folder: %v, %v", entries, err)
	}
	first, second := create(t, s, Spec{Experiment: "b"}), create(t, s, Spec{Experiment: "a"})
	write := func(dir, name, content string) {
		t.Helper()
		ok(t, os.MkdirAll(filepath.Join(s.Dir, dir), 0o755))
		ok(t, os.WriteFile(filepath.Join(s.Dir, dir, name), []byte(content), 0o644))
	}
	record, err := os.ReadFile(first.path(recordFile))
	ok(t, err)
	write(".", "README.txt", "not a run")
	broken := map[string]string{ // directory: part of the error
		"foreign": "no run directory", "empty": "empty file", "garbage": "invalid character",
		"newer": "format 99, this molehill reads up to 1: update", "older": "no run of molehill's",
		"edited": "edited by hand", "folder": "expected a file", "huge": "expected a few kilobytes",
	}
	write("foreign", "thesis.tex", "important")
	write("empty", recordFile, "")
	write("garbage", recordFile, "\x00\xff")
	write("newer", recordFile, `{"format": 99, "spec": "quite another"}`)
	write("older", recordFile, `{}`)
	write("edited", recordFile, strings.Replace(string(record), `"seed": 0`, `"seed": 1`, 1))
	write("folder/"+recordFile, "file", "")
	write("huge", recordFile, string(record))
	ok(t, os.Truncate(filepath.Join(s.Dir, "huge", recordFile), maxJSON+1))

	entries, err := s.List()
	ok(t, err)
	var sound []string
	for _, e := range entries {
		switch part, isBroken := broken[e.ID]; {
		case !isBroken:
			if sound = append(sound, e.ID); e.Err != nil || e.State != Pending || e.Run == nil {
				t.Errorf("%s: %+v", e.ID, e)
			}
		case e.Err == nil || !strings.Contains(e.Err.Error(), part) || !strings.Contains(e.Err.Error(), filepath.Join(s.Dir, e.ID)):
			t.Errorf("%s: expected an error that names the file and says %q, found %v", e.ID, part, e.Err)
		}
	}
	if want := []string{second.ID, first.ID}; !slices.Equal(sound, want) || len(entries) != len(broken)+2 {
		t.Errorf("expected %v, newest first, and %d broken ones; found %v", want, len(broken), entries)
	}
	if err := s.Delete("foreign"); err == nil || !exists(filepath.Join(s.Dir, "foreign", "thesis.tex")) {
		t.Errorf("a foreign folder was deleted (%v)", err)
	}
	ok(t, s.Delete("garbage"), s.Delete(first.ID))
	if _, err := first.State(); err == nil {
		t.Error("a deleted run has a state")
	}
}

// A folder named as a run but without run.json, as a process leaves it that is
// killed within Create, becomes the run.
func TestCreateCompletesAHalfMadeRun(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	name, err := Spec{Experiment: "a"}.ID()
	ok(t, err, os.Mkdir(filepath.Join(s.Dir, name), 0o755))
	expectState(t, create(t, s, Spec{Experiment: "a"}), Pending)
	if _, err := (Store{Dir: "/dev/null/runs"}).Create(Spec{Experiment: "a"}); err == nil || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("expected an error that names the folder, found %v", err)
	}
}

func ExampleStore_Create() {
	dir, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(dir)
	store := Store{Dir: dir}
	a, _ := store.Create(Spec{Experiment: "flow", Config: []byte(`{"steps": 200, "sigma": 0.5}`)})
	b, _ := store.Create(Spec{Experiment: "flow", Config: []byte(`{"sigma": 5e-1, "steps": 200}`)})
	fmt.Println(a.ID == b.ID)
	// Output: true
}

func TestTablesSurvive(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	want := []float32{1, -2.5, 3e-20, 4, 5, 6}
	if err := r.WriteTable("t.npy", want, 3); err != nil {
		t.Fatal(err)
	}
	if got, columns, err := r.Table("t.npy"); err != nil || columns != 3 || !slices.Equal(got, want) {
		t.Errorf("read %v in %d columns, %v", got, columns, err)
	}
	for _, columns := range []int{0, 4, -1} {
		if err := r.WriteTable("t.npy", want, columns); err == nil {
			t.Errorf("a table of %d columns was written of 6 numbers", columns)
		}
	}
	if err := r.WriteTable("t.npy", nil, 3); err == nil {
		t.Error("a table of nothing was written")
	}
	if got, _, err := r.Table("t.npy"); err != nil || !slices.Equal(got, want) {
		t.Errorf("after refused tables: %v, %v", got, err)
	}
	// Foreign files are errors, whatever they hold.
	for _, text := range []string{"", "no table", "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9, 99999999999), }"} {
		if err := r.WriteFile("foreign.npy", func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Table("foreign.npy"); err == nil {
			t.Errorf("%q was read as a table", text)
		}
	}
}

func TestAFolderThatCannotBeReadIsSaid(t *testing.T) {
	if os.Getuid() != 0 {
		s := Store{Dir: t.TempDir()}
		ok(t, os.Chmod(s.Dir, 0))
		if _, err := s.List(); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "MOLEHILL_RUNS") {
			t.Errorf("error %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "a file")
	ok(t, os.WriteFile(path, nil, 0o644))
	if _, err := (Store{Dir: path}).List(); err == nil || !strings.Contains(err.Error(), "MOLEHILL_RUNS") {
		t.Errorf("a file as the folder of runs: %v", err)
	}
	if _, err := (Store{Dir: path}).Create(Spec{Experiment: "a"}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a run in a file: %v", err)
	}
}

// What a process that was killed while it deleted a run has left goes with the next that
// makes or deletes one.
func TestHalfDeletedRunsGo(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	left := filepath.Join(s.Dir, graves+"a-0123456789ab-17", "keeper-only")
	for name, do := range map[string]func(){
		"making one":   func() { create(t, s, Spec{Experiment: "a"}) },
		"deleting one": func() { ok(t, s.Delete(create(t, s, Spec{Experiment: "a"}).ID)) },
		"one unknown":  func() { _ = s.Delete("a-0123456789ab") },
	} {
		ok(t, os.MkdirAll(left, 0o755))
		if do(); exists(filepath.Dir(left)) {
			t.Errorf("%s leaves what was deleted", name)
		}
		ok(t, os.RemoveAll(filepath.Join(s.Dir, graves+"a-0123456789ab-17")))
		ids, err := s.ids()
		ok(t, err)
		for _, id := range ids {
			ok(t, s.Delete(id))
		}
	}
}

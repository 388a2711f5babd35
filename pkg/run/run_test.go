package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// acquired returns a new run that this process computes.
func acquired(t testing.TB, spec Spec) *Run {
	t.Helper()
	r := create(t, Store{Dir: t.TempDir()}, spec)
	reacquire(t, r)
	return r
}

func reacquire(t testing.TB, r *Run) {
	t.Helper()
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Release() })
}

func ok(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func expectState(t *testing.T, r *Run, want State) {
	t.Helper()
	if state, err := r.State(); state != want || err != nil {
		t.Fatalf("expected state %s, found %s (%v)", want, state, err)
	}
}

func TestStates(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	expectState(t, r, Pending)
	reacquire(t, r)
	expectState(t, r, Running)
	ok(t, r.Release())
	expectState(t, r, Interrupted)
	reacquire(t, r)
	ok(t, r.Fail(errors.New("the loss is NaN")))
	expectState(t, r, Failed)
	if err := r.Failure(); err == nil || !strings.Contains(err.Error(), "the loss is NaN") {
		t.Errorf("failure: %v", err)
	}
	reacquire(t, r)
	expectState(t, r, Running)
	ok(t, r.Fail(context.Canceled))
	expectState(t, r, Interrupted)
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "generated from seed 1"), r.WritePrivacy(map[string]any{"epsilon": 1}))
	ok(t, r.Finish(Result{Metrics: Values{"sw2": 0.01, "loss": math.NaN()}, Note: "one seed"}))
	expectState(t, r, Finished)
	if err := r.Acquire(); !errors.Is(err, ErrFinished) {
		t.Errorf("expected ErrFinished, found %v", err)
	}
	result, err := r.Result()
	if err != nil || result.Metrics["sw2"] != 0.01 || !math.IsNaN(result.Metrics["loss"]) || result.Note != "one seed" {
		t.Errorf("result %+v, %v", result, err)
	}
	lives, err := r.Provenance()
	if err != nil || len(lives) != 4 {
		t.Fatalf("expected the provenance of 4 processes, found %d (%v)", len(lives), err)
	}
	if last := lives[3]; last.Backend != "Go" || last.Data != "generated from seed 1" || last.Cores < 1 || last.Go == "" {
		t.Errorf("provenance %+v", last)
	}
	if privacy, err := r.Privacy(); err != nil || !bytes.Contains(privacy, []byte("epsilon")) {
		t.Errorf("privacy %s, %v", privacy, err)
	}
}

func TestOnlyTheComputingProcessWrites(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	_, _, restore := r.Restore(func(int, io.Reader) error { return nil })
	_, key := r.Key()
	for what, err := range map[string]error{
		"Emit": r.Emit(Event{}), "Checkpoint": r.Checkpoint(1, sized(1, 'a')), "Restore": restore, "Key": key,
		"ComputedOn": r.ComputedOn("", ""), "Finish": r.Finish(Result{}), "Fail": r.Fail(io.EOF),
		"Release": r.Release(), "WritePrivacy": r.WritePrivacy(1),
		"Once": r.Once("a release", [32]byte{}), "Bind": r.Bind(nil), "Complete": r.Complete(),
		"Rest": r.Rest(1, sized(1, 'a')), "KeepReceipt": r.KeepReceipt("entry 1"),
	} {
		if !errors.Is(err, ErrNotHeld) {
			t.Errorf("%s: expected ErrNotHeld, found %v", what, err)
		}
	}
	// Nor does one that lets go of it while it saves.
	reacquire(t, r)
	if err := r.Rest(1, func(io.Writer) error { return r.Release() }); !errors.Is(err, ErrNotHeld) {
		t.Errorf("Rest: expected ErrNotHeld, found %v", err)
	}
	if lives, err := r.Provenance(); err != nil || len(lives) != 1 || lives[0].Rested != 0 {
		t.Errorf("its provenance is %+v, %v; want one life without a rest", lives, err)
	}
}

// What a process that was killed has left half written is no artefact, and goes with the
// next computation.
func TestLeftoversAreSwept(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.WriteFile("figures/flow.svg", sized(3, 'a')), r.Release())
	for _, name := range []string{".run.json.tmp-0123456789abcdef", artefactDir + "/figures/.flow.svg.tmp-0123456789abcdef"} {
		ok(t, os.WriteFile(r.path(name), []byte("half"), 0o644))
	}
	if names, err := r.Artefacts(); err != nil || !reflect.DeepEqual(names, []string{"figures/flow.svg"}) {
		t.Errorf("artefacts: %v, %v", names, err)
	}
	reacquire(t, r)
	if names, err := r.Artefacts(); err != nil || len(names) != 1 {
		t.Errorf("artefacts: %v, %v", names, err)
	}
	ok(t, noTemporary(r.Dir))
}

func TestKey(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	key, err := r.Key()
	ok(t, err)
	if info, err := os.Stat(r.path(keyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v: expected mode 0600", info.Mode(), err)
	}
	ok(t, r.Release())
	reacquire(t, r)
	if again, err := r.Key(); err != nil || again != key {
		t.Fatalf("the key changed: %v", err)
	}
	other := acquired(t, Spec{Experiment: "a"})
	if another, err := other.Key(); err != nil || another == key {
		t.Fatalf("two runs have the same key (%v)", err)
	}

	ok(t, os.Remove(r.path(keyCheck))) // killed between the key and its fingerprint
	if again, err := r.Key(); err != nil || again != key {
		t.Fatalf("the key changed: %v", err)
	}
	for what, content := range map[string][]byte{"short": key[:31], "foreign": make([]byte, 32), "empty": {}} {
		ok(t, os.WriteFile(r.path(keyFile), content, 0o600))
		if _, err := r.Key(); err == nil || !strings.Contains(err.Error(), "budget twice") {
			t.Errorf("%s key: expected a refusal, found %v", what, err)
		}
	}
	ok(t, os.Remove(r.path(keyFile)))
	if _, err := r.Key(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lost key: expected a refusal, found %v", err)
	}

	// Erased: not even another name of the file has it.
	ok(t, os.WriteFile(r.path(keyFile), key[:], 0o600), os.Link(r.path(keyFile), r.path("link")), r.Finish(Result{}))
	if content, err := os.ReadFile(r.path("link")); err != nil || exists(r.path(keyFile)) || !bytes.Equal(content, make([]byte, 32)) {
		t.Errorf("the key was not erased: %x, %v", content, err)
	}
	// Killed between the result and the erasing.
	ok(t, os.WriteFile(r.path(keyFile), key[:], 0o600))
	if err := r.Acquire(); !errors.Is(err, ErrFinished) || exists(r.path(keyFile)) {
		t.Errorf("a finished run keeps its key (%v)", err)
	}
}

func TestResearchKeyFollowsFromTheSeed(t *testing.T) {
	one, err1 := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a", Seed: 1, Research: true}).Key()
	same, err2 := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "b", Seed: 1, Research: true}).Key()
	two, err3 := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a", Seed: 2, Research: true}).Key()
	if ok(t, err1, err2, err3); one != same || one == two {
		t.Errorf("expected keys to follow from the seed alone: %x, %x; %x", one, same, two)
	}
}

func TestArtefacts(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	ok(t, r.WriteFile("figures/flow.svg", sized(3, 'a')), r.WriteFile("samples", sized(3, 'a')))
	broken := errors.New("cannot draw")
	if err := r.WriteFile("samples", func(w io.Writer) error { return errors.Join(sized(1<<20, 'b')(w), broken) }); !errors.Is(err, broken) {
		t.Errorf("expected the error of write, found %v", err)
	}
	if content, err := r.ReadFile("samples"); err != nil || string(content) != "aaa" {
		t.Errorf("expected the old samples, found %.10q (%v)", content, err)
	}
	var back map[string]int
	ok(t, r.WriteJSON("classes.json", map[string]int{"cat": 3}), r.ReadJSON("classes.json", &back), os.Remove(filepath.Join(r.Dir, artefactDir, "classes.json")))
	if !reflect.DeepEqual(back, map[string]int{"cat": 3}) {
		t.Errorf("read %v as JSON", back)
	}
	if err := r.ReadJSON("samples", &back); err == nil || !strings.Contains(err.Error(), "samples of "+r.ID) {
		t.Errorf("no JSON: %v", err)
	}
	if names, err := r.Artefacts(); err != nil || !reflect.DeepEqual(names, []string{"figures/flow.svg", "samples"}) {
		t.Errorf("artefacts: %v, %v", names, err)
	}
	for _, name := range []string{"", "../run.json", "/etc/passwd", "a/../../b"} {
		if err := r.WriteFile(name, sized(1, 'a')); err == nil {
			t.Errorf("WriteFile(%q): expected an error", name)
		}
		if file, err := r.Artefact(name); err == nil {
			file.Close()
			t.Errorf("Artefact(%q): expected an error", name)
		}
	}
	if err := r.ReadJSON("none", &back); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("expected fs.ErrNotExist, found %v", err)
	}
}

func TestFinishedRunAnswersAtOnce(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r := create(t, s, Spec{Experiment: "a"})
	reacquire(t, r)
	ok(t, r.Finish(Result{Metrics: Values{"x": 1}}))
	began := time.Now()
	result, err := create(t, s, Spec{Experiment: "a"}).Wait(context.Background())
	if took := time.Since(began); err != nil || result.Metrics["x"] != 1 || took > time.Second {
		t.Errorf("answered %v, %v after %v", result, err, took)
	}
}

// Why a computation gave up may tell of the rows that it looked at, and is its owner's.
func TestFailuresAreTheirOwners(t *testing.T) {
	r := acquired(t, Spec{Experiment: "failing"})
	if err := r.Fail(errors.New("row 3 is no label")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(r.path(errorFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file that nobody else reads", info, err)
	}
}

// A copy beside a run, under another name, is no second place where that run goes on.
func TestACopyIsNotComputed(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r, err := s.Create(Spec{Experiment: "copied"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(s.Dir, "backup"), os.DirFS(r.Dir)); err != nil {
		t.Fatal(err)
	}
	backup, err := Open(filepath.Join(s.Dir, "backup"))
	if err != nil || backup.ID != r.ID {
		t.Fatalf("%v, %v; a copy can be looked at", backup, err)
	}
	if err := backup.Acquire(); err == nil || !strings.Contains(err.Error(), "backup is a copy of "+r.ID) {
		t.Errorf("the copy is computed: %v", err)
	}
	elsewhere := filepath.Join(t.TempDir(), r.ID)
	if err := os.CopyFS(elsewhere, os.DirFS(r.Dir)); err != nil {
		t.Fatal(err)
	}
	if moved, err := Open(elsewhere); err != nil || moved.Acquire() != nil {
		t.Errorf("moved to another folder it does not go on: %v", err)
	}
}

// A relative folder is another one for each that asks, and the same run would pay in each.
func TestTheFolderOfRunsIsOneForAll(t *testing.T) {
	for _, dir := range []string{"runs", "~/runs", "./runs"} {
		t.Setenv("MOLEHILL_RUNS", dir)
		if s, err := DefaultStore(); err == nil || !strings.Contains(err.Error(), "begins with a slash") {
			t.Errorf("%q is the folder %q, %v", dir, s.Dir, err)
		}
	}
}

func TestADamagedPromiseIsNoPromise(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.WritePrivacy(map[string]any{"epsilon": 1}))
	text, err := r.Privacy()
	ok(t, err)
	for _, damaged := range [][]byte{nil, text[:len(text)/2]} {
		ok(t, os.WriteFile(r.path(privacyFile), damaged, 0o644))
		if _, err := r.Privacy(); err == nil || !strings.Contains(err.Error(), privacyFile) || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
	ok(t, r.WritePrivacy([]string{"all is well"})) // JSON, but no statement
	if s, err := r.Statement(); err == nil || !strings.Contains(err.Error(), "privacy statement of "+r.ID) {
		t.Errorf("it states %+v, %v", s, err)
	}
}

// Nothing is believed while the result that vouches for it cannot be read.
func TestAPromiseThatNothingVouchesForIsNone(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.WritePrivacy(map[string]any{"epsilon": 1}), r.Finish(Result{}))
	text, err := os.ReadFile(r.path(resultFile))
	ok(t, err, os.WriteFile(r.path(resultFile), text[:len(text)/2], 0o644))
	for range 2 { // with and without the statement itself
		if _, err := r.Privacy(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), resultFile) || !strings.Contains(err.Error(), "vouches for it") {
			t.Error(err)
		}
		ok(t, remove(r.path(privacyFile)))
	}
}

// A finished run promises what it ended with, and nothing else that stands in the file.
func TestAnEditedPromiseIsNoPromise(t *testing.T) {
	r := acquired(t, Spec{Experiment: "a"})
	ok(t, r.WritePrivacy(map[string]any{"epsilon": 1}), r.Finish(Result{}))
	text, err := r.Privacy()
	ok(t, err)
	for _, edited := range []string{strings.Replace(string(text), "1", "0.01", 1), "{}"} {
		ok(t, os.WriteFile(r.path(privacyFile), []byte(edited), 0o644))
		if _, err := r.Privacy(); err == nil || !strings.Contains(err.Error(), "not what the run ended with") {
			t.Errorf("%s: %v", edited, err)
		}
	}
	ok(t, os.Remove(r.path(privacyFile)))
	if _, err := r.Privacy(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("without the file: %v", err)
	}
	ok(t, os.WriteFile(r.path(privacyFile), text, 0o644))
	if again, err := r.Privacy(); err != nil || string(again) != string(text) {
		t.Errorf("restored: %v", err)
	}
	// One that promised nothing says so.
	none := acquired(t, Spec{Experiment: "b"})
	ok(t, none.Finish(Result{}))
	if _, err := none.Statement(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"molehill/pkg/atomicfile"
)

// The kernel's limit on the size of a file stands in for a full disk: with
// SIGXFSZ ignored, writes beyond it fail, after a part of them was written.
func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	if out, err := worker("full", filepath.Join(t.TempDir(), "runs")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// sized writes n bytes, all of them fill.
func sized(n int, fill byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte{fill}, n))
		return err
	}
}

func fillDisk(dir string) error {
	r, err := Store{Dir: dir}.Create(Spec{Experiment: "full"})
	if err != nil {
		return err
	}
	if err := r.Acquire(); err != nil {
		return err
	}
	if err := errors.Join(
		r.WriteFile("samples", sized(1000, 'a')),
		r.Checkpoint(1, sized(1000, 'a')),
		r.Emit(Event{Step: 1, Values: Values{"loss": 1}}),
	); err != nil {
		return err
	}

	signal.Ignore(syscall.SIGXFSZ)
	limit := unix.Rlimit{Cur: 1<<15 + 7, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	marked := 0
	for ; err == nil && marked < 10_000; marked++ {
		err = r.Once(fmt.Sprint("release ", marked), [32]byte{1})
	}
	if err == nil || !strings.Contains(err.Error(), "nothing was released") {
		return fmt.Errorf("expected an error that says that nothing was released, found %v", err)
	}
	_, _, sweepErr := Store{Dir: dir}.CreateSweep("full", strings.Repeat("b", 1<<20), nil, []Spec{r.Spec})
	for what, err := range map[string]error{
		sweepFile:      sweepErr,
		"samples":      r.WriteFile("samples", sized(1<<20, 'b')),
		"checkpoint-0": r.Checkpoint(2, sized(1<<20, 'b')),
		"result.json":  r.Finish(Result{Note: strings.Repeat("b", 1<<20)}),
		"privacy.json": r.WritePrivacy(strings.Repeat("b", 1<<20)),
	} {
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "start the run again") {
			return fmt.Errorf("expected an error that names %s and says what to do, found %v", what, err)
		}
	}
	emitted := 1
	for err = nil; err == nil; emitted++ {
		err = r.Emit(Event{Step: 1 + emitted, Message: strings.Repeat("m", 1000)})
		if emitted%10 == 0 {
			time.Sleep(flushInterval / 10)
		}
		if emitted > 10_000 {
			return errors.New("events: expected an error, found none")
		}
	}
	if !strings.Contains(err.Error(), eventsFile) {
		return fmt.Errorf("expected an error that names %s, found %v", eventsFile, err)
	}
	if events, err := r.Events(); err != nil || len(events) == 0 || events[0].Values["loss"] != 1 {
		return fmt.Errorf("events are damaged: %d left, %v", len(events), err)
	}
	if text, err := os.ReadFile(r.path(eventsFile)); err != nil || text[len(text)-1] != '\n' {
		return fmt.Errorf("the event stream ends within a line (%v)", err)
	}
	if text, err := os.ReadFile(filepath.Join(r.Dir, artefactDir, "samples")); err != nil || string(text) != strings.Repeat("a", 1000) {
		return fmt.Errorf("the old samples are lost (%v)", err)
	}
	if err := noTemporary(r.Dir); err != nil {
		return err
	}

	limit.Cur = 1 << 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := r.Writable(); err == nil || !strings.Contains(err.Error(), "start the run again") {
		return fmt.Errorf("expected an error that says why nothing can be written, found %v", err)
	}

	// Space is made: all that waited is written, and the run goes on.
	limit.Cur = unix.RLIM_INFINITY
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := errors.Join(r.Writable(), noTemporary(r.Dir)); err != nil {
		return err
	}
	if err := errors.Join(r.Checkpoint(2, sized(1<<20, 'b')), r.Once("release after", [32]byte{1})); err != nil {
		return err
	}
	if info, err := os.Stat(r.path(keyOnce)); err != nil || info.Size() != int64(marked)*markSize {
		return fmt.Errorf("expected %d whole marks, found %v (%v)", marked, info, err)
	}
	if err := r.Finish(Result{}); err != nil {
		return err
	}
	if events, err := r.Events(); err != nil || len(events) != emitted {
		return fmt.Errorf("expected all %d events, found %d (%v)", emitted, len(events), err)
	}
	return nil
}

func noTemporary(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if atomicfile.Leftover(filepath.Base(path)) {
			return fmt.Errorf("temporary file %s is left", path)
		}
		return err
	})
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	if err := os.Chmod(filepath.Dir(above), 0o755); err != nil { // so that others than root see it
		t.Fatal(err)
	}
	out, err := worker("readonly", filepath.Join(above, "runs")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("nothing to test here")) {
		t.Skipf("%s", out)
	}
}

func writeReadOnly(dir string) error {
	s := Store{Dir: dir}
	r, err := s.Create(Spec{Experiment: "old", Research: true}) // which has a key without writing
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(r.Dir, 0o555), os.Chmod(dir, 0o555)); err != nil {
		return err
	}
	defer func() { _ = errors.Join(os.Chmod(dir, 0o755), os.Chmod(r.Dir, 0o755)) }()
	if os.Getuid() == 0 { // whom permissions do not stop
		if err := syscall.Seteuid(65534); err != nil {
			return err
		}
		defer func() { _ = syscall.Seteuid(0) }()
		if _, err := os.Stat(r.Dir); err != nil {
			fmt.Println("a folder further up admits nobody but root: nothing to test here")
			return nil
		}
	}
	_, createErr := s.Create(Spec{Experiment: "new"})
	_, nameErr := s.Name(r, "mine")
	_, _, sweepErr := s.CreateSweep("new", "", nil, []Spec{r.Spec})
	for what, err := range map[string]error{
		"Name": nameErr, "CreateSweep": sweepErr, "Submitted": r.Submitted(Job{}),
		"Create": createErr, "Acquire": r.Acquire(), "Bind": r.Bind(nil),
		"WriteFile": r.WriteFile("a", sized(1, 'a')), "Delete": s.Delete(r.ID),
	} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir) {
			return fmt.Errorf("%s: expected an error of permission that names the folder, found %v", what, err)
		}
	}
	if again, err := s.Create(r.Spec); err != nil || again.ID != r.ID {
		return fmt.Errorf("a run that is there can be had without writing, found %v", err)
	}
	if state, err := r.State(); state != Pending || err != nil {
		return fmt.Errorf("expected pending, found %v, %v", state, err)
	}
	return nil
}

// waitForSignal computes until it is interrupted.
func waitForSignal(dir string) error {
	r, err := Open(dir)
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if err := r.Acquire(); err != nil {
		return err
	}
	select {
	case <-interrupted:
		return r.Release()
	case <-time.After(20 * time.Second):
		return errors.New("nobody interrupted")
	}
}

// Between its result and its end a process still holds the lock: nobody interrupts it then.
func TestAFinishedRunIsNotCancelled(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt)
	defer signal.Stop(heard)
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "flow"})
	ok(t, r.Acquire(), r.keepResult(Result{}))
	if err := r.Cancel(); !errors.Is(err, ErrIdle) {
		t.Errorf("cancelling one that tidies up: %v", err)
	}
	ok(t, r.Release())
	select {
	case <-heard:
		t.Error("its process was interrupted")
	case <-time.After(100 * time.Millisecond): // a signal to oneself takes a thousandth of it
	}
}

func TestCancelAndDeleteOfARunningRun(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	r := create(t, s, Spec{Experiment: "wait"})
	if err := r.Cancel(); err == nil {
		t.Error("a run that nobody computes was cancelled")
	}
	cmd := worker("wait", r.Dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	awaitState(t, r, Running)
	if err := r.Acquire(); !errors.Is(err, ErrBusy) {
		t.Errorf("Acquire: expected ErrBusy, found %v", err)
	}
	if err := s.Delete(r.ID); !errors.Is(err, ErrBusy) {
		t.Errorf("Delete: expected ErrBusy, found %v", err)
	}
	if owner, err := r.Owner(); err != nil || owner.PID != cmd.Process.Pid {
		t.Errorf("owner is %+v (%v), expected process %d", owner, err, cmd.Process.Pid)
	}
	// A number that is not the holder's, as another container's would be, is left alone.
	lock := filepath.Join(r.Dir, lockFile)
	signed, err := os.ReadFile(lock)
	ok(t, err)
	for _, stranger := range []int{os.Getpid(), 1 << 30} {
		ok(t, os.WriteFile(lock, bytes.Replace(signed, fmt.Append(nil, cmd.Process.Pid), fmt.Append(nil, stranger), 1), 0o644))
		if err := r.Cancel(); err == nil || !strings.Contains(err.Error(), "another one") {
			t.Errorf("process %d was asked to stop: %v", stranger, err)
		}
	}
	// Nor is one of this machine whose number is that of the holder on another.
	var owner Owner
	ok(t, json.Unmarshal(signed, &owner))
	owner.Host += "-elsewhere"
	abroad, err := json.Marshal(owner)
	ok(t, err, os.WriteFile(lock, abroad, 0o644))
	if err := r.Cancel(); err == nil || !strings.Contains(err.Error(), "computed on "+owner.Host) || !strings.Contains(err.Error(), "cancel it there") {
		t.Errorf("what another machine computes was cancelled here: %v", err)
	}
	ok(t, os.WriteFile(lock, signed, 0o644))
	if err := r.Cancel(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		t.Fatalf("%v %v\n%s", err, errors.As(err, &exit), &out)
	}
	awaitState(t, r, Interrupted)
	if err := s.Delete(r.ID); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) > 0 {
		t.Errorf("the store is expected to be empty, found %v (%v)", entries, err)
	}
}

func awaitState(t *testing.T, r *Run, want State) {
	t.Helper()
	var state State
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if state, err = r.State(); state == want {
			// A started process signs the lock right after it has it.
			if _, err := r.Owner(); want != Running || err == nil {
				return
			}
		}
	}
	t.Fatalf("expected the run to become %s, it is %s (%v)", want, state, err)
}

package run

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Between taking the lock and signing it a process holds it namelessly; who asks for
// its name then waits for that, and does not where nobody holds it.
func TestOwnerOfALockThatIsNotSignedYet(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	lock, err := acquire(r.Dir)
	ok(t, err)
	signed := make(chan error)
	time.AfterFunc(100*time.Millisecond, func() { signed <- sign(r.Dir) })
	if owner, err := r.Owner(); err != nil || owner.PID != os.Getpid() {
		t.Errorf("asked before it has signed: %+v, %v", owner, err)
	}
	ok(t, <-signed, lock.Close(), os.Truncate(filepath.Join(r.Dir, lockFile), 0))
	if owner, err := r.Owner(); err == nil {
		t.Errorf("a lock that nobody holds, with nothing in it, is of %+v", owner)
	}
}

// What has to be done while nobody computes a run keeps everybody from it, and is not done
// while somebody does.
func TestWhileIdle(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	r := create(t, s, Spec{Experiment: "a"})
	done := errors.New("done")
	err := r.WhileIdle(func() error {
		if err := r.Acquire(); !errors.Is(err, ErrBusy) {
			t.Errorf("it is begun meanwhile: %v", err)
		}
		return done
	})
	if !errors.Is(err, done) {
		t.Errorf("%v; want what was returned", err)
	}
	if state, err := r.State(); err != nil || state != Pending {
		t.Errorf("it is %s, %v; nobody has computed it", state, err)
	}
	ok(t, r.Acquire())
	if err := r.WhileIdle(func() error { t.Error("called while it is computed"); return nil }); !errors.Is(err, ErrBusy) {
		t.Errorf("%v; want ErrBusy", err)
	}
	ok(t, r.Release())
}

// A file that was removed between opening and locking it is the lock of nothing: who holds
// it would write into the run that is made in its place, beside whoever computes that.
func TestALockIsThatOfTheRunThatIsThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lockFile)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for began := time.Now(); time.Since(began) < 200*time.Millisecond && !t.Failed(); {
				lock, err := acquire(dir)
				if err != nil {
					continue // another holds it, or has just removed it
				}
				mine, err := lock.Stat()
				there, missing := os.Stat(path)
				if err != nil || missing != nil || !os.SameFile(mine, there) {
					t.Errorf("a lock that was removed is held: %v", errors.Join(err, missing))
				}
				if err := errors.Join(os.Remove(path), lock.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

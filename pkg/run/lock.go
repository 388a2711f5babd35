package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrBusy says that another process is computing the run.
var ErrBusy = errors.New("another process is computing this run: `molehill watch` shows how it goes, and `molehill cancel` stops it")

// ErrIdle says that there is nothing to cancel.
var ErrIdle = errors.New("no process is computing it")

// Owner is the process that holds a run's lock, or held it last.
type Owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// acquire takes the lock of the run in dir. The kernel lets go of it when the
// process ends, however it ends, so there are no stale locks.
//
// A watcher that looks whether the lock is held takes a share of it for some
// microseconds, so one refusal says little; ten in 100 ms say that it is taken.
func acquire(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o644))
	for attempt := 0; ; attempt++ {
		held, err := lock.TryLock()
		if err != nil {
			return nil, explain(path, err)
		}
		if held {
			break
		}
		if attempt == 10 {
			return nil, fmt.Errorf("run: %s: %w", filepath.Base(dir), ErrBusy)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Between opening the lock and holding it, the run may have been deleted:
	// then this is the lock of nothing.
	mine, err := lock.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("run: %s was deleted while it was being started: %w", dir, err)
	}
	return lock, nil
}

// sign writes who holds the lock into it. Not by renaming: the lock is the file.
func sign(dir string) error {
	owner := Owner{PID: os.Getpid()}
	owner.Host, _ = os.Hostname()
	text, err := json.Marshal(owner)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, lockFile)
	return explain(path, os.WriteFile(path, text, 0o644))
}

// signed reports whether some process has ever held the lock in dir.
func signed(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, lockFile))
	return err == nil && info.Size() > 0
}

// locked reports whether some process computes the run in dir.
func locked(dir string) (bool, error) {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDONLY)) // never creates it
	defer lock.Close()
	free, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free && err == nil, err
}

// WhileIdle calls do while nobody computes the run, and keeps everybody from beginning
// to meanwhile. It returns ErrBusy, and do is not called, where somebody does.
func (r *Run) WhileIdle(do func() error) error {
	lock, err := acquire(r.Dir)
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

// Owner returns the process that computes the run, or computed it last.
func (r *Run) Owner() (Owner, error) {
	owner, err := ownerOf(r.Dir)
	if err != nil {
		return Owner{}, fmt.Errorf("run: owner of %s: %w", r.ID, err)
	}
	return owner, nil
}

// ownerOf reads who holds the lock in dir. Who has just taken it signs it a moment
// later, so text that is not whole is read again, for a second, while it is held.
func ownerOf(dir string) (owner Owner, err error) {
	for attempt := 0; ; attempt++ {
		err = readJSON(filepath.Join(dir, lockFile), &owner)
		if err == nil || errors.Is(err, fs.ErrNotExist) || attempt == 100 {
			return owner, err
		}
		if busy, _ := locked(dir); !busy {
			return owner, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Cancel asks the process that computes the run to stop (SIGINT). The run is
// then interrupted: started again, it goes on from its last checkpoint. It returns ErrIdle
// of one that is finished, whose process may still be tidying up.
func (r *Run) Cancel() error {
	if state, err := r.State(); err == nil && state == Finished {
		return fmt.Errorf("run: cancelling %s: it is finished: %w", r.ID, ErrIdle)
	}
	return interrupt(r.Dir, r.ID)
}

// interrupt sends SIGINT to the process that holds the lock in dir.
func interrupt(dir, what string) error {
	switch busy, err := locked(dir); {
	case err != nil:
		return fmt.Errorf("run: cancelling %s: %w", what, err)
	case !busy:
		return fmt.Errorf("run: cancelling %s: %w", what, ErrIdle)
	}
	owner, err := ownerOf(dir)
	if err != nil {
		return fmt.Errorf("run: cancelling %s: %w", what, err)
	}
	if host, _ := os.Hostname(); owner.Host != host {
		return fmt.Errorf("run: cancelling %s: it is computed on %s, this is %s: cancel it there", what, owner.Host, host)
	}
	if strangers(owner.PID, filepath.Join(dir, lockFile)) {
		return fmt.Errorf("run: cancelling %s: here process %d is another one than the one that computes it: cancel it in the container that it is in, or try again", what, owner.PID)
	}
	process, err := os.FindProcess(owner.PID)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil {
		return fmt.Errorf("run: cancelling %s: process %d: %w", what, owner.PID, err)
	}
	return nil
}

// strangers reports whether a process is known not to have the file at path open.
// The number in a lock may be that of another container, or of a holder before,
// and whoever has it now must not be interrupted. Where nobody can tell (no
// /proc, another user's process) it is false.
func strangers(pid int, path string) bool {
	open := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(open)
	if err != nil {
		_, gone := os.Stat(fmt.Sprintf("/proc/%d", pid))
		_, able := os.Stat("/proc/self/fd")
		return able == nil && errors.Is(gone, fs.ErrNotExist)
	}
	lock, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if file, err := os.Stat(filepath.Join(open, entry.Name())); err == nil && os.SameFile(file, lock) {
			return false
		}
	}
	return true
}

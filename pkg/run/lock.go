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
var ErrBusy = errors.New("another process is computing this run; watch it instead")

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

// Owner returns the process that computes the run, or computed it last.
func (r *Run) Owner() (Owner, error) {
	var owner Owner
	if err := readJSON(r.path(lockFile), &owner); err != nil {
		return Owner{}, fmt.Errorf("run: owner of %s: %w", r.ID, err)
	}
	return owner, nil
}

// Cancel asks the process that computes the run to stop (SIGINT). The run is
// then interrupted: started again, it goes on from its last checkpoint.
func (r *Run) Cancel() error {
	switch busy, err := locked(r.Dir); {
	case err != nil:
		return fmt.Errorf("run: cancelling %s: %w", r.ID, err)
	case !busy:
		return fmt.Errorf("run: cancelling %s: no process is computing it", r.ID)
	}
	owner, err := r.Owner()
	if err != nil {
		return err
	}
	if host, _ := os.Hostname(); owner.Host != host {
		return fmt.Errorf("run: cancelling %s: it is computed on %s, this is %s: cancel it there", r.ID, owner.Host, host)
	}
	process, err := os.FindProcess(owner.PID)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil {
		return fmt.Errorf("run: cancelling %s: process %d: %w", r.ID, owner.PID, err)
	}
	return nil
}

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

var (
	// ErrFinished says that there is nothing left to compute.
	ErrFinished = errors.New("this run is finished; read its result")
	// ErrNotHeld says that this process may not write: it does not compute the run.
	ErrNotHeld = errors.New("this process does not compute the run; call Acquire first")
)

// computation is what the computing process holds.
type computation struct {
	mu       sync.Mutex
	lock     *flock.Flock // nil: this process only watches
	events   *eventLog
	from     *checkpoint // to go on from; nil: from the beginning
	restored bool        // the experiment has asked for it
	last     int         // step of the newest checkpoint, -1 if there is none
	marks    *marks      // of releases
}

// Acquire makes this process the one that computes, until Finish, Fail or
// Release, or its end. It returns ErrBusy while another does, and ErrFinished
// when there is nothing left to do and nothing of it left behind.
//
// Events beyond the checkpoint that [Run.Restore] will return are cut off: the
// steps they tell of will be computed again, and curves must not have them
// twice.
func (r *Run) Acquire() (err error) {
	c := &r.holding
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		return fmt.Errorf("run: %s: this very process is computing it: %w", r.ID, ErrBusy)
	}
	if name := filepath.Base(r.Dir); name != r.ID {
		return fmt.Errorf("run: %s is a copy of %s, and can only be looked at: what is asked of that run, whether it goes on or is over, would not reach it", name, r.ID)
	}
	lock, err := acquire(r.Dir)
	if err != nil {
		return err
	}
	events, from, err := r.prepare()
	if err != nil {
		lock.Close()
		return err
	}
	c.lock, c.events, c.from, c.restored, c.last, c.marks = lock, events, from, false, -1, &marks{}
	events.before = c.marks.sync
	if from != nil {
		c.last = from.step
	}
	return nil
}

// prepare puts the directory in order after whatever happened to the process
// that computed here before. The caller holds the lock.
func (r *Run) prepare() (*eventLog, *checkpoint, error) {
	if exists(r.path(resultFile)) {
		// Killed between the result and the end of Finish, a key may remain.
		if err := tidy(r.Dir); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("run: %s: %w", r.ID, ErrFinished)
	}
	if err := sign(r.Dir); err != nil {
		return nil, nil, err
	}
	record, err := readRecord(r.Dir)
	if err != nil {
		return nil, nil, err
	}
	sweep(r.Dir)
	from, err := newestCheckpoint(r.Dir)
	if err != nil {
		return nil, nil, err
	}
	last := -1
	if from != nil {
		last = from.step
	}
	events, err := openEventLog(r.path(eventsFile), last)
	if err != nil {
		return nil, nil, err
	}
	// Watchers take a new entry here as the sign that events were cut off.
	record.Provenance = append(record.Provenance, provenance())
	err = writeAtomic(r.path(recordFile), 0o644, asJSON(record))
	if err == nil {
		err = remove(r.path(errorFile))
	}
	if err != nil {
		return nil, nil, errors.Join(err, events.close())
	}
	return events, from, nil
}

// computing returns nil in the process that computes.
func (r *Run) computing() error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	return r.holding.require(r)
}

// leaving is computing for what may tell of releases and is about to leave the process.
func (r *Run) leaving() error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	if err := r.holding.require(r); err != nil {
		return err
	}
	return r.holding.marks.sync()
}

func (c *computation) require(r *Run) error {
	if c.lock == nil {
		return fmt.Errorf("run: %s: %w", r.ID, ErrNotHeld)
	}
	return c.events.there()
}

// write brings events that wait to their file. An error reaches the next Emit.
func (c *computation) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		_ = c.events.flush()
	}
}

// Emit tells watchers how far the computation is. It is cheap: events are
// written together, ten times a second, and of those with neither values nor a
// message only the last. Values are all kept; they are the curves. An error
// says that events cannot be written, for want of space for example, and wait.
func (r *Run) Emit(e Event) error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	if r.holding.lock == nil {
		return r.holding.require(r)
	}
	return r.holding.events.add(e)
}

// Say is Emit of what may go unsaid: progress that cannot be told is no reason to stop.
func (r *Run) Say(e Event) { _ = r.Emit(e) }

// Checkpoint saves the state after step steps, to go on from if this process
// does not live to finish. When it returns nil the state is on the disk, and so
// are the events emitted before; emit those of a step before its checkpoint.
// The last two checkpoints are kept.
func (r *Run) Checkpoint(step int, save func(io.Writer) error) error {
	if err := r.beforeCheckpoint(step); err != nil {
		return err
	}
	if err := writeCheckpoint(r.Dir, step, save); err != nil { // unlocked: save may Emit
		return err
	}
	if err := pruneCheckpoints(r.Dir); err != nil {
		return fmt.Errorf("run: removing old checkpoints of %s: %w", r.ID, err)
	}
	return nil
}

// Rest is the Checkpoint of a computation that is told to stop, of all that it has done: who
// goes on from there does nothing again, and, where the run has no secret key, may do so
// with another backend, which rounds otherwise.
func (r *Run) Rest(step int, save func(io.Writer) error) error {
	if err := r.Checkpoint(step, save); err != nil {
		return err
	}
	return r.keep(func(now *Provenance) { now.Rested, now.Ended = step, time.Now() })
}

func (r *Run) beforeCheckpoint(step int) error {
	c := &r.holding
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.require(r); err != nil {
		return err
	}
	switch {
	case step < 0 || step >= 1e12:
		return fmt.Errorf("run: checkpoint of %s: step %d, expected 0 to 10¹²-1", r.ID, step)
	case c.from != nil && !c.restored:
		return fmt.Errorf("run: checkpoint of %s: it would overtake the one of step %d that is there already: call Restore first", r.ID, c.from.step)
	case step < c.last:
		return fmt.Errorf("run: checkpoint of %s: step %d comes after step %d, expected steps to grow", r.ID, step, c.last)
	}
	c.last = step
	return c.events.sync()
}

// Restore hands the newest sound checkpoint to load and returns its step, or
// found = false where there is none and the computation is to begin at its
// beginning.
func (r *Run) Restore(load func(step int, r io.Reader) error) (step int, found bool, err error) {
	from, err := r.beforeRestore()
	if from == nil || err != nil {
		return 0, false, err
	}
	if err := from.load(load); err != nil { // unlocked: load may Emit
		return 0, false, err
	}
	return from.step, true, nil
}

func (r *Run) beforeRestore() (*checkpoint, error) {
	c := &r.holding
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restored = true
	return c.from, c.require(r)
}

// WritePrivacy keeps the run's privacy statement, as JSON.
func (r *Run) WritePrivacy(statement any) error {
	if err := r.computing(); err != nil {
		return err
	}
	return writeAtomic(r.path(privacyFile), 0o644, asJSON(statement))
}

// Finish keeps the result, erases the noise key and the checkpoints, and ends the
// computation. The run is finished from the moment its result is on the disk. If the result
// cannot be written the run goes on: call Finish again, or Fail.
func (r *Run) Finish(result Result) error {
	if err := r.keepResult(result); err != nil {
		return err
	}
	return r.end(func() error { return tidy(r.Dir) })
}

// tidy removes what a finished run needs no more.
func tidy(dir string) error { return errors.Join(eraseKey(dir), removeCheckpoints(dir)) }

// Settle ends what Finish may have left undone in a process that was killed: a
// finished run keeps no key.
func (r *Run) Settle() error {
	if !exists(r.path(keyFile)) {
		return nil
	}
	err := r.Acquire()
	if errors.Is(err, ErrFinished) || errors.Is(err, ErrBusy) {
		return nil
	}
	return errors.Join(err, r.Release())
}

func (r *Run) keepResult(result Result) error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	if err := r.holding.require(r); err != nil {
		return err
	}
	if err := r.holding.events.sync(); err != nil {
		return err
	}
	result.Finished = time.Now()
	switch promised, err := readFile(r.path(privacyFile)); {
	case err == nil:
		result.Promised = digest(promised)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("run: privacy statement of %s: %w", r.ID, err)
	}
	return writeAtomic(r.path(resultFile), 0o644, asJSON(result))
}

// Fail keeps the reason why the computation gave up, and ends it. Started again
// the run goes on from its last checkpoint, with the same noise; where the reason is
// Recurring, to no other end. A computation
// that was cancelled (context.Canceled) has not failed; it is interrupted.
func (r *Run) Fail(reason error) error {
	if reason == nil || errors.Is(reason, context.Canceled) {
		return r.Release()
	}
	return r.end(func() error {
		// What a computation gave up for may tell of the rows that it looked at.
		return writeAtomic(r.path(errorFile), 0o600, asJSON(failure{reason.Error(), errors.As(reason, new(Recurring)), time.Now()}))
	})
}

// Release ends the computation and leaves the run interrupted.
func (r *Run) Release() error { return r.end(func() error { return nil }) }

// end lets go of the run after final, whatever that returns: the lock comes
// last, because with it watchers take the directory for settled.
func (r *Run) end(final func() error) error {
	c := &r.holding
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return c.require(r)
	}
	// In a directory that was deleted, and perhaps made anew, this process has
	// nothing to say any more.
	there := c.events.there()
	var err error
	if there == nil {
		if err = c.marks.sync(); err == nil { // an error may tell of a release too
			err = final()
		}
	}
	err = errors.Join(there, err, c.events.close(), c.marks.close(), c.lock.Close())
	c.lock, c.events, c.from, c.marks = nil, nil, nil, nil
	return err
}

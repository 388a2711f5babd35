// Package launch starts runs: it gives a run that nobody computes a process of
// its own, on this machine or on a cluster, and leaves alone one that somebody
// does.
//
//	r, started, err := launch.Local{}.Start(ctx, store, spec)
//	for update := range r.Watch(ctx) { … }
//
// Any number of processes may start the same run at any time. The run's lock
// decides who computes; all others attach to what is going on.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"molehill/pkg/run"
)

// Local starts runs on this machine. Binary is the molehill command to compute
// with, as "Binary compute DIR"; if it is empty [FindBinary] finds one, when it
// is needed.
type Local struct{ Binary string }

// Start returns the run that spec determines, finished or with a process that
// computes it; started says whether that process is ours. A run that failed or
// was interrupted goes on from its last checkpoint. An error says why there is
// no run, or why its process ended before it could compute, with the end of
// what it printed.
//
// The process has a session of its own: closing the notebook or the terminal
// stops nothing. Nor does ctx, which only ends the waiting. See [run.Run.Cancel].
func (l Local) Start(ctx context.Context, store run.Store, spec run.Spec) (r *run.Run, started bool, err error) {
	if r, err = store.Create(spec); err != nil {
		return nil, false, err
	}
	started, err = l.Resume(ctx, r)
	return r, started, err
}

// Resume is Start for a run that has a directory already.
func (l Local) Resume(ctx context.Context, r *run.Run) (started bool, err error) {
	switch state, err := r.State(); {
	case err != nil:
		return false, err
	case state == run.Finished:
		return false, r.Settle()
	case state == run.Running:
		return false, nil
	}
	if queued, err := Queued(ctx, r); err != nil || queued[r.ID] != "" {
		return false, err // a cluster computes it, or will
	}
	if l.Binary == "" {
		if l.Binary, err = FindBinary(ctx); err != nil {
			return false, err
		}
	}
	w, err := l.spawn(r.LogPath(), "compute", r.Dir)
	if err != nil {
		return false, err
	}
	return w.await(ctx, r)
}

// worker is a process that was started to compute a run.
type worker struct {
	pid   int
	ended chan error // what Wait returned, once
	log   int64      // length of the log before it began
}

// spawn starts a process of the molehill command that nobody's end ends, and
// whose words go to the end of a log.
func (l Local) spawn(log string, arguments ...string) (*worker, error) {
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("launch: a process needs a log: %w", err)
	}
	defer file.Close() // the process has its own
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("launch: a process needs a log: %w", err)
	}
	var cmd *exec.Cmd
	for attempt := 0; ; attempt++ {
		cmd = exec.Command(l.Binary, arguments...)
		cmd.Stdout, cmd.Stderr = file, file
		cmd.Env = environment(os.Environ())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		// A binary just built is busy while any process, forked a moment ago and
		// about to execute another program, still has it open for writing.
		if err = cmd.Start(); !errors.Is(err, syscall.ETXTBSY) || attempt == 10 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("launch: %w; set MOLEHILL_BIN to a molehill command that can be executed", err)
	}
	w := &worker{pid: cmd.Process.Pid, ended: make(chan error, 1), log: info.Size()}
	go func() { w.ended <- cmd.Wait() }() // also takes it from the process table
	return w, nil
}

// environment is env with asynchronous preemption off: its signals interrupt
// the C code of accelerator plug-ins, which does not expect them. What the user
// has set stays.
func environment(env []string) []string {
	const setting = "asyncpreemptoff="
	godebug := ""
	for _, entry := range env { // the last one counts
		if value, ok := strings.CutPrefix(entry, "GODEBUG="); ok {
			godebug = value
		}
	}
	switch {
	case strings.Contains(godebug, setting):
		return env
	case godebug != "":
		godebug += ","
	}
	return append(env[:len(env):len(env)], "GODEBUG="+godebug+setting+"1")
}

// await returns when somebody computes r or nobody needs to: true if it is w.
func (w *worker) await(ctx context.Context, r *run.Run) (ours bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var ended bool
		var exit error
		select {
		case exit = <-w.ended:
			ended = true
		case <-time.After(pause):
		case <-ctx.Done():
			return false, fmt.Errorf("launch: %s is being started as process %d; not waiting for it: %w", r.ID, w.pid, ctx.Err())
		}
		// Having seen the process end before looking, we see all that it did.
		state, err := r.State()
		if err != nil {
			return false, err
		}
		if state == run.Running || state == run.Finished {
			// The holder signs the lock right after taking it; a reader between
			// the two sees nothing, or the process before.
			if owner, err := r.Owner(); err == nil && owner.PID == w.pid {
				return true, nil
			}
			if ended || state == run.Finished {
				return false, nil
			}
			continue // somebody else computes: our process will find that, and end
		}
		if ended {
			return false, w.failure(r, state, exit)
		}
	}
}

// failure says why the process ended without computing.
func (w *worker) failure(r *run.Run, state run.State, exit error) error {
	reason := exit
	if owner, err := r.Owner(); err == nil && owner.PID == w.pid && state == run.Failed {
		reason = r.Failure() // its own, not that of a process before
	}
	if reason == nil {
		reason = errors.New("it said that all is well")
	}
	tail := logTail(r.LogPath(), w.log)
	if tail == "" {
		tail = "(nothing)"
	}
	return fmt.Errorf("launch: the process that was to compute %s ended at once: %w\nit printed, to %s:\n%s", r.ID, reason, r.LogPath(), tail)
}

// logTail returns the last lines, up to 4 KB, of what the log at path holds
// beyond offset start.
func logTail(path string, start int64) string {
	const most = 4 << 10
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err.Error()
	}
	from := max(start, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(log, from, most))
	if err != nil {
		return err.Error()
	}
	tail := string(text)
	if _, whole, found := strings.Cut(tail, "\n"); found && from > start {
		tail = whole
	}
	return strings.TrimSpace(strings.ToValidUTF8(tail, "?"))
}

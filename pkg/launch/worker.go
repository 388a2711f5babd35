package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"molehill/pkg/run"
)

// worker is a process that was started to compute a run, or several.
type worker struct {
	proc *os.Process
	next io.WriteCloser // takes the directories of further runs, a line each; nil for one run alone
	ends chan end       // of each run that it was given; closed after its own
	log  int64          // length of the run's log before it began
	runs int            // that it was given
	idle bool           // it has told the end of the last of them
	gone bool           // it has ended
}

// end is how a run ended for the process that was given it, or the process itself.
type end struct {
	err error
	own bool // the process's
}

// spawn starts a process of the molehill command, found where none is given, that nobody's
// end ends, and whose words go to the end of a log. One that takes more than a run reads directories
// from standard input, and answers on file 3 how each ended (Serve).
func (l Local) spawn(ctx context.Context, log string, more bool, arguments ...string) (w *worker, err error) {
	if l.Binary == "" {
		if l.Binary, err = FindBinary(ctx); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launch: a process needs a log: %w", err)
	}
	defer file.Close() // the process has its own
	w = &worker{ends: make(chan end, 2), runs: 1}
	if w.log, err = lengthOf(log); err != nil {
		return nil, err
	}
	var answers io.ReadCloser = io.NopCloser(strings.NewReader(""))
	var files [2]*os.File // that the process has: what it reads, and what it writes
	if more {
		var ours [2]*os.File
		if files[0], ours[0], err = os.Pipe(); err == nil {
			if ours[1], files[1], err = os.Pipe(); err != nil {
				err = errors.Join(err, files[0].Close(), ours[0].Close())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("launch: a process needs pipes: %w", err)
		}
		w.next, answers = ours[0], ours[1]
		defer files[0].Close()
		defer files[1].Close()
	}
	var cmd *exec.Cmd
	for attempt := 0; ; attempt++ {
		cmd = exec.Command(l.Binary, arguments...)
		cmd.Stdout, cmd.Stderr = file, file
		if more {
			cmd.Stdin, cmd.ExtraFiles = files[0], files[1:]
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		// A binary just built is busy while any process, forked a moment ago and
		// about to execute another program, still has it open for writing.
		if err = cmd.Start(); !errors.Is(err, syscall.ETXTBSY) || attempt == 10 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		answers.Close()
		w.dismiss()
		return nil, fmt.Errorf("launch: %w; set MOLEHILL_BIN to a molehill command that can be executed", err)
	}
	w.proc = cmd.Process
	go func() {
		defer answers.Close()
		for lines := bufio.NewReader(answers); ; {
			line, err := lines.ReadString('\n') // of any length, as errors are
			if err != nil {
				break
			}
			w.ends <- end{err: answered(strings.TrimSuffix(line, "\n"))}
		}
		w.ends <- end{cmd.Wait(), true} // also takes it from the process table
		close(w.ends)
	}()
	return w, nil
}

// lengthOf is that of a log, 0 if there is none yet.
func lengthOf(log string) (int64, error) {
	info, err := os.Stat(log)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("launch: a process needs a log: %w", err)
	}
	return info.Size(), nil
}

// give hands an idle worker another run. It may have ended without our knowing.
func (w *worker) give(r *run.Run) (err error) {
	if w.log, err = lengthOf(r.LogPath()); err != nil {
		return err
	}
	w.runs, w.idle = w.runs+1, false
	_, err = fmt.Fprintln(w.next, r.Dir)
	return err
}

// dismiss tells a worker that no further run will come.
func (w *worker) dismiss() {
	if w.next != nil {
		w.next.Close()
	}
}

// stop interrupts a worker that is busy, also one that has not begun, and waits for its
// end.
func (w *worker) stop() {
	if w.proc.Signal(os.Interrupt) != nil {
		return // it has ended
	}
	for patient := time.After(patience); !w.gone; {
		select {
		case e, open := <-w.ends:
			_ = w.told(e, open) // the run itself says how it ended
		case <-patient:
			return
		}
	}
}

// told takes in how a run ended, or the process.
func (w *worker) told(e end, open bool) error {
	w.idle, w.gone = true, w.gone || e.own || !open
	return e.err
}

// await returns when somebody computes r or nobody needs to: true if it is w.
func (w *worker) await(ctx context.Context, r *run.Run) (ours bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var ended bool
		var exit error
		select {
		case e, open := <-w.ends:
			exit, ended = w.told(e, open), true
		case <-time.After(pause):
		case <-ctx.Done():
			return false, fmt.Errorf("launch: %s is being started as process %d; not waiting for it: %w", r.ID, w.proc.Pid, ctx.Err())
		}
		// Having seen the process end before looking, we see all that it did.
		state, err := r.State()
		if err != nil {
			return false, err
		}
		if state == run.Running || state == run.Finished {
			// The holder signs the lock right after taking it; a reader between
			// the two sees nothing, or the process before.
			if owner, err := r.Owner(); err == nil && owner.PID == w.proc.Pid {
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
	if owner, err := r.Owner(); err == nil && owner.PID == w.proc.Pid && state == run.Failed {
		reason = r.Failure() // its own, not that of a process before
	}
	if reason == nil {
		reason = errors.New("it said that all is well")
	}
	reason = errors.Join(reason, r.Writable())
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

package kernel

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed execute.py
var executeScript string

// DefaultTimeout is how long a cell may take where nothing else is said. Cells
// on an empty build cache compile for a minute.
const DefaultTimeout = 10 * time.Minute

// ExecuteOptions says how to execute a notebook and where its outputs go.
// Without InPlace they are in the Result only.
type ExecuteOptions struct {
	Timeout time.Duration // for each cell; 0: DefaultTimeout
	// InPlace writes the notebook back if it ran to its end and is still what it was, else
	// into the folder "executed" beside it.
	InPlace bool
	Out     io.Writer // progress, one line per cell; nil: silent
	Env     []string  // added to the environment, NAME=value
}

// Result is an executed notebook.
type Result struct {
	Notebook *Notebook       // with outputs, up to the cell that failed
	Path     string          // where it was written; "" if nowhere
	Elapsed  time.Duration   // kernel start included
	Cells    []time.Duration // by index of cell; 0 for text and for cells not reached
}

// Execute runs all cells of the notebook at path in a kernel of their own, in
// the notebook's folder, up to the first that fails. A cell that fails is a
// *CellError; the Result is then there too and shows what came before.
func Execute(ctx context.Context, e *Environment, path string, o ExecuteOptions) (*Result, error) {
	before, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	source, err := ParseNotebook(before)
	if err == nil {
		err = source.ours()
	}
	if err != nil {
		return nil, fmt.Errorf("executing %s: %w", path, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "molehill-notebook")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	output := filepath.Join(temp, filepath.Base(path))
	orders, err := json.Marshal(map[string]any{
		"input": path, "output": output, "folder": filepath.Dir(path),
		"kernel": Name, "timeout": max(1, int(o.Timeout.Seconds())),
	})
	if err != nil {
		return nil, err
	}
	cmd := e.python(ctx, "-c", executeScript, string(orders))
	// What Jupyter and the kernel leave in the temporary folder goes with it.
	cmd.Env = append(withEnv(cmd.Env, map[string]string{"TMPDIR": temp}), o.Env...)
	watch := &progress{out: o.Out, name: filepath.Base(path), cells: make([]time.Duration, len(source.Cells))}
	log := &tail{}
	cmd.Stdout, cmd.Stderr = &tail{watch: watch.event}, log
	start := time.Now()
	runErr := cmd.Run()
	result := &Result{Elapsed: time.Since(start), Cells: watch.cells}
	executed, err := os.ReadFile(output)
	if err != nil { // not even begun, or killed
		if ctx.Err() != nil {
			return nil, fmt.Errorf("executing %s: %w", path, context.Cause(ctx))
		}
		return nil, fmt.Errorf("executing %s: %w; Jupyter's last words:\n%s", path, runErr, log)
	}
	if result.Notebook, err = ParseNotebook(executed); err != nil {
		return nil, fmt.Errorf("executing %s: reading its outputs: %w", path, err)
	}
	if runErr != nil {
		runErr = watch.failure(ctx, result.Notebook, runErr, log)
		runErr = fmt.Errorf("executing %s: %w", path, runErr)
	}
	switch {
	case o.InPlace && runErr != nil && ctx.Err() == nil:
		result.Path = filepath.Join(filepath.Dir(path), "executed", filepath.Base(path))
		runErr = fmt.Errorf("%w\n%s stays as it is; as far as it was executed it is in %s", runErr, path, result.Path)
	case o.InPlace && runErr == nil:
		result.Path = path
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
			result.Path = filepath.Join(filepath.Dir(path), "executed", filepath.Base(path))
			runErr = fmt.Errorf("executing %s: it was saved by somebody else meanwhile, and stays as it is; what was executed is in %s", path, result.Path)
		}
	default:
		return result, runErr
	}
	return result, errors.Join(runErr, writeFile(result.Path, executed))
}

// python prepares a call of the environment's Python, which neither sees the
// user's Python settings (-I) nor outlives ctx by more than a few seconds. It
// is asked to end first, so that it can end its kernels.
func (e *Environment) python(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Python, append([]string{"-I"}, args...)...)
	cmd.Env = e.jupyterEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C comes to us alone
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// progress follows the events of execute.py.
type progress struct {
	out     io.Writer
	name    string
	cells   []time.Duration
	current int // the cell that runs
	began   time.Time
	stopped string // "timeout" or "dead"
}

func (p *progress) event(line string) {
	var event struct {
		Event string
		Cell  int
	}
	if json.Unmarshal([]byte(line), &event) != nil || event.Cell < 0 || event.Cell >= len(p.cells) {
		return // something else that Python prints
	}
	switch event.Event {
	case "start":
		p.current, p.began = event.Cell, time.Now()
	case "end":
		p.cells[event.Cell] = time.Since(p.began)
		if p.out != nil {
			fmt.Fprintf(p.out, "%s: cell %d of %d, %.1f s\n", p.name, event.Cell+1, len(p.cells), p.cells[event.Cell].Seconds())
		}
	case "timeout", "dead":
		p.stopped = event.Event
		p.cells[p.current] = time.Since(p.began)
	}
}

// failure finds out what stopped the notebook.
func (p *progress) failure(ctx context.Context, nb *Notebook, runErr error, log *tail) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if found := nb.Errors(); len(found) > 0 && p.stopped == "" {
		failed := found[len(found)-1]
		if strings.HasPrefix(failed.Value, "exit status") { // of the cell's program, which has said why
			if said := nb.textOf(func(cell int) bool { return cell == failed.Cell }); strings.TrimSpace(said) != "" {
				words := &tail{}
				_, _ = words.Write([]byte(said)) // never fails
				failed.Value += "; its last words:\n" + words.String()
			}
		}
		return failed
	}
	failed := &CellError{Cell: p.current, Name: "Timeout", Value: fmt.Sprintf("the cell had not ended after %.0f s", p.cells[p.current].Seconds())}
	switch p.stopped {
	case "timeout":
		return failed
	case "dead":
		failed.Name, failed.Value = "DeadKernel", "the kernel died, for lack of memory perhaps; its last words:\n"+log.String()
		return failed
	}
	return fmt.Errorf("%w; Jupyter's last words:\n%s", runErr, log)
}

package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"molehill/pkg/atomicfile"
)

// stamp records what a finished set-up was made from. A stage whose inputs are
// still the same is not done again.
type stamp struct {
	Python  string `json:"python"`            // requirements
	XLA     string `json:"xla,omitempty"`     // requirements of the plugin, installed or tried
	Reason  string `json:"reason,omitempty"`  // why there is no plugin
	MathJax string `json:"mathjax,omitempty"` // requirements of MathJax, installed or tried
	Go      string `json:"go"`                // modules, Go's version and settings
}

// Setup makes the environment of o.Root, or what is missing of it, and returns
// it. A set-up that is there already takes under a second. Processes that call
// it at the same time wait for each other.
func Setup(ctx context.Context, o Options) (*Environment, error) {
	out := o.Out
	if out == nil {
		out = io.Discard
	}
	e, err := at(o.Root)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(e.Root, "go.mod")); err != nil {
		return nil, fmt.Errorf("%s holds no go.mod; run this from a clone of the repository, or name its folder", e.Root)
	}
	if _, err := e.toolchain(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(e.Dir, "setup.lock"), out)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := &setup{Environment: e, offline: o.Offline, noXLA: os.Getenv("MOLEHILL_XLA") == "0", out: out}
	return e, s.run(ctx)
}

// setup is one call of Setup.
type setup struct {
	*Environment
	offline, noXLA bool
	out            io.Writer
	stamp          stamp
}

func (s *setup) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

func (s *setup) run(ctx context.Context) error {
	start := time.Now()
	if err := s.goBack(); err != nil {
		return err
	}
	s.read(s.stampFile())
	python, golang := s.inputs()
	fresh := s.stamp.Python != python || !s.healthy(ctx)
	if ctx.Err() != nil { // of which nothing can be told by Python's silence
		return context.Cause(ctx)
	}
	if !fresh {
		return s.complete(ctx, start, golang, s.stamp.Go != golang)
	}
	if s.offline {
		return fmt.Errorf("%s is missing or out of date and no network may be used; run `make lab CHECK=1` once with network", s.Venv)
	}
	if err := s.setAside(); err != nil {
		return err
	}
	s.stamp = stamp{}
	err := s.save() // half an environment must not pass for one
	if err == nil {
		err = s.installPython(ctx)
	}
	if err == nil {
		s.stamp.Python = python
		err = s.complete(ctx, start, golang, true)
	}
	if err != nil {
		return errors.Join(err, s.goBack())
	}
	return s.forget()
}

// complete does what comes after Python, tools too where they are to be built.
func (s *setup) complete(ctx context.Context, start time.Time, golang string, tools bool) error {
	if err := s.installXLA(ctx); err != nil {
		return err
	}
	if err := s.installMathJax(ctx); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		return err
	}
	if err := s.writeConfig(); err != nil {
		return err
	}
	if tools {
		if err := s.buildTools(ctx); err != nil {
			return err
		}
	}
	if err := s.buildMolehill(ctx); err != nil {
		return err
	}
	if tools {
		if err := s.warm(ctx); err != nil {
			return err
		}
		s.stamp.Go = golang
		s.say("Set up in %.0f s: %s", time.Since(start).Seconds(), s.Dir)
	}
	return s.save()
}

// aside is where an environment waits, with its stamp, until there is another: without
// network there is none, and the old one is better than nothing.
func (s *setup) aside() string { return s.Venv + ".old" }

// setAside moves the environment out of the way, if there is one.
func (s *setup) setAside() error {
	if _, err := os.Stat(s.Venv); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := json.Marshal(s.stamp)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Venv, stampAside), text, 0o644); err != nil {
		return err
	}
	return os.Rename(s.Venv, s.aside())
}

const stampAside = "setup.json" // in an environment that waits

// goBack has the environment again that waits for another, if one does: the other has not
// become whole, or whoever made it was killed.
func (s *setup) goBack() error {
	if _, err := os.Stat(s.aside()); err != nil {
		return nil
	}
	s.read(filepath.Join(s.aside(), stampAside))
	s.say("The environment of before stays as it was.")
	return errors.Join(os.RemoveAll(s.Venv), os.Rename(s.aside(), s.Venv), s.save())
}

// forget removes the environment that has waited: there is another.
func (s *setup) forget() error {
	gone := s.Venv + ".gone"
	if err := os.RemoveAll(gone); err != nil { // what one that was killed here has left
		return err
	}
	if err := os.Rename(s.aside(), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}

// read takes up a stamp. One that cannot be read counts as none: all is done again.
func (s *setup) read(path string) {
	s.stamp = stamp{}
	if data, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(data, &s.stamp)
	}
}

func (s *setup) save() error {
	data, err := json.MarshalIndent(s.stamp, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(s.stampFile(), append(data, '\n'))
}

func (e *Environment) stampFile() string { return filepath.Join(e.Dir, "setup.json") }

// inputs digests what the Python and the Go stage are made from.
func (s *setup) inputs() (python, golang string) {
	// Missing files digest as empty: a build that needs them says so itself.
	mod, _ := os.ReadFile(filepath.Join(s.Root, "go.mod"))
	sum, _ := os.ReadFile(filepath.Join(s.Root, "go.sum"))
	tools, _ := s.toolchain() // Setup has seen it succeed
	python = digest([]byte(s.Root), requirements)
	golang = digest([]byte(s.Root), mod, sum, []byte(fmt.Sprint(*tools, s.goSettings())))
	return python, golang
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lock takes the file lock of a set-up, and says so when it has to wait.
func lock(ctx context.Context, path string, out io.Writer) (unlock func(), err error) {
	l := flock.New(path)
	locked, err := l.TryLock()
	if err == nil && !locked {
		fmt.Fprintln(out, "Waiting for another set-up of this repository to end ...")
		_, err = l.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// command runs a program to its end with what it prints kept in
// .molehill/setup.log. An error carries the last lines of that, and what.
func (s *setup) command(ctx context.Context, what string, env []string, watch func(line string), name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.Root, env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	log, err := os.OpenFile(filepath.Join(s.Dir, "setup.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "\n# %s %s\n", time.Now().Format(time.RFC3339), cmd)
	kept := &tail{watch: watch}
	cmd.Stdout = io.MultiWriter(log, kept)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &commandError{what: what, log: log.Name(), tail: kept.String(), err: err}
	}
	return nil
}

// commandError is a step that failed.
type commandError struct {
	what, log, tail string
	err             error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%s failed (%v):\n%s\nAll of it is in %s", e.what, e.err, e.tail, e.log)
}

func (e *commandError) Unwrap() error { return e.err }

// tail keeps the last lines written to it and shows each to watch.
type tail struct {
	watch   func(line string)
	lines   []string
	partial []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.partial = append(t.partial, p...)
	for {
		before, rest, found := bytes.Cut(t.partial, []byte("\n"))
		line := ending(before)
		if !found {
			t.partial = line
			return len(p), nil
		}
		t.partial = rest
		if t.watch != nil {
			t.watch(string(line))
		}
		t.lines = append(t.lines, string(line))
		t.lines = t.lines[max(0, len(t.lines)-15):]
	}
}

// ending is a line, or its last 4 KiB: a program may write without ever ending one.
func ending(line []byte) []byte {
	const longest = 4 << 10
	if len(line) <= longest {
		return line
	}
	return append([]byte("…"), bytes.ToValidUTF8(line[len(line)-longest:], nil)...)
}

// String is the last lines, indented.
func (t *tail) String() string {
	lines := t.lines
	if len(t.partial) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(t.partial))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// lastLines is the end of a log, indented.
func lastLines(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	kept := &tail{}
	_, _ = kept.Write(data) // never fails
	return kept.String()
}

// writeFile writes a file whole or not at all, and leaves one that holds data
// already as it is.
func writeFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, atomicfile.Content(data))
}

package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"

	"molehill/pkg/run"
)

// Serve is the other end of a process that computes several runs, one after the other:
// compute is called with the directory it was started for, then with those that lines of
// standard input name, until that or ctx ends. How each ended is answered on file 3.
// What is printed goes to the log of the run at hand.
func Serve(ctx context.Context, dir string, compute func(dir string) error) error {
	answers := os.NewFile(3, "answers")
	if answers == nil {
		return errors.New("launch: this process was to answer on file 3, which is not open")
	}
	defer answers.Close()
	unix.CloseOnExec(int(answers.Fd())) // it is closed when this process ends, not what it starts
	directories := make(chan string)
	go func() {
		defer close(directories)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			directories <- lines.Text()
		}
	}()
	for {
		err := compute(dir)
		if ctx.Err() != nil {
			return err
		}
		if answer(answers, err) != nil {
			return err // nobody listens any more
		}
		debug.FreeOSMemory() // what the next run needs is not beside what this one did
		var more bool
		select {
		case dir, more = <-directories:
		case <-ctx.Done():
		}
		if !more {
			return nil
		}
		if err := printTo(dir); err != nil {
			return err
		}
	}
}

// printTo has this process print to the log of the run in dir.
func printTo(dir string) error {
	r, err := run.Open(dir)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(r.LogPath(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("launch: a process needs a log: %w", err)
	}
	defer log.Close()
	for _, file := range []*os.File{os.Stdout, os.Stderr} {
		if err := unix.Dup2(int(log.Fd()), int(file.Fd())); err != nil {
			return fmt.Errorf("launch: printing to %s: %w", r.LogPath(), err)
		}
	}
	return nil
}

// An answer is a line: the error, quoted, or "" for none.
func answer(to io.Writer, err error) error {
	text := ""
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // for the log
		text = err.Error()
	}
	_, err = fmt.Fprintln(to, strconv.Quote(text))
	return err
}

func answered(line string) error {
	text, err := strconv.Unquote(line)
	switch {
	case err != nil:
		return fmt.Errorf("launch: a process answered %.40q", line)
	case text == "":
		return nil
	}
	return errors.New(text)
}

package plugin

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// PanicError says that a plug-in panicked.
type PanicError struct {
	Kind, Name string // "metric", "sliced-w2"
	Doing      string // the method that was called
	Value      any    // what it panicked with
	Where      string // the line that did, "file.go:12"; "" if unknown
	Stack      []byte
}

func (e *PanicError) Error() string {
	message := fmt.Sprintf("%s %q panicked in %s: %v", e.Kind, e.Name, e.Doing, e.Value)
	if e.Where != "" {
		message += " (" + e.Where + ")"
	}
	return message
}

// Guard calls f, which runs the method doing of a plug-in, and returns its
// error, or a *PanicError that names the plug-in if it panics. What a goroutine
// of the plug-in's own does cannot be caught: its panic ends the process, as Go
// has it.
func Guard(kind, name, doing string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{kind, name, doing, v, panicked(), debug.Stack()}
		}
	}()
	return f()
}

// panicked returns the line that panicked, when called by the function that
// recovered: the first frame outside the runtime below the panic's.
func panicked() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	panicking := false
	for {
		frame, more := frames.Next()
		ofRuntime := strings.HasPrefix(frame.Function, "runtime.")
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !ofRuntime:
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

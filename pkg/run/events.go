package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Event is one line of a run's story, kept in events.jsonl.
type Event struct {
	Time    time.Time `json:"time"`              // set by Emit
	Step    int       `json:"step"`              // steps done
	Total   int       `json:"total,omitempty"`   // steps to do, 0 when unknown
	Rate    float64   `json:"rate,omitempty"`    // steps per second, 0 when unknown
	Values  Values    `json:"values,omitempty"`  // points of curves at Step, by the curve's name
	Message string    `json:"message,omitempty"` // for people
}

// bare reports whether e says only how far the computation is, so that its
// successor makes it superfluous.
func (e Event) bare() bool { return len(e.Values) == 0 && e.Message == "" }

// Values are numbers by name. In JSON what no JSON number can say, and a
// diverging loss does say, is written as "NaN", "+Inf" and "-Inf".
type Values map[string]float64

// MarshalJSON writes v as an object.
func (v Values) MarshalJSON() ([]byte, error) {
	object := make(map[string]any, len(v))
	for name, x := range v {
		if object[name] = x; math.IsNaN(x) || math.IsInf(x, 0) {
			object[name] = fmt.Sprint(x)
		}
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Values) UnmarshalJSON(text []byte) error {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	values := make(Values, len(object))
	for name, x := range object {
		switch {
		case x == "NaN":
			values[name] = math.NaN()
		case x == "+Inf":
			values[name] = math.Inf(1)
		case x == "-Inf":
			values[name] = math.Inf(-1)
		default:
			number, ok := x.(float64)
			if !ok {
				return fmt.Errorf("value %q: expected a number, found %v", name, x)
			}
			values[name] = number
		}
	}
	*v = values
	return nil
}

// maxLine bounds a line of events.jsonl, in bytes.
const maxLine = 1 << 20

// errEndless says that a scan has ended before the end of a stream, at a line that is too long.
var errEndless = errors.New("molehill did not write this")

// scanEvents calls each for every event of a stream, with the offset of its
// line's end. A torn last line, which a killed process leaves, is not looked
// at. Lines that are no events are passed over and reported in the error; an
// endless line ends the scan. Scanned is the length of the whole lines.
func scanEvents(r io.Reader, each func(e Event, end int64)) (scanned int64, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	var foreign error
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return scanned, foreign
		case errors.Is(err, bufio.ErrBufferFull):
			return scanned, fmt.Errorf("line %d passes %d bytes: %w", n, maxLine, errEndless)
		case err != nil:
			return scanned, err
		}
		scanned += int64(len(line))
		var e Event
		if err := json.Unmarshal(line, &e); err == nil && line[0] == '{' {
			each(e, scanned)
		} else if foreign == nil {
			foreign = fmt.Errorf("line %d is no event: %.60q", n, line)
		}
	}
}

// readEvents returns the events of the file at path from offset on, and the
// offset to go on from. A file that does not exist yet has none.
func readEvents(path string, offset int64) ([]Event, int64, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offset, nil
	}
	if err != nil {
		return nil, offset, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, err
	}
	var events []Event
	scanned, err := scanEvents(file, func(e Event, _ int64) { events = append(events, e) })
	switch {
	case err != nil && offset > 0: // lines are counted from there
		err = fmt.Errorf("%s from byte %d on: %w", path, offset, err)
	case err != nil:
		err = fmt.Errorf("%s: %w", path, err)
	}
	return events, offset + scanned, err
}

// flushInterval is how long an event may wait for others to be written with it.
const flushInterval = 100 * time.Millisecond

// eventLog appends to events.jsonl for the computing process. Events wait up to
// flushInterval, so that a thousand steps per second cost ten writes; of bare
// events only the last in waiting is kept. What waits when the process is
// killed lies beyond the last checkpoint and will be computed again.
type eventLog struct {
	path   string
	file   *os.File
	before func() error // what has to be done before anything is written; nil for nothing

	mu      sync.Mutex
	size    int64 // length of the whole lines in the file
	waiting []Event
	timer   *time.Timer
	err     error // of the last attempt to write
	gone    bool  // the file is not under its name any more
}

// openEventLog opens the stream at path for appending after cutting off what
// lies beyond step last: the first event of a later step, everything behind it,
// and a torn line.
func openEventLog(path string, last int) (*eventLog, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explain(path, err)
	}
	l := &eventLog{path: path, file: file}
	ours, beyond := false, false
	_, err = scanEvents(file, func(e Event, end int64) {
		ours = true
		if beyond = beyond || e.Step > last; !beyond {
			l.size = end
		}
	})
	if err != nil && !ours {
		file.Close()
		return nil, fmt.Errorf("run: %s: %w; remove the file to go on without its curves", path, err)
	}
	if err := file.Truncate(l.size); err != nil {
		file.Close()
		return nil, explain(path, err)
	}
	return l, nil
}

// there returns ErrDeleted if the file is not the one under its name any more: the
// run was deleted, and perhaps another process computes it anew, whose files this
// one must not touch.
func (l *eventLog) there() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.look()
}

// look is there, for who holds the lock.
func (l *eventLog) look() error {
	if ours, err := l.file.Stat(); err == nil && !l.gone {
		found, err := os.Stat(l.path)
		l.gone = errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(ours, found)
	}
	if !l.gone {
		return nil // or on a file system that will say more when it is written to
	}
	return fmt.Errorf("run: %s: %w", filepath.Dir(l.path), ErrDeleted)
}

func (l *eventLog) add(e Event) error {
	e.Time = time.Now()
	if math.IsNaN(e.Rate) || math.IsInf(e.Rate, 0) {
		e.Rate = 0 // the first step took no measurable time
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.waiting); n > 0 && l.waiting[n-1].bare() {
		l.waiting = l.waiting[:n-1]
	}
	l.waiting = append(l.waiting, e)
	if l.timer == nil {
		l.timer = time.AfterFunc(flushInterval, func() { _ = l.flush() }) // its error reaches the next add
	}
	return l.err
}

// flush writes what waits. If that fails the file ends where it ended before,
// and the events go on waiting.
func (l *eventLog) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, e := range l.waiting {
		before := lines.Len()
		if err := encoder.Encode(e); err != nil || lines.Len()-before > maxLine {
			lines.Truncate(before)
			fmt.Fprintf(&lines, `{"time":%q,"step":%d,"message":"an event was left out: it passes %d bytes"}`+"\n", e.Time.Format(time.RFC3339Nano), e.Step, maxLine)
		}
	}
	if l.err = l.look(); l.err != nil {
		return l.err
	}
	if l.before != nil {
		if l.err = l.before(); l.err != nil {
			return l.err
		}
	}
	if _, l.err = l.file.WriteAt(lines.Bytes(), l.size); l.err != nil {
		l.err = errors.Join(explain(l.path, l.err), l.file.Truncate(l.size))
		return l.err
	}
	l.size += int64(lines.Len())
	l.waiting = l.waiting[:0]
	return nil
}

// sync flushes and forces the stream to the disk.
func (l *eventLog) sync() error {
	if err := l.flush(); err != nil {
		return err
	}
	return explain(l.path, l.file.Sync())
}

func (l *eventLog) close() error {
	return errors.Join(l.flush(), l.file.Close())
}

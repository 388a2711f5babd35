// Package run keeps each experiment's run in a directory of its own: what
// determines it, where and how it was computed, its events, checkpoints,
// artefacts, metrics and privacy statement.
//
// The directory is named by the hash of what determines the run, so asking
// twice for the same experiment finds the same directory. Exactly one process
// computes, the one that holds the directory's lock; any number of others
// watch. All they share is files, each of which is at any moment either whole
// or absent: a notebook kernel can die, a browser close and the computing
// process be killed, and nothing is lost but the steps since the last
// checkpoint.
//
//	run.json          the spec, and the provenance of each process that computed
//	lock              held (flock) by the computing process; names it
//	events.jsonl      progress, curves and messages, one JSON object a line
//	checkpoint-…      the last two states to go on from
//	artefacts/        samples, weights, figures
//	key               the noise key, while the run is unfinished
//	key.check, .bound the key's fingerprint; a keyed hash of what it is for
//	key.once          keyed hashes of what was released, while the run is unfinished
//	privacy.json      what is promised about the data
//	error.json        why the last computation gave up
//	result.json       the metrics; written last: where it is, the run is finished
//	job.json          which job of a cluster was last given the run
//	log.txt           what the computing process printed
//
// Beside the runs, hidden, a store keeps the names that people gave to runs, and
// the lists of sweeps.
package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"molehill/pkg/atomicfile"
	"molehill/privacy"
)

// The files of a run directory.
const (
	recordFile  = "run.json"
	lockFile    = "lock"
	eventsFile  = "events.jsonl"
	artefactDir = "artefacts"
	keyFile     = "key"
	keyCheck    = "key.check"
	keyBound    = "key.bound"
	keyOnce     = "key.once"
	privacyFile = "privacy.json"
	errorFile   = "error.json"
	resultFile  = "result.json"
	logFile     = "log.txt"
)

// Format is the version of the directory's layout that this package writes. It
// reads all up to it.
const Format = 1

// Run is one run directory. [Store.Create], [Store.Open] and [Open] return it
// for watching; after [Run.Acquire] this process is the one that computes. Its
// methods are safe for concurrent use.
type Run struct {
	ID      string
	Dir     string // absolute
	Spec    Spec
	Created time.Time

	holding computation
}

// record is run.json.
type record struct {
	Format     int          `json:"format"`
	ID         string       `json:"id"`
	Created    time.Time    `json:"created"`
	Spec       Spec         `json:"spec"`
	Ledger     string       `json:"ledger,omitempty"`     // see Spec
	Provenance []Provenance `json:"provenance,omitempty"` // oldest first
}

func readRecord(dir string) (record, error) {
	path := filepath.Join(dir, recordFile)
	var version struct {
		Format int `json:"format"`
	}
	if err := readJSON(path, &version); err != nil {
		return record{}, fmt.Errorf("run: %w", err)
	}
	switch {
	case version.Format > Format:
		return record{}, fmt.Errorf("run: %s has format %d, this molehill reads up to %d: update molehill, or choose another folder with MOLEHILL_RUNS", path, version.Format, Format)
	case version.Format < 1:
		return record{}, fmt.Errorf("run: %s has format %d, expected 1 to %d: it is no run of molehill's", path, version.Format, Format)
	}
	var r record
	if err := readJSON(path, &r); err != nil {
		return record{}, fmt.Errorf("run: %w", err)
	}
	id, err := r.Spec.ID()
	if err != nil {
		return record{}, fmt.Errorf("%w (in %s)", err, path)
	}
	if r.ID != id {
		return record{}, fmt.Errorf("run: %s calls itself %q but its spec is that of %s: edited by hand? restore it, or delete the run", path, r.ID, id)
	}
	return r, nil
}

// Open returns the run in directory dir.
func Open(dir string) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	r, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run directory: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	r.Spec.Ledger = r.Ledger
	return &Run{ID: r.ID, Dir: dir, Spec: r.Spec, Created: r.Created}, nil
}

// LogPath is the file that takes what the computing process prints.
func (r *Run) LogPath() string { return r.path(logFile) }

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }

// Result is what a finished run found out.
type Result struct {
	Metrics  Values    `json:"metrics"`
	Note     string    `json:"note,omitempty"` // what a reader should know about the metrics
	Finished time.Time `json:"finished"`       // set by Finish

	// Promised is the SHA-256 of the privacy statement, set by Finish; "" where there is
	// none, and of runs from before there was this field.
	Promised string `json:"promised,omitempty"`
}

// Result returns the result of a finished run, and an error that wraps
// fs.ErrNotExist while it is unfinished.
func (r *Run) Result() (Result, error) {
	var result Result
	if err := readJSON(r.path(resultFile), &result); err != nil {
		return Result{}, fmt.Errorf("run: result of %s: %w", r.ID, err)
	}
	return result, nil
}

// failure is error.json.
type failure struct {
	Error  string    `json:"error"`
	Recurs bool      `json:"recurs,omitempty"` // see Recurring
	Time   time.Time `json:"time"`
}

// Recurring is an error that a computation comes to however often it is made, such as a
// loss that is no longer finite: to go on from the last checkpoint does not help.
type Recurring interface {
	error
	Recurs()
}

// Failure returns why the last computation failed, nil if it did not.
func (r *Run) Failure() error {
	var f failure
	switch err := readJSON(r.path(errorFile), &f); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("run: %s failed; why is for its owner to read", r.ID)
	case err != nil:
		return fmt.Errorf("run: %s failed, and its error cannot be read: %w", r.ID, err)
	}
	return &FailedError{r.ID, f.Error, f.Recurs}
}

// Writable says why nothing can be written to the run's folder, nil if something can. What
// computes a run on a full disk cannot write down why it ends: it looks as if it had been
// interrupted.
func (r *Run) Writable() error { return explain(r.Dir, atomicfile.Writable(r.Dir)) }

// FailedError says why a run failed.
type FailedError struct {
	ID, Why string
	Recurs  bool // the same run would fail again (Recurring)
}

func (e *FailedError) Error() string { return fmt.Sprintf("run: %s failed: %s", e.ID, e.Why) }

// Privacy returns the run's privacy statement, the JSON that WritePrivacy wrote. Of a
// finished run it has to be the one that the run ended with.
func (r *Run) Privacy() (json.RawMessage, error) {
	text, err := readFile(r.path(privacyFile))
	if err == nil && !json.Valid(text) {
		err = fmt.Errorf("%s is no whole JSON; restore it from a copy", r.path(privacyFile))
	}
	switch result, unread := r.Result(); {
	case unread != nil && !errors.Is(unread, fs.ErrNotExist): // nothing vouches for what the file says
		err = fmt.Errorf("%w, which vouches for it; restore it from a copy", unread)
	case unread == nil && result.Promised != "":
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s is gone; restore it from a copy", r.path(privacyFile))
		case err == nil && digest(text) != result.Promised:
			err = fmt.Errorf("%s is not what the run ended with; restore it from a copy", r.path(privacyFile))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("run: privacy statement of %s: %w", r.ID, err)
	}
	return text, nil
}

// Store returns the store that the run is in.
func (r *Run) Store() Store { return Store{Dir: filepath.Dir(r.Dir)} }

// digest is a hash of a file of the run.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Statement returns what the run promises, what Privacy has as JSON. The error wraps
// fs.ErrNotExist where it has promised nothing (yet).
func (r *Run) Statement() (s privacy.Statement, err error) {
	text, err := r.Privacy()
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("run: privacy statement of %s: %w", r.ID, err)
	}
	return s, nil
}

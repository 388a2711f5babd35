package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	sweepDir  = ".sweeps"
	sweepFile = "sweep.json"
)

// Sweep is a list of runs that were asked for together. Its folder in the store
// holds the list, and a lock while a process starts the runs one after another.
// The runs are runs like any other, and know nothing of it.
type Sweep struct {
	ID      string
	Dir     string
	Title   string
	Varied  []string // the settings that differ, in the order in which they were asked for
	Runs    []string // IDs, in the order in which they are started
	Created time.Time

	mu   sync.Mutex
	lock *flock.Flock
}

// sweepRecord is sweep.json.
type sweepRecord struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Varied  []string  `json:"varied,omitempty"`
	Runs    []string  `json:"runs"`
	Created time.Time `json:"created"`
}

// SweepID names a sweep by what it is of and by its runs, in any order.
func SweepID(of string, runs []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(runs)))
	sum := sha256.Sum256([]byte("molehill sweep\x00" + of + "\x00" + strings.Join(sorted, "\n")))
	return of + "-" + hex.EncodeToString(sum[:6])
}

// CreateSweep returns the sweep of the runs that specs determine, making the
// directories of those that have none. The same runs are the same sweep.
func (s Store) CreateSweep(of, title string, varied []string, specs []Spec) (*Sweep, []*Run, error) {
	if !experimentName.MatchString(of) {
		return nil, nil, fmt.Errorf("run: %q cannot name a sweep: expected lower-case letters, digits, '.', '_' or '-'", of)
	}
	var runs []*Run
	record := sweepRecord{Format: Format, Title: title, Varied: varied, Created: time.Now()}
	for _, spec := range specs {
		r, err := s.Create(spec)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(record.Runs, r.ID) {
			continue // two ways to say the same
		}
		runs, record.Runs = append(runs, r), append(record.Runs, r.ID)
	}
	if len(runs) == 0 {
		return nil, nil, errors.New("run: a sweep of no runs; ask for at least one")
	}
	record.ID = SweepID(of, record.Runs)
	dir := filepath.Join(s.Dir, sweepDir, record.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, explain(dir, err)
	}
	path := filepath.Join(dir, sweepFile)
	if err := writeNew(path, 0o644, asJSON(record)); err != nil && !exists(path) {
		return nil, nil, err
	}
	sweep, err := openSweep(dir)
	return sweep, runs, err
}

func openSweep(dir string) (*Sweep, error) {
	var record sweepRecord
	path := filepath.Join(dir, sweepFile)
	if err := readJSON(path, &record); err != nil {
		return nil, fmt.Errorf("run: sweep: %w", err)
	}
	if record.Format != Format || record.ID != filepath.Base(dir) || len(record.Runs) == 0 {
		return nil, fmt.Errorf("run: %s is no sweep of this molehill's: format %d, %q with %d runs", path, record.Format, record.ID, len(record.Runs))
	}
	for _, id := range record.Runs {
		if !idForm.MatchString(id) || !filepath.IsLocal(id) || strings.ContainsRune(id, filepath.Separator) {
			return nil, fmt.Errorf("run: %s lists %.40q, expected the ID of a run", path, id)
		}
	}
	return &Sweep{ID: record.ID, Dir: dir, Title: record.Title, Varied: record.Varied, Runs: record.Runs, Created: record.Created}, nil
}

// Sweeps returns all sweeps that can be read, newest first.
func (s Store) Sweeps() ([]*Sweep, error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, sweepDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	var sweeps []*Sweep
	for _, entry := range entries {
		if sweep, err := openSweep(filepath.Join(s.Dir, sweepDir, entry.Name())); err == nil {
			sweeps = append(sweeps, sweep)
		}
	}
	slices.SortStableFunc(sweeps, func(a, b *Sweep) int { return b.Created.Compare(a.Created) })
	return sweeps, nil
}

// OpenSweep returns the sweep with an ID, or the only one whose ID begins with
// it; "experiment@digits" is understood as with runs.
func (s Store) OpenSweep(called string) (*Sweep, error) {
	sweeps, err := s.Sweeps()
	if err != nil {
		return nil, err
	}
	var matches []*Sweep
	var names []string
	for _, sweep := range sweeps {
		if sweep.ID == called {
			return sweep, nil
		}
		if called != "" && strings.HasPrefix(sweep.ID, strings.Replace(called, "@", "-", 1)) {
			matches, names = append(matches, sweep), append(names, sweep.ID)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		if name := strings.Replace(called, "@", "-", 1); idForm.MatchString(name) { // one that cannot be read
			if _, err := openSweep(filepath.Join(s.Dir, sweepDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		return nil, fmt.Errorf("run: no sweep is called %q: %w", called, ErrUnknown)
	}
	return nil, fmt.Errorf("run: %q may be each of %d sweeps, give more of it: %s", called, len(matches), some(names))
}

// DeleteSweep removes the list of runs that w is, unless a process is starting them. The
// runs stay.
func (s Store) DeleteSweep(w *Sweep) error {
	if err := w.Acquire(); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	return errors.Join(os.RemoveAll(w.Dir), w.Release())
}

// Open returns the runs of the sweep that are there still, and why the others are not.
func (w *Sweep) Open() (runs []*Run, gone error) {
	for _, id := range w.Runs {
		r, err := Open(filepath.Join(filepath.Dir(filepath.Dir(w.Dir)), id))
		if err != nil {
			gone = errors.Join(gone, err)
			continue
		}
		runs = append(runs, r)
	}
	return runs, gone
}

// Acquire makes this process the one that starts the sweep's runs, until Release
// or its end. It returns ErrBusy while another does.
func (w *Sweep) Acquire() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	lock, err := acquire(w.Dir)
	if err != nil {
		return err
	}
	if err := sign(w.Dir); err != nil {
		return errors.Join(err, lock.Close())
	}
	w.lock = lock
	return nil
}

// Release lets others start the runs.
func (w *Sweep) Release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lock == nil {
		return nil
	}
	err := w.lock.Close()
	w.lock = nil
	return err
}

// Working reports whether a process starts the sweep's runs at the moment.
func (w *Sweep) Working() (bool, error) { return locked(w.Dir) }

// Owner returns the process that starts the sweep's runs, or started them last.
func (w *Sweep) Owner() (Owner, error) {
	owner, err := ownerOf(w.Dir)
	if err != nil {
		return Owner{}, fmt.Errorf("run: owner of the sweep %s: %w", w.ID, err)
	}
	return owner, nil
}

// Cancel asks the process that starts the sweep's runs to stop; it interrupts
// those that it has started.
func (w *Sweep) Cancel() error { return interrupt(w.Dir, "the sweep "+w.ID) }

// LogPath is the file that takes what a process prints that starts the runs
// unseen.
func (w *Sweep) LogPath() string { return filepath.Join(w.Dir, logFile) }

// MarshalJSON writes what a script asks of a sweep.
func (w *Sweep) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"id": w.ID, "dir": w.Dir, "title": w.Title, "varied": w.Varied, "runs": w.Runs, "created": w.Created})
}

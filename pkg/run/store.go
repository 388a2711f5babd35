package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molehill/pkg/checkout"
	"molehill/pkg/plugin"
)

// Store is a folder of run directories. It needs no index: the folder is it.
type Store struct {
	Dir string // absolute; created when the first run is
}

// ErrUnknown says that no run has the ID asked for.
var ErrUnknown = errors.New("unknown run")

// DefaultStore is the folder $MOLEHILL_RUNS, an absolute path; else runs/ of the molehill
// module that the working directory lies in; else molehill/runs in the user's cache.
func DefaultStore() (Store, error) {
	dir := os.Getenv("MOLEHILL_RUNS")
	if dir != "" && !filepath.IsAbs(dir) {
		return Store{}, fmt.Errorf("run: MOLEHILL_RUNS is %q, which is another folder in each that runs are asked for in, and the same run would pay in each; expected a path that begins with a slash", dir)
	}
	if dir == "" {
		if root, ok := checkout.Root("."); ok {
			dir = filepath.Join(root, "runs")
		} else if cache, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(cache, "molehill", "runs")
		} else {
			return Store{}, fmt.Errorf("run: no place for runs: %w; set MOLEHILL_RUNS to a folder", err)
		}
	}
	dir, err := filepath.Abs(dir)
	return Store{Dir: dir}, err
}

// Create returns the run that spec determines, making its directory if there is
// none yet. Any number of processes may do so at once: one makes it, all get it.
func (s Store) Create(spec Spec) (*Run, error) {
	id, err := spec.ID()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, id)
	path := filepath.Join(dir, recordFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		s.bury()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, explain(dir, err)
		}
		made := record{Format: Format, ID: id, Created: time.Now(), Spec: spec, Ledger: spec.Ledger}
		err := writeNew(path, 0o644, asJSON(made))
		if _, missing := os.Stat(path); err != nil && missing != nil {
			return nil, err
		} // else someone was faster
	}
	return Open(dir)
}

// Open returns the run that is called so: by its ID, a name that it was given,
// "experiment@digits", or the beginning of its ID.
func (s Store) Open(id string) (*Run, error) {
	dir, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return Open(dir)
}

// Entry is a line of a store's list: a run, or a directory that is none.
type Entry struct {
	ID      string
	Run     *Run  // nil where Err is not
	State   State // "" where Err is not nil
	Created time.Time
	Err     error // why the directory cannot be read as a run
}

// List returns all runs, newest first, broken ones with their errors.
func (s Store) List() ([]Entry, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		e := &entries[i]
		e.ID = id
		dir := filepath.Join(s.Dir, id)
		if e.Run, e.Err = Open(dir); e.Err == nil {
			e.Created = e.Run.Created
			e.State, e.Err = e.Run.State()
		} else if info, err := os.Stat(dir); err == nil {
			e.Created = info.ModTime()
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.Created.Compare(a.Created) })
	return entries, nil
}

// Delete removes a run, or a broken one, that is called by its whole ID, and all it
// holds, unless a process is computing it. A private run that is deleted and started again draws new
// noise: the budget is spent again.
func (s Store) Delete(id string) error {
	s.bury()
	dir, err := s.find(id)
	if err != nil {
		return err
	}
	if whole := filepath.Base(dir); whole != id {
		return fmt.Errorf("run: %s calls %s; give the whole ID to delete it", id, whole)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 && !exists(filepath.Join(dir, recordFile)) {
		return fmt.Errorf("run: %s holds files but no %s: it is no run; remove it by hand if it may go", dir, recordFile)
	}
	lock, err := acquire(dir)
	if err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	defer lock.Close()
	// The key first: a process that is killed here must leave none where nobody looks.
	if err := eraseKey(dir); err != nil {
		return fmt.Errorf("run: deleting %s: %w", dir, err)
	}
	// Out of the way in one step then, so that no half of a run is ever seen.
	grave := filepath.Join(s.Dir, fmt.Sprintf(graves+"%s-%d", filepath.Base(dir), time.Now().UnixNano()))
	if err := os.Rename(dir, grave); err != nil {
		return fmt.Errorf("run: deleting %s: %w", dir, err)
	}
	if err := errors.Join(os.RemoveAll(grave), s.unname(filepath.Base(dir))); err != nil {
		return fmt.Errorf("run: deleting %s: %w; remove %s by hand", dir, err, grave)
	}
	return nil
}

// graves begin the names of runs that are being deleted.
const graves = ".deleted-"

// bury removes, if it may, what a process that was killed in Delete has left of a run.
func (s Store) bury() {
	entries, _ := os.ReadDir(s.Dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), graves) {
			_ = os.RemoveAll(filepath.Join(s.Dir, entry.Name()))
		}
	}
}

// ids returns the names of the directories in the store, sorted.
func (s Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("run: reading %s: %w; change its permissions, or set MOLEHILL_RUNS to a folder of yours", s.Dir, err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run: %w; MOLEHILL_RUNS sets the folder of runs", err)
	}
	var ids []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

// nearest returns the up to three names that differ least from name, where only as
// much of each counts as name gives: people type the beginnings of IDs.
func nearest(name string, names []string) []string {
	name = name[:min(len(name), 100)]
	distance := make(map[string]int, len(names))
	for _, candidate := range names {
		distance[candidate] = plugin.EditDistance(name, candidate[:min(len(name), len(candidate))])
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return distance[a] - distance[b] })
	return names[:min(3, len(names))]
}

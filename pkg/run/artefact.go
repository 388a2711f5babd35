package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"molehill/pkg/atomicfile"
	"molehill/pkg/npy"
)

// WriteFile keeps an artefact under a name of its own, "samples.f32" or
// "figures/flow.png", replacing an earlier one only when the new one is whole
// and on the disk.
func (r *Run) WriteFile(name string, write func(io.Writer) error) error {
	return r.write(name, 0o755, 0o644, write)
}

// WriteOwn is WriteFile for what only the owner of the runs may read, in a folder of
// its own: what looks at private rows without being paid for.
func (r *Run) WriteOwn(name string, write func(io.Writer) error) error {
	return r.write(name, 0o700, 0o600, write)
}

func (r *Run) write(name string, folder, mode fs.FileMode, write func(io.Writer) error) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("run: artefact %q: expected a name within the run's folder, such as figures/flow.png", name)
	}
	if !exists(r.path(recordFile)) { // nothing of a deleted run comes back by a picture of it
		return fmt.Errorf("run: %s: %w", r.ID, ErrDeleted)
	}
	if err := r.leaving(); err != nil && !errors.Is(err, ErrNotHeld) {
		return err
	}
	path := filepath.Join(r.Dir, artefactDir, name)
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(path)), 0o755); err != nil { // what is above is for all
		return explain(path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), folder); err != nil {
		return explain(path, err)
	}
	return writeAtomic(path, mode, write)
}

// Artefact opens what WriteFile kept under name. The caller closes it.
func (r *Run) Artefact(name string) (*os.File, error) {
	file, err := os.OpenInRoot(r.path(artefactDir), name)
	if err != nil {
		return nil, fmt.Errorf("run: artefact %q of %s: %w", name, r.ID, err)
	}
	return file, nil
}

// ReadFile returns what WriteFile kept under name.
func (r *Run) ReadFile(name string) ([]byte, error) {
	file, err := r.Artefact(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("run: %s of %s: %w", name, r.ID, err)
	}
	return text, nil
}

// Changed returns when the artefact under name was last written, the zero time if
// there is none: samples that a computation writes again and again improve.
func (r *Run) Changed(name string) time.Time {
	info, err := os.Stat(filepath.Join(r.Dir, artefactDir, filepath.FromSlash(name)))
	if err != nil || !info.Mode().IsRegular() {
		return time.Time{}
	}
	return info.ModTime()
}

// Artefacts returns the names of all artefacts that this user may list, sorted.
func (r *Run) Artefacts() ([]string, error) {
	var names []string
	root := r.path(artefactDir)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !atomicfile.Leftover(entry.Name()) {
			name, _ := filepath.Rel(root, path) // path lies below root
			names = append(names, filepath.ToSlash(name))
		}
		if path != root && errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir // the keeper's
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// WriteTable writes an artefact of numbers, [n, columns], as a NumPy .npy file.
func (r *Run) WriteTable(name string, data []float32, columns int) error {
	if columns < 1 || len(data) == 0 || len(data)%columns != 0 {
		return fmt.Errorf("run: %d numbers are no table of %d columns", len(data), columns)
	}
	return r.WriteFile(name, func(w io.Writer) error { return npy.Write(w, []int{len(data) / columns, columns}, data) })
}

// Table reads what WriteTable wrote.
func (r *Run) Table(name string) (data []float32, columns int, err error) {
	text, err := r.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	shape, data, err := npy.Read(text)
	if err == nil && len(shape) != 2 {
		err = fmt.Errorf("expected two axes, found %v", shape)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("run: %s of %s is no table of numbers: %w", name, r.ID, err)
	}
	return data, shape[1], nil
}

// WriteJSON writes an artefact that is a value as JSON.
func (r *Run) WriteJSON(name string, value any) error {
	return r.WriteFile(name, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
}

// ReadJSON reads what WriteJSON wrote into a pointer to such a value.
func (r *Run) ReadJSON(name string, into any) error {
	text, err := r.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("run: %s of %s: %w", name, r.ID, err)
	}
	return nil
}

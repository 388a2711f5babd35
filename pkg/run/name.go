package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// nameDir holds a file for each name that people gave to runs, which contains
// the run's ID. One file is one name, so no two runs can share it.
const nameDir = ".names"

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	idForm   = regexp.MustCompile(`-[0-9a-f]{12}$`)
)

// CheckName says whether name can be given to a run.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		return fmt.Errorf("run: %q cannot name a run: expected letters, digits, '.', '_' or '-', at most 64, the first a letter or digit", name)
	case idForm.MatchString(name):
		return fmt.Errorf("run: %q looks like the ID of a run; choose a name that does not end in '-' and 12 hexadecimal digits", name)
	}
	return nil
}

// Name gives r a name to open it by. A run may have several. A name that another
// run has moves to this one; before is the ID of that other, or "".
func (s Store) Name(r *Run, name string) (before string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, nameDir, name)
	if before, err = s.named(name); err != nil {
		return "", err
	}
	if before == r.ID {
		return "", nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", explain(path, err)
	}
	return before, writeAtomic(path, 0o644, func(w io.Writer) error { _, err := fmt.Fprintln(w, r.ID); return err })
}

// Unname takes a name from the run that has it, whose ID it returns.
func (s Store) Unname(name string) (id string, err error) {
	path := filepath.Join(s.Dir, nameDir, name)
	if id, err = s.named(name); err == nil && id == "" {
		return "", fmt.Errorf("run: no run is called %q", name)
	}
	if err != nil {
		return "", err
	}
	return id, explain(path, os.Remove(path))
}

// named returns the ID of the run that has a name, "" if none has it.
func (s Store) named(name string) (id string, err error) {
	if CheckName(name) != nil {
		return "", nil
	}
	text, err := readFile(filepath.Join(s.Dir, nameDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("run: the name %q: %w", name, err)
	}
	if id = strings.TrimSpace(string(text)); !idForm.MatchString(id) || !filepath.IsLocal(id) {
		return "", fmt.Errorf("run: the file of the name %q holds %.40q, expected the ID of a run; remove %s", name, id, filepath.Join(s.Dir, nameDir, name))
	}
	return id, nil
}

// Names returns the names of runs by their IDs, sorted.
func (s Store) Names() (map[string][]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, nameDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	names := map[string][]string{}
	for _, entry := range entries {
		id, err := s.named(entry.Name())
		if err == nil && id != "" {
			names[id] = append(names[id], entry.Name())
		}
	}
	return names, nil
}

// unname takes all names from the run with an ID.
func (s Store) unname(id string) error {
	names, err := s.Names()
	for _, name := range names[id] {
		err = errors.Join(err, os.Remove(filepath.Join(s.Dir, nameDir, name)))
	}
	return err
}

// Short writes an ID for people, "sketch-flow@1a2b3c": the experiment and half
// of the digits.
func Short(id string) string {
	if !idForm.MatchString(id) {
		return id
	}
	cut := len(id) - 12
	return id[:cut-1] + "@" + id[cut:cut+6]
}

// find returns the directory that a person's way to call a run stands for: its
// ID, a name, "experiment@digits" with some of the first digits of its ID, or
// the beginning of the ID.
func (s Store) find(called string) (dir string, err error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, called) {
		return filepath.Join(s.Dir, called), nil
	}
	switch id, err := s.named(called); {
	case err != nil:
		return "", err
	case id != "" && !slices.Contains(ids, id):
		return "", fmt.Errorf("run: %w: %q is the name of %s, which is not in %s any more", ErrUnknown, called, id, s.Dir)
	case id != "":
		return filepath.Join(s.Dir, id), nil
	}
	experiment, digits, short := strings.Cut(called, "@")
	var matches []string
	for _, id := range ids {
		fits := called != "" && strings.HasPrefix(id, called)
		if short && idForm.MatchString(id) {
			cut := len(id) - 12
			fits = (experiment == "" || experiment == id[:cut-1]) && strings.HasPrefix(id[cut:], digits)
		}
		if fits {
			matches = append(matches, id)
		}
	}
	switch {
	case len(matches) == 1:
		return filepath.Join(s.Dir, matches[0]), nil
	case len(matches) > 1:
		return "", fmt.Errorf("run: %q may be each of %d runs, give more of it: %s", called, len(matches), some(matches))
	case len(ids) == 0:
		return "", fmt.Errorf("run: %w %q: %s holds none yet", ErrUnknown, called, s.Dir)
	}
	names, err := s.Names()
	if err != nil {
		return "", err
	}
	for id := range names {
		ids = append(ids, names[id]...)
	}
	return "", fmt.Errorf("run: %w %q in %s; nearest: %s", ErrUnknown, called, s.Dir, strings.Join(nearest(strings.Replace(called, "@", "-", 1), ids), ", "))
}

// some lists the first of the names.
func some(names []string) string {
	const n = 8
	if more := len(names) - n; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), more)
	}
	return strings.Join(names, ", ")
}

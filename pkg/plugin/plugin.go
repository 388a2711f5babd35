// Package plugin holds what everything that varies has in common: a name, a
// line of summary, a version and a source, in a typed registry.
//
// A package that offers a kind of thing keeps one Registry for it and exports
// it; packages that provide things register them in init, as database/sql
// drivers do:
//
//	func init() { dataset.Registry.Register(mnist{}) }
package plugin

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Info describes a plug-in to people.
type Info struct {
	Name    string `json:"name"`             // unique within its kind, lower case, e.g. "dpswflow-r"
	Summary string `json:"summary"`          // one line
	Version string `json:"version"`          // changes when results change
	Source  string `json:"source,omitempty"` // paper, equation, licence or address
}

// Plugin is anything that can be registered.
type Plugin interface{ Describe() Info }

// Registry is a set of plug-ins of one kind, safe for concurrent use. The zero
// value needs its Kind, which names the kind in errors.
type Registry[T Plugin] struct {
	Kind string

	mu     sync.RWMutex
	byName map[string]T
	faults []error
}

// Register adds p. A plug-in that cannot be added (no name, or a name that is
// taken) is left out and remembered in Faults: the others go on.
func (r *Registry[T]) Register(p T) {
	name, err := nameOf(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if _, taken := r.byName[name]; taken {
			err = errors.New("a plug-in of this name is registered already; give yours another name")
		}
	}
	if err != nil {
		r.faults = append(r.faults, fmt.Errorf("%s %q: %w", r.Kind, name, err))
		return
	}
	if r.byName == nil {
		r.byName = map[string]T{}
	}
	r.byName[name] = p
}

// nameOf asks a plug-in for its name; a panic there is the plug-in's fault and
// comes back as an error.
func nameOf(p Plugin) (name string, err error) {
	defer func() {
		if v := recover(); v != nil {
			name, err = fmt.Sprintf("%T", p), fmt.Errorf("its Describe panicked: %v", v)
		}
	}()
	if name = p.Describe().Name; name == "" {
		name, err = fmt.Sprintf("%T", p), errors.New("its Describe returns no name")
	}
	return name, err
}

// Lookup returns the plug-in called name, or an error that suggests the
// nearest names.
func (r *Registry[T]) Lookup(name string) (T, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if p, ok := r.byName[name]; ok {
		return p, nil
	}
	var zero T
	return zero, &UnknownError{Kind: r.Kind, Name: name, Nearest: Nearest(name, r.names())}
}

// All returns the plug-ins in the order of their names.
func (r *Registry[T]) All() []T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]T, 0, len(r.byName))
	for _, name := range r.names() {
		all = append(all, r.byName[name])
	}
	return all
}

// Faults returns what went wrong with registrations that were left out.
func (r *Registry[T]) Faults() []error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append([]error(nil), r.faults...)
}

func (r *Registry[T]) names() []string {
	names := make([]string, 0, len(r.byName))
	for name := range r.byName {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// UnknownError says that nothing of a kind has the name asked for.
type UnknownError struct {
	Kind, Name string
	Nearest    []string
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("no %s is called %q", e.Kind, e.Name)
	if len(e.Nearest) > 0 {
		return msg + "; did you mean " + strings.Join(e.Nearest, ", ") + "?"
	}
	return msg
}

// Nearest returns up to three of names that are closest to name by edit
// distance, and no more than half of its letters away; names that contain it
// come first. An empty name is near to all.
func Nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		d := EditDistance(strings.ToLower(name), strings.ToLower(n))
		if strings.Contains(n, name) {
			d = 0
		}
		if d <= max(2, len(name)/2) {
			found = append(found, candidate{n, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].distance < found[j].distance })
	nearest := make([]string, 0, 3)
	for _, c := range found[:min(3, len(found))] {
		nearest = append(nearest, c.name)
	}
	return nearest
}

// EditDistance counts the insertions, deletions and replacements of bytes that
// make b of a (Levenshtein), one row at a time.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := diagonal
			if a[i-1] != b[j-1] {
				substitute++
			}
			diagonal = row[j]
			row[j] = min(substitute, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

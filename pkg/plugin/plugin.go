// Package plugin holds what everything that varies has in common: a name, a
// line of summary, a version and a source, in a typed registry.
//
// A package that offers a kind of thing keeps one Registry for it and exports
// it; packages that provide things register them in init, as database/sql
// drivers do:
//
//	func init() { dataset.Registry.Register(mnist{}) }
//
// A plug-in is somebody else's code. One that panics, takes a name that is
// taken or returns what cannot be is left out, or ends in an error that names
// it; the others go on. See [Guard].
package plugin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	// Defaults returns the settings that a plug-in has unless told otherwise, by
	// the name of the preset, each a value that marshals to a JSON object. nil
	// stands for the exported fields of the plug-in itself.
	Defaults func(T) (map[string]any, error)

	announced sync.Once
	mu        sync.RWMutex
	byName    map[string]registered[T]
	faults    []*Fault
}

// registered is a plug-in, and what was true of it when it was registered: its
// Describe is not asked again.
type registered[T Plugin] struct {
	plugin T
	info   Info
	origin Origin
}

// Fault says why a plug-in was left out.
type Fault struct {
	Kind, Name string
	Origin     Origin
	Err        error
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s %q of %v was left out: %v", f.Kind, f.Name, f.Origin, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Register adds p. A plug-in that cannot be added (no name, or a name that is
// taken, or a Describe that panics) is left out and remembered in Faults: the
// others go on.
func (r *Registry[T]) Register(p T) {
	r.announced.Do(func() { announce(r) })
	origin := registrant()
	info, err := describe(r.Kind, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if first, taken := r.byName[info.Name]; taken {
			err = fmt.Errorf("%v has registered one of this name before, which stays; give yours another name", first.origin)
		}
	}
	if err != nil {
		r.faults = append(r.faults, &Fault{r.Kind, info.Name, origin, err})
		return
	}
	if r.byName == nil {
		r.byName = map[string]registered[T]{}
	}
	r.byName[info.Name] = registered[T]{p, info, origin}
}

// names are usable in paths, on command lines and in URLs.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$`)

const longestName = 64

// describe asks a plug-in what it is; what is wrong with the answer is the
// plug-in's fault and comes back as an error. The name is then what there is to
// call it by.
func describe(kind string, p Plugin) (info Info, err error) {
	typeName := fmt.Sprintf("%T", p)
	err = Guard(kind, typeName, "Describe", func() error {
		info = p.Describe()
		return nil
	})
	switch {
	case err != nil:
		return Info{Name: typeName}, err
	case info.Name == "":
		return Info{Name: typeName}, errors.New("its Describe returns no name")
	case len(info.Name) > longestName || !names.MatchString(info.Name):
		return info, fmt.Errorf("expected a name of lower-case letters, digits, '.', '_' and '-', the first a letter or digit, parts joined by '/', at most %d bytes; change what its Describe returns", longestName)
	}
	return info, nil
}

// Lookup returns the plug-in called name, or an error that says why it was left
// out, or suggests the nearest names.
func (r *Registry[T]) Lookup(name string) (T, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if p, ok := r.byName[name]; ok {
		return p.plugin, nil
	}
	var zero T
	for _, fault := range r.faults {
		if fault.Name == name {
			return zero, fault
		}
	}
	return zero, &UnknownError{Kind: r.Kind, Name: name, Nearest: Nearest(name, r.names()), List: "molehill list " + r.Kind + "s"}
}

// All returns the plug-ins in the order of their names.
func (r *Registry[T]) All() []T {
	all := r.all()
	plugins := make([]T, len(all))
	for i, p := range all {
		plugins[i] = p.plugin
	}
	return plugins
}

func (r *Registry[T]) all() []registered[T] {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]registered[T], 0, len(r.byName))
	for _, name := range r.names() {
		all = append(all, r.byName[name])
	}
	return all
}

// Faults returns what went wrong with registrations that were left out.
func (r *Registry[T]) Faults() []error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	faults := make([]error, len(r.faults))
	for i, fault := range r.faults {
		faults[i] = fault
	}
	return faults
}

func (r *Registry[T]) names() []string {
	return slices.Sorted(maps.Keys(r.byName))
}

// UnknownError says that nothing of a kind has the name asked for.
type UnknownError struct {
	Kind, Name string
	Nearest    []string
	List       string // the command that lists what there is, "" if none does
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("no %s is called %q", e.Kind, e.Name)
	end := ";"
	if len(e.Nearest) > 0 {
		msg, end = msg+"; did you mean "+strings.Join(e.Nearest, ", ")+"?", ""
	}
	if e.List != "" {
		msg += end + " `" + e.List + "` lists what there is"
	}
	return msg
}

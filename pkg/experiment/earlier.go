package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"molehill/pkg/run"
	"molehill/privacy"
)

// Earlier is a finished run whose release is used again: what is made of a release looks
// at no record and costs nothing more.
type Earlier struct {
	*run.Run
	Statement privacy.Statement
}

// OpenEarlier opens a run, or the one whose release it has used again itself. read reads
// a run's settings and returns their release, "" for one that has paid for its own; it
// refuses runs whose release is not for it.
func OpenEarlier(store run.Store, id string, read func(*run.Run) (release string, err error)) (*Earlier, error) {
	r, err := store.Open(id)
	if err != nil {
		return nil, err
	}
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	if state != run.Finished {
		return nil, fmt.Errorf("%s is %s; a release is used again when its run is finished", r.ID, state)
	}
	release, err := read(r)
	if err != nil {
		return nil, err
	}
	if release != "" {
		return OpenEarlier(store, release, read)
	}
	statement, err := r.Statement()
	return &Earlier{Run: r, Statement: statement}, err
}

// Again is the statement of a run that uses the release again.
func (e *Earlier) Again() privacy.Statement {
	s := e.Statement
	s.Claims = slices.Clone(s.Claims)
	s.NotCovered = slices.Clone(s.NotCovered)
	s.Mechanism += fmt.Sprintf("; released by %s and used again here, which costs nothing more", e.ID)
	return s
}

// Take makes the settings that determine a release, by their names in JSON, those of the
// run that made it. One that is neither theirs nor usual is an error, as it would have no
// effect.
func Take[C any](mine, usual, theirs *C, release string, determines func(name string) bool) error {
	here, preset, there := reflect.ValueOf(mine).Elem(), reflect.ValueOf(usual).Elem(), reflect.ValueOf(theirs).Elem()
	for i := range here.NumField() {
		name, _, _ := strings.Cut(here.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || !determines(name) {
			continue
		}
		value, was := here.Field(i), there.Field(i)
		if !value.Equal(was) && !value.Equal(preset.Field(i)) {
			return fmt.Errorf("%s is %v, and the release of %s was made with %v; leave it out, or release anew", name, value, release, was)
		}
		value.Set(was)
	}
	return nil
}

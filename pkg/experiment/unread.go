package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/run"
)

// Sparing is a Config that knows which of its settings would change nothing.
type Sparing interface {
	// CheckUnread says which setting was changed that nothing reads.
	CheckUnread() error
}

// CheckNew refuses a run that is not there yet and has a setting that nothing reads: it
// would be another run than without, and pay for the same again. One that is there goes on
// as it is.
func CheckNew(store run.Store, spec run.Spec) error {
	id, err := spec.ID()
	if err != nil {
		return err
	}
	if _, err := store.Open(id); !errors.Is(err, run.ErrUnknown) {
		return nil // what is wrong with one that is there is told by who opens it
	}
	return CheckUnread(spec)
}

// CheckUnread asks the settings of a run.
func CheckUnread(spec run.Spec) error {
	_, config, err := decode(spec)
	if err != nil {
		return err
	}
	if s, ok := config.(Sparing); ok {
		return s.CheckUnread()
	}
	return nil
}

// CheckRead refuses a setting that differs from the preset's and that the method that was
// chosen does not read: it would change nothing and pay for another release. of lists, by
// method, the settings that not all methods read.
func CheckRead(config, preset Config, method string, of map[string][]string) error {
	chosen, err := fieldsOf(config)
	if err != nil {
		return err
	}
	usual, err := fieldsOf(preset)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if string(chosen[name]) == string(usual[name]) || slices.Contains(of[method], name) {
			continue
		}
		var readers []string
		for _, other := range slices.Sorted(maps.Keys(of)) {
			if slices.Contains(of[other], name) {
				readers = append(readers, other)
			}
		}
		if len(readers) > 0 {
			return fmt.Errorf("%s is %s, which the method %s does not read: leave it out, or it would pay for one release more and change nothing; %s would read it", name, chosen[name], method, strings.Join(readers, ", "))
		}
	}
	return nil
}

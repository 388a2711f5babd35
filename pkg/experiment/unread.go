package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/plugin"
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

// Unread are the settings of an experiment that it refuses to have changed, whatever the
// preset, as long as the others stay as they are: each is changed in turn. It is none for an
// experiment that cannot be asked.
func Unread(name string) (names []string) {
	e, err := lookup(name)
	if err != nil {
		return nil
	}
	refused := map[string]int{}
	for _, preset := range []Preset{Quick, Paper} {
		config, err := settings(e, name, preset)
		if err != nil {
			return nil
		}
		usual, err := Fields(config)
		if err != nil {
			return nil
		}
		for setting := range usual {
			if refuses(e, name, preset, setting, usual[setting]) {
				refused[setting]++
			}
		}
	}
	for setting, presets := range refused {
		if presets == 2 {
			names = append(names, setting)
		}
	}
	slices.Sort(names)
	return names
}

// refuses says whether another value of a setting is one that nothing reads.
func refuses(e Experiment, name string, preset Preset, setting string, usual json.RawMessage) bool {
	for _, other := range []string{"1", "2", "true", "false", `"1"`} {
		config, err := settings(e, name, preset)
		if err != nil {
			return false
		}
		sparing, ok := config.(Sparing)
		if !ok {
			return false
		}
		if other == string(usual) || json.Unmarshal(fmt.Appendf(nil, "{%q: %s}", setting, other), config) != nil {
			continue // no other, or of another kind
		}
		unread, ok := errors.AsType[*UnreadError](plugin.Guard(kind, name, "CheckUnread", sparing.CheckUnread))
		return ok && unread.Setting == setting
	}
	return false
}

// UnreadError says that a setting was changed that nothing reads.
type UnreadError struct {
	Setting, Value, Method string
	Readers                []string // the methods that do
}

func (e *UnreadError) Error() string {
	return fmt.Sprintf("%s is %s, which the method %s does not read: leave it out, or it would pay for one release more and change nothing; %s would read it", e.Setting, e.Value, e.Method, strings.Join(e.Readers, ", "))
}

// CheckRead refuses a setting that differs from the preset's and that the method that was
// chosen does not read: it would change nothing and pay for another release. of lists, by
// method, the settings that not all methods read.
func CheckRead(config, preset Config, method string, of map[string][]string) error {
	chosen, err := Fields(config)
	if err != nil {
		return err
	}
	usual, err := Fields(preset)
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
			return &UnreadError{name, string(chosen[name]), method, readers}
		}
	}
	return nil
}

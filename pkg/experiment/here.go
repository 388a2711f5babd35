package experiment

import (
	"errors"
	"fmt"
	"regexp"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// Here is an experiment whose code only this process has, such as a type that a
// notebook cell declares. Its runs are runs like any other, but no other program
// can compute them.
//
// Nobody counts versions while trying things out, so Code stands in: a digest of
// the code. Other code is another version, hence another run.
type Here struct {
	Experiment
	Code string // hexadecimal digits
}

// Describe implements plugin.Plugin.
func (h Here) Describe() plugin.Info {
	info := h.Experiment.Describe()
	info.Version += hereMark + h.Code
	return info
}

const hereMark = "+cell."

var hereVersion = regexp.MustCompile(regexp.QuoteMeta(hereMark) + `[0-9a-f]+$`)

// OfCell reports whether a run's experiment was declared in a notebook cell.
func OfCell(spec run.Spec) bool { return hereVersion.MatchString(spec.Version) }

// CellError says that this program lacks the code of a run's experiment, which
// a notebook cell declares.
type CellError struct{ Experiment, Run string }

func (e *CellError) Error() string {
	return fmt.Sprintf("%s is declared in a notebook cell (run %s), and this program does not have its code: execute that cell to compute it or to go on with it. "+
		"What was computed is shown everywhere: `molehill show %[2]s`. To start it from a terminal make a plug-in of it: `molehill new plugin %[1]s`", e.Experiment, e.Run)
}

// elsewhere returns a CellError for a spec that a cell has made, else err.
func elsewhere(spec run.Spec, err error) error {
	if !OfCell(spec) {
		return err
	}
	id, _ := spec.ID() // of a run that is there
	return &CellError{spec.Experiment, id}
}

// lookup is the registry's Lookup, which knows of experiments of cells by the
// runs that they have left.
func lookup(name string) (Experiment, error) {
	e, err := Registry.Lookup(name)
	if _, ok := errors.AsType[*plugin.UnknownError](err); !ok {
		return e, err
	}
	store, storeErr := run.DefaultStore()
	if storeErr != nil {
		return nil, err
	}
	entries, storeErr := store.List()
	if storeErr != nil {
		return nil, err // the question was another
	}
	for _, entry := range entries {
		switch {
		case entry.Run == nil || entry.Run.Spec.Experiment != name:
		case OfCell(entry.Run.Spec):
			return nil, &CellError{name, entry.ID}
		default:
			return nil, fmt.Errorf("%w; run %s is of a program that has it as a plug-in, use that one", err, entry.ID)
		}
	}
	return nil, err
}

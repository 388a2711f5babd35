package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// Measurer is an experiment whose finished runs can be measured further: in ways
// that are slow, or that look at private rows and are nobody's by default. No run
// is computed again for it.
type Measurer interface {
	Experiment
	// Measures lists the names of what can be measured.
	Measures() []string
	// Measure measures a finished run by as many of its generated rows. say tells
	// of long work.
	Measure(ctx context.Context, r *run.Run, config Config, name string, rows int, say func(run.Event)) (Measured, error)
}

// Renaming is a Measurer of which a measure is called otherwise by what is on the machine:
// with the whole network it is a fid, with a part of it a fid-768. What was found under one
// name is not found under the other.
type Renaming interface {
	Measurer
	// Called is what such a measure is called: one name where there is something to measure
	// by, and otherwise all that may have been measured elsewhere, the best first. Any other
	// is called by its name.
	Called(name string) []string
}

// Measured is what one measurement found.
type Measured struct {
	Values run.Values `json:"values"`
	Rows   int        `json:"rows"`         // generated rows that took part, or
	Of     string     `json:"of,omitempty"` // of what else
	Note   string     `json:"note,omitempty"`
	// NonPrivate says that private rows were looked at and no budget charged: the
	// values are for the keeper of the rows.
	NonPrivate bool    `json:"non_private,omitempty"`
	Seconds    float64 `json:"seconds"`
	// Computed says where, when and by what program, which need not be the run's. Measure
	// fills it in, but for the Backend, which the Measurer may tell. It is empty of what was
	// measured before it was kept.
	Computed run.Provenance `json:"computed,omitzero"`
}

// CheckMeasure returns an error unless runs of an experiment have a measure that can
// look at so many rows.
func CheckMeasure(experiment, name string, rows int) error {
	e, err := Registry.Lookup(experiment)
	if err != nil {
		return err
	}
	if here, ok := e.(Here); ok {
		e = here.Experiment
	}
	return checkMeasure(e, experiment, name, rows)
}

func checkMeasure(e Experiment, experiment, name string, rows int) error {
	m, ok := e.(Measurer)
	if !ok {
		return fmt.Errorf("runs of %s have no further measures", experiment)
	}
	var names []string
	err := plugin.Guard(kind, experiment, "Measures", func() error {
		names = m.Measures()
		return nil
	})
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("%s has no measure %q; it has %s", experiment, name, strings.Join(names, ", "))
	}
	if rows < 2 {
		return fmt.Errorf("%s of %d rows; measure at least 2", name, rows)
	}
	return nil
}

// Measure measures a finished run, or finds that it has been, and keeps what it
// found among the run's artefacts.
func Measure(ctx context.Context, r *run.Run, name string, rows int, say func(run.Event)) (found Measured, err error) {
	e, config, err := decode(r.Spec)
	if err != nil {
		return found, err
	}
	if err := checkMeasure(e, r.Spec.Experiment, name, rows); err != nil {
		return found, err
	}
	if state, err := r.State(); err != nil {
		return found, err
	} else if state != run.Finished {
		return found, fmt.Errorf("%s is %s; a run is measured when it is finished", r.ID, state)
	}
	called := []string{name}
	if m, ok := e.(Renaming); ok {
		err := plugin.Guard(kind, r.Spec.Experiment, "Called", func() error {
			called = m.Called(name)
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	for _, each := range called {
		for _, private := range []bool{false, true} {
			if found, err = readMeasured(r, measuredName(each, rows, private)); err == nil {
				return found, nil
			}
		}
	}
	here, began := run.Here(), time.Now()
	err = plugin.Guard(kind, r.Spec.Experiment, "Measure", func() error {
		found, err = e.(Measurer).Measure(ctx, r, config, name, rows, say)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("%s of %s: %w", name, r.ID, err)
	}
	here.Backend = found.Computed.Backend
	found.Computed, found.Seconds = here, time.Since(began).Seconds()
	write := r.WriteFile
	if found.NonPrivate {
		write = r.WriteOwn
	}
	return found, write(measuredName(called[0], rows, found.NonPrivate), found.write)
}

func (m Measured) write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(m)
}

// Folders of what was measured among a run's artefacts: what may go with it, and what
// is for the keeper of the private rows.
const (
	measures   = "measures"
	keeperOnly = measures + "/keeper-only"
)

func measuredName(name string, rows int, private bool) string {
	folder := measures
	if private {
		folder = keeperOnly
	}
	return path.Join(folder, fmt.Sprintf("%s-%d.json", name, rows))
}

// AllMeasured returns everything that a run was measured by, by the name of its
// artefact: what is the keeper's is there for the keeper alone.
func AllMeasured(r *run.Run) (map[string]Measured, error) {
	names, err := r.Artefacts()
	if err != nil {
		return nil, err
	}
	all := map[string]Measured{}
	for _, name := range names {
		if folder := path.Dir(name); folder != measures && folder != keeperOnly || path.Ext(name) != ".json" {
			continue
		}
		found, err := readMeasured(r, name)
		if errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[name] = found
	}
	return all, nil
}

func readMeasured(r *run.Run, name string) (found Measured, err error) {
	if err := r.ReadJSON(name, &found); err != nil {
		return found, fmt.Errorf("%w; delete the file to measure again", err)
	}
	return found, nil
}

package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// Auditable is an Experiment whose mechanism can be attacked. Game rebuilds the
// mechanism of a finished run from its settings and its statement, on canary
// records of the same number and domain. It reads no private record and does not
// need the run's noise key, which is gone.
type Auditable interface {
	Experiment
	Game(r *run.Run, config Config, statement privacy.Statement) (audit.Game, error)
}

// Game returns the game that audits a finished run, and the statement that it
// is about. What cannot be audited is an error that says why.
func Game(r *run.Run) (audit.Game, privacy.Statement, error) {
	var statement privacy.Statement
	refuse := func(format string, arguments ...any) (audit.Game, privacy.Statement, error) {
		return audit.Game{}, statement, fmt.Errorf(r.ID+" "+format, arguments...)
	}
	state, err := r.State()
	if err != nil {
		return audit.Game{}, statement, err
	}
	if state != run.Finished {
		return refuse("is %s; an audit is of what a finished run claims, so let it finish first: `molehill show %s` tells its settings", state, r.ID)
	}
	statement, err = r.Statement()
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("made no release of private records, so it claims no ε and there is nothing to audit")
	}
	if err != nil {
		return refuse("has a privacy statement that cannot be read: %w", err)
	}
	if math.IsInf(float64(statement.Epsilon()), 1) && statement.NoiseStd == 0 {
		return refuse("is not private (ε = ∞): it claims nothing that an audit could refute; audit a run with a finite --epsilon")
	}
	e, config, err := decode(r.Spec)
	if err != nil {
		return audit.Game{}, statement, err
	}
	auditable, ok := e.(Auditable)
	if !ok {
		return refuse("is of the experiment %s, which does not offer its mechanism to audits (experiment.Auditable)", r.Spec.Experiment)
	}
	var game audit.Game
	err = plugin.Guard(kind, r.Spec.Experiment, "Game", func() error {
		game, err = auditable.Game(r, config, statement)
		return err
	})
	if err != nil {
		return refuse("cannot be audited: %w", err)
	}
	return game, statement, nil
}

// decode returns the experiment of a spec, if this program has its version, and
// its settings.
func decode(spec run.Spec) (Experiment, Config, error) {
	e, err := lookup(spec.Experiment)
	if err != nil {
		return nil, nil, elsewhere(spec, err)
	}
	info, err := describe(e, spec.Experiment)
	if err != nil {
		return nil, nil, err
	}
	if info.Version != spec.Version {
		return nil, nil, elsewhere(spec, fmt.Errorf("the run is of version %s of %s, this program has version %s; start a new run", spec.Version, spec.Experiment, info.Version))
	}
	if here, ok := e.(Here); ok {
		e = here.Experiment // with whatever else it can
	}
	config, err := settings(e, spec.Experiment, Preset(spec.Preset))
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(spec.Config, config); err != nil {
		return nil, nil, fmt.Errorf("settings of %s: %w", spec.Experiment, err)
	}
	return e, config, check(config, spec.Experiment)
}

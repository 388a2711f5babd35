// Package experiment is what is studied: the papers' experiments, one package
// each below this one, and what they have in common.
//
// An experiment is a plug-in with presets. Its settings are a plain struct, so
// that they can be printed, changed by name and hashed into the run's ID.
package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// Experiment computes into a run's directory.
type Experiment interface {
	plugin.Plugin
	// Config returns the settings of a preset: a pointer to a struct with json
	// tags.
	Config(preset Preset) Config
	// Run computes. It starts from the run's last checkpoint, leaves what it
	// made in the run's directory, and returns the measured numbers. config is
	// what Config returned, with changes.
	Run(ctx context.Context, r *run.Run, config Config) (run.Result, error)
}

// Config is a struct of settings that can say what is wrong with it.
type Config interface{ Check() error }

// Pinner is a Config that names inputs whose content may change, such as files,
// and fixes them: Pin writes what tells them from others into the settings, so
// that another content is another run.
type Pinner interface{ Pin() error }

// Preset names a set of settings.
type Preset string

// The presets: Quick runs in seconds to minutes on two cores, Paper is what
// the paper's text or code says.
const (
	Quick Preset = "quick"
	Paper Preset = "paper"
)

// SplitSeed is the seed of the one public/private split of each data set. The
// shipped networks were trained on its public halves, so no run may draw
// another.
const SplitSeed = 1

// Registry holds the experiments.
var Registry = plugin.Registry[Experiment]{Kind: "experiment"}

// Request asks for a run.
type Request struct {
	Experiment string
	Preset     Preset            // default Quick
	Seed       uint64            // of everything but a release's noise
	Research   bool              // noise from the seed: repeatable, and no promise to anybody
	Settings   map[string]string // settings that differ from the preset's, by name
}

// Spec turns a request into what determines a run. Every mistake in it is found
// here, before anything computes.
func (q Request) Spec() (run.Spec, error) {
	e, err := Registry.Lookup(q.Experiment)
	if err != nil {
		return run.Spec{}, err
	}
	if q.Preset == "" {
		q.Preset = Quick
	}
	if q.Preset != Quick && q.Preset != Paper {
		return run.Spec{}, &plugin.UnknownError{Kind: "preset", Name: string(q.Preset), Nearest: []string{string(Quick), string(Paper)}}
	}
	config := e.Config(q.Preset)
	if err := Apply(config, q.Settings); err != nil {
		return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
	}
	if err := config.Check(); err != nil {
		return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
	}
	if pinner, ok := config.(Pinner); ok {
		if err := pinner.Pin(); err != nil {
			return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
	}
	info := e.Describe()
	return run.Spec{Experiment: info.Name, Version: info.Version, Preset: string(q.Preset), Seed: q.Seed, Research: q.Research, Config: text}, nil
}

// Compute runs the experiment of a run that this process has acquired, and
// leaves it finished, failed, or, when ctx ends, ready to be continued.
func Compute(ctx context.Context, r *run.Run) error {
	result, err := compute(ctx, r)
	switch {
	case ctx.Err() != nil: // interrupted: the checkpoints stay, the run can go on
		return errors.Join(ctx.Err(), r.Release())
	case err != nil:
		return errors.Join(err, r.Fail(err))
	}
	return r.Finish(result)
}

func compute(ctx context.Context, r *run.Run) (result run.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", r.Spec.Experiment, v, debug.Stack())
		}
	}()
	e, config, err := decode(r.Spec)
	if err != nil {
		return result, err
	}
	return e.Run(ctx, r, config)
}

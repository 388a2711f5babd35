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
	"os"
	"reflect"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
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

// Suited is a Config whose presets have other settings for some data sets, as papers do.
// Suit changes those of a preset to what they are for its data set, which alone has been
// changed (Apply).
type Suited interface{ Suit() }

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
var Registry = plugin.Registry[Experiment]{Kind: kind, Defaults: presets}

const kind = "experiment"

// presets returns the settings of every preset.
func presets(e Experiment) (map[string]any, error) {
	all := map[string]any{}
	for _, preset := range []Preset{Quick, Paper} {
		info, err := describe(e, "")
		if err != nil {
			return nil, err
		}
		config, err := settings(e, info.Name, preset)
		if err != nil {
			return nil, err
		}
		all[string(preset)] = config
	}
	return all, nil
}

// Usual returns the settings that the preset of a run has by itself, beside the run's data
// set where they follow it (Suited). It fails where the experiment is not in this program,
// or in another version.
func Usual(s run.Spec) (json.RawMessage, error) {
	e, err := lookup(s.Experiment)
	if err != nil {
		return nil, err
	}
	info, err := describe(e, s.Experiment)
	if err != nil {
		return nil, err
	}
	if info.Version != s.Version {
		return nil, fmt.Errorf("%s %q: the run is of version %s, here is %s", kind, s.Experiment, s.Version, info.Version)
	}
	config, err := settings(e, s.Experiment, Preset(s.Preset))
	if err != nil {
		return nil, err
	}
	own, err := Fields(config)
	if err != nil {
		return nil, err
	}
	var its map[string]string
	if _, suited := config.(Suited); suited {
		var of struct{ Dataset string }
		if err := json.Unmarshal(s.Config, &of); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", s.Experiment, err)
		}
		its = map[string]string{datasetSetting: of.Dataset}
	}
	if err := Apply(config, its); err != nil {
		return nil, err
	}
	usual, err := Fields(config)
	if err != nil {
		return nil, err
	}
	if whole, err := (Request{Experiment: s.Experiment, Preset: Preset(s.Preset), Settings: its}).specOf(e); err == nil { // not one that asks for data first
		if err := json.Unmarshal(whole.Config, &usual); err != nil { // with what a run fills in
			return nil, err
		}
	}
	if its != nil {
		usual[datasetSetting] = own[datasetSetting]
	}
	return json.Marshal(usual)
}

func describe(e Experiment, name string) (info plugin.Info, err error) {
	err = plugin.Guard(kind, name, "Describe", func() error {
		info = e.Describe()
		return nil
	})
	return info, err
}

// settings asks an experiment for the settings of a preset, and refuses what
// Apply could not change.
func settings(e Experiment, name string, preset Preset) (config Config, err error) {
	err = plugin.Guard(kind, name, "Config", func() error {
		config = e.Config(preset)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(config); v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s %q: its Config returns %T for the preset %s; expected a pointer to a struct with json tags", kind, name, config, preset)
	}
	return config, nil
}

// check checks settings.
func check(config Config, name string) error {
	return plugin.Guard(kind, name, "Check", config.Check)
}

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
	e, err := lookup(q.Experiment)
	if err != nil {
		return run.Spec{}, err
	}
	return q.specOf(e)
}

func (q Request) specOf(e Experiment) (run.Spec, error) {
	if q.Preset == "" {
		q.Preset = Quick
	}
	if q.Preset != Quick && q.Preset != Paper {
		return run.Spec{}, &plugin.UnknownError{Kind: "preset", Name: string(q.Preset), Nearest: []string{string(Quick), string(Paper)}}
	}
	config, err := settings(e, q.Experiment, q.Preset)
	if err != nil {
		return run.Spec{}, err
	}
	if err := Apply(config, q.Settings); err != nil {
		if unknown, ok := errors.AsType[*plugin.UnknownError](err); ok {
			unknown.List = "molehill list " + q.Experiment
		}
		return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
	}
	if err := check(config, q.Experiment); err != nil {
		return run.Spec{}, named(q.Experiment, err)
	}
	if pinner, ok := config.(Pinner); ok {
		if err := plugin.Guard(kind, q.Experiment, "Pin", pinner.Pin); err != nil {
			return run.Spec{}, named(q.Experiment, err)
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return run.Spec{}, fmt.Errorf("%s: %w", q.Experiment, err)
	}
	info, err := describe(e, q.Experiment)
	if err != nil {
		return run.Spec{}, err
	}
	place, err := ledger.Place()
	if _, ok := errors.AsType[*ledger.MissingError](err); ok {
		return run.Spec{}, err
	} // where there is none, Reserve says so to those runs that have to pay
	return run.Spec{Experiment: info.Name, Version: info.Version, Preset: string(q.Preset), Seed: q.Seed, Research: q.Research, Config: text, Ledger: place}, nil
}

// named puts an experiment's name before an error, unless it has it.
func named(name string, err error) error {
	if panicked, ok := errors.AsType[*plugin.PanicError](err); ok && panicked.Kind == kind {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Compute runs the experiment of a run that this process has acquired, and
// leaves it finished, failed, or, when ctx ends, ready to be continued.
func Compute(ctx context.Context, r *run.Run) error {
	result, err := compute(ctx, r)
	switch {
	case ctx.Err() != nil: // interrupted: the checkpoints stay, the run can go on
		if errors.Is(err, ctx.Err()) {
			err = nil // it says no more
		}
		return errors.Join(ctx.Err(), err, r.Release())
	case err != nil:
		return errors.Join(err, r.Fail(err))
	}
	err = r.Finish(result)
	if err != nil { // on a full disk; this process may live on, and does not compute the run
		if failed := r.Fail(err); !errors.Is(failed, run.ErrNotHeld) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func compute(ctx context.Context, r *run.Run) (result run.Result, err error) {
	if err := ctx.Err(); err != nil {
		return result, err // before anything is paid
	}
	e, config, err := decode(r.Spec)
	if err != nil {
		return result, err
	}
	err = plugin.Guard(kind, r.Spec.Experiment, "Run", func() error {
		result, err = e.Run(ctx, r, config)
		return err
	})
	if panicked, ok := errors.AsType[*plugin.PanicError](err); ok {
		// For whoever mends it; the error itself has the line.
		fmt.Fprintf(os.Stderr, "%v\n%s\n", panicked, panicked.Stack)
	}
	return result, withoutFiles(r.Spec, err)
}

package swae

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// later are the settings that matter once everything is learned; all others determine what
// a run releases.
var later = []string{"release", "passes", "grain", "samples"}

func determines(name string) bool { return !slices.Contains(later, name) }

// openEarlier opens the finished run whose networks are used again.
func openEarlier(store run.Store, id string) (from *experiment.Earlier, c *Config, err error) {
	info := Experiment{}.Describe()
	from, err = experiment.OpenEarlier(store, id, func(r *run.Run) (string, error) {
		if r.Spec.Experiment != info.Name || r.Spec.Version != info.Version {
			return "", fmt.Errorf("%s is of %s, version %s; networks are used again that %s, version %s, has trained", r.ID, r.Spec.Experiment, r.Spec.Version, info.Name, info.Version)
		}
		settings := config(experiment.Preset(r.Spec.Preset))
		c = &settings
		if err := json.Unmarshal(r.Spec.Config, c); err != nil {
			return "", fmt.Errorf("settings of %s: %w", r.ID, err)
		}
		return c.Release, nil
	})
	return from, c, err
}

// take makes the settings of a training those of the run whose networks are used again.
func (c *Config) take() error {
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	from, theirs, err := openEarlier(store, c.Release)
	if err != nil {
		return err
	}
	c.Release = from.ID
	usual := config(c.preset)
	return experiment.Take(c, &usual, theirs, c.Release, determines)
}

// again measures and draws what an earlier run has learned with other settings of what is
// generated. No record is drawn: only the keeper's measures look at any.
func (t *training) again(ctx context.Context, r *run.Run) (result run.Result, err error) {
	from, _, err := openEarlier(r.Store(), t.config.Release)
	if err != nil {
		return result, err
	}
	if err := t.reopen(from.Run); err != nil {
		return result, err
	}
	if err := r.WritePrivacy(from.Again()); err != nil {
		return result, err
	}
	if err := t.save(r); err != nil {
		return result, err
	}
	return finish(ctx, r, t, from.Statement.NoiseStd)
}

// save keeps in a run what everything has learned.
func (t *training) save(r *run.Run) error {
	c := t.config
	err := r.WriteFile(autoencoderFile, func(to io.Writer) error { return t.learner.Save(to, c.StartSteps+c.Steps) })
	if t.labels != nil {
		err = errors.Join(err, r.WriteFile(labelsFile, func(to io.Writer) error { return t.labels.learner.Save(to, c.Labels) }))
	}
	if t.law != nil {
		err = errors.Join(err, t.law.save(r))
	}
	return err
}

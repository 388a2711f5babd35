package privateflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/npy"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// releasesOnce reports whether a plan's release can be kept and used again.
func releasesOnce(plan privacy.Plan) bool { return plan.Steps == 1 && plan.Sampler == nil }

// determines says which settings determine a release, by their names in JSON.
func determines(name string) bool {
	return slices.Contains([]string{
		"dataset", "weights", "inputs", "epsilon", "delta", "directions", "stack", "batch", "bins",
		"degree", "classes", "label", "features", "scale", "published",
	}, name)
}

// take makes the settings that determine a release those of the run whose
// release is used again. One that was set to something else is an error, as it
// would have no effect.
func (c *Config) take(of *Config) error {
	unset := Experiment{c.estimator}.Config(c.preset).(*Config).Dataset
	if c.Dataset == unset {
		c.suitTo(of.Dataset)
	}
	usual := c.usual()
	usual.Dataset = unset
	return experiment.Take(c, usual, of, c.Release, determines)
}

// suitTo changes the data set, and with it the settings that nobody has changed.
func (c *Config) suitTo(dataset string) {
	others := &Config{estimator: c.estimator, preset: c.preset, Dataset: dataset}
	mine, before, after := reflect.ValueOf(c).Elem(), reflect.ValueOf(c.usual()).Elem(), reflect.ValueOf(others.usual()).Elem()
	for i := range mine.NumField() {
		if field := mine.Field(i); field.CanSet() && field.Equal(before.Field(i)) {
			field.Set(after.Field(i))
		}
	}
}

// source is the estimator that releases: a generator's is the one it follows, and what
// reads a release beside public records leaves the release as it is.
func source(e Estimator) Estimator {
	if g, ok := e.(generated); ok {
		e = g.Estimator
	}
	if i, ok := e.(informed); ok {
		return i.spherical
	}
	return e
}

// earlier is a finished run whose release is used again.
type earlier struct {
	*experiment.Earlier
	config *Config
}

// openEarlier opens the run for an estimator.
func openEarlier(store run.Store, id string, e Estimator) (*earlier, error) {
	from := &earlier{}
	var err error
	from.Earlier, err = experiment.OpenEarlier(store, id, func(r *run.Run) (string, error) {
		made, err := Estimators.Lookup(r.Spec.Experiment)
		if err != nil {
			return "", fmt.Errorf("%s has no release to use again: %w", r.ID, err)
		}
		if source(made).Describe().Name != source(e).Describe().Name || made.Describe().Version != r.Spec.Version {
			return "", fmt.Errorf("%s is of %s, version %s, whose release %s cannot read; use it with %[2]s or what follows the same release", r.ID, r.Spec.Experiment, r.Spec.Version, e.Describe().Name)
		}
		from.config = made.Config(experiment.Preset(r.Spec.Preset))
		if err := json.Unmarshal(r.Spec.Config, from.config); err != nil {
			return "", fmt.Errorf("settings of %s: %w", r.ID, err)
		}
		return from.config.Release, nil
	})
	return from, err
}

// again returns the guide of an earlier run's release, made without a look at the
// records: the estimator gets zeros in their place.
func (e Experiment) again(_ context.Context, r *run.Run, c *Config, data *latent.Data) (guide flow.Guide, plan privacy.Plan, paid experiment.Payment, err error) {
	from, err := openEarlier(r.Store(), c.Release, e.Estimator)
	if err != nil {
		return nil, plan, paid, err
	}
	public := noise.Seeded(from.Spec.Seed) // of the directions or features that were released on
	plan, theirs, err := e.Plan(c, data.Private.Len(), data.Private.Dim, public)
	if err != nil {
		return nil, plan, paid, err
	}
	if plan.NoiseStd != from.Statement.NoiseStd {
		return nil, plan, paid, fmt.Errorf("these settings plan noise of %v, the release of %s has %v; another version made it, release anew", plan.NoiseStd, from.ID, from.Statement.NoiseStd)
	}
	values, err := from.release()
	if err != nil {
		return nil, plan, paid, err
	}
	release, err := plan.Replay(values)
	if err != nil {
		return nil, plan, paid, err
	}
	statement := from.Again()
	// What a paper claims goes by these settings, such as a diffusion.
	statement.Claims = append(slices.DeleteFunc(statement.Claims, func(c privacy.Claim) bool { return !c.Sound }), theirs...)
	if beside := readBeside(c); needsPublic(e.Estimator) && !slices.Contains(statement.NotCovered, beside) {
		statement.NotCovered = append(statement.NotCovered, beside)
	}
	if err := r.WritePrivacy(statement); err != nil {
		return nil, plan, paid, err
	}
	zeros := transport.NewPoints(data.Private.Len(), data.Private.Dim)
	guide, err = e.Guide(c, Records{Points: zeros, Labels: make([]int, zeros.Len()), Public: data.PublicHalf}, release, public)
	return guide, plan, paid, err
}

// release reads what the run released.
func (f *earlier) release() ([]float64, error) {
	text, err := f.ReadFile(experiment.ReleaseFile)
	if err != nil {
		return nil, fmt.Errorf("%w; only flows and generators that release once keep what they release", err)
	}
	_, values, err := npy.ReadOf[float64](text)
	if err == nil && slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 }) {
		err = errors.New("it has numbers that are not finite, which no run releases")
	}
	if err != nil {
		return nil, fmt.Errorf("the release of %s, its artefact %s: %w; restore it from a copy", f.ID, experiment.ReleaseFile, err)
	}
	return values, nil
}

package utility

import (
	"context"
	"errors"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// Fit has the registered classifier of a name learn; see Classifier. A panic of it, or
// of its model later, is an error that names it.
func Fit(ctx context.Context, name string, train *dataset.Dataset, seed uint64, say func(Progress)) (Model, error) {
	c, err := Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	return learned(ctx, c, name, train, seed, say)
}

func learned(ctx context.Context, c Classifier, name string, train *dataset.Dataset, seed uint64, say func(Progress)) (Model, error) {
	m := guarded{name: name}
	err := m.guard("Fit", func() (err error) {
		m.Model, err = c.Fit(ctx, train, seed, say)
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.Model == nil {
		return nil, errors.New("utility: classifier " + name + " has learned no model, and says of no error")
	}
	return m, nil
}

// guarded is a model of a classifier that may be anybody's.
type guarded struct {
	Model
	name string
}

func (m guarded) guard(doing string, f func() error) error {
	return plugin.Guard(Registry.Kind, m.name, doing, f)
}

// Predict implements Model.
func (m guarded) Predict(x *dataset.Dataset) (labels []int, err error) {
	err = m.guard("Predict", func() (err error) {
		labels, err = m.Model.Predict(x)
		return err
	})
	return labels, err
}

package latent

import (
	"context"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
)

// public says what a network has learned from, all of which has to be public beside the
// private half of a data set: nothing of it, rows of a set that is public as a whole, or
// the other half of the same rows, split alike.
func public(ctx context.Context, model *network, name, split string) (string, error) {
	trained := model.Learned
	if trained.Dataset == "" {
		return fmt.Sprintf("what the model %s has learned from: no rows of %s, says its author", model.Name, name), nil
	}
	if source, err := dataset.Registry.Lookup(trained.Dataset); err == nil && source.Public() {
		return fmt.Sprintf("the rows of %s, public by construction, which trained the autoencoder", trained.Dataset), nil
	}
	again := fmt.Sprintf("train it again with `molehill run autoencoder --set dataset=%s`", name)
	if trained.Dataset != name {
		return "", fmt.Errorf("the autoencoder for %s was trained on %s, among whose rows private ones may be; %s", name, trained.Dataset, again)
	}
	if trained.Split != split {
		return "", fmt.Errorf("the autoencoder of %s was trained on the public half of split %.12s…, the records here split as %.12s…; its private half may be public there, %s", name, trained.Split, split, again)
	}
	rows, err := experiment.Digest(ctx, name, dataset.Options{Seed: experiment.SplitSeed}, nil)
	if err == nil && rows != trained.Inputs {
		err = fmt.Errorf("the rows of %s are not known to be those whose public half trained its autoencoder: they have changed since, or it is of another folder of runs, or of a version that did not write them down; %s", name, again)
	}
	return fmt.Sprintf("the public half of %s, which trained the autoencoder and counts as public", name), err
}

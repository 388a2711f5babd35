package latent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molehill/models"
	"molehill/models/autoencoder"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// Pin returns which weights Load would take now, "" for those that ship,
// and what tells the rows, with the classes that label gives them, and weights from
// others.
func Pin(name, label, weights string) (path, inputs string, err error) {
	if weights == "" && !slices.Contains(autoencoder.Shipped(), name) {
		if weights, err = trained(name); err != nil {
			return "", "", err
		}
	}
	if inputs, err = inputsOf(context.Background(), name, label, weights); err == nil {
		path, err = Name(weights)
	}
	return path, inputs, err
}

// Unchanged returns an error if rows or weights are no longer those that Pin told of: what
// waits in a queue is computed when they may be others.
func Unchanged(ctx context.Context, name, label, weights, inputs string) error {
	found, err := inputsOf(ctx, name, label, weights)
	if err == nil {
		err = experiment.Unchanged(name, inputs, found)
	}
	return err
}

// inputsOf tells rows and weights from others.
func inputsOf(ctx context.Context, name, label, weights string) (string, error) {
	rows, err := experiment.Digest(ctx, name, dataset.Options{Seed: experiment.SplitSeed, Label: label}, (*dataset.Splits).CheckImages)
	if err != nil || weights == "" {
		return rows, err
	}
	if model, err := models.Registry.Lookup(weights); err == nil {
		return strings.TrimSpace(fmt.Sprintf("%s version %s", rows, model.Describe().Version)), nil
	}
	path, err := findFile(weights)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", missingWeights(name, err)
	}
	return fmt.Sprintf("%s %x", rows, sha256.Sum256(text)), nil
}

// inStore begins the name of a file that lies in the folder of runs, wherever that is: the
// folder may move, and a run that names one of its files is the same run then.
const inStore = "runs/"

// Name is what Pin calls weights: a file by a name that is the same in whatever folder it is
// looked for from, registered models and those that ship as they are.
func Name(weights string) (string, error) {
	if weights == "" || registered(weights) {
		return weights, nil
	}
	path, err := findFile(weights)
	if err != nil {
		return "", err
	}
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	if place, err := filepath.Rel(store.Dir, path); err == nil && filepath.IsLocal(place) {
		return inStore + filepath.ToSlash(place), nil
	}
	return path, nil
}

// findFile returns the path of a file of weights that Name or somebody names.
func findFile(weights string) (string, error) {
	if place, ok := strings.CutPrefix(weights, inStore); ok {
		store, err := run.DefaultStore()
		if err != nil {
			return "", err
		}
		path := filepath.Join(store.Dir, filepath.FromSlash(place))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return filepath.Abs(weights)
}

// trained returns the weights of the newest finished training of a data set's
// autoencoder, "" if there is none.
func trained(dataset string) (string, error) {
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	entries, err := store.List()
	if err != nil {
		return "", err
	}
	var newest *run.Run
	for _, e := range entries {
		if e.Run == nil || e.State != run.Finished || e.Run.Spec.Experiment != "autoencoder" || newest != nil && !e.Created.After(newest.Created) {
			continue
		}
		var of struct {
			Dataset string `json:"dataset"`
		}
		if err := json.Unmarshal(e.Run.Spec.Config, &of); err == nil && of.Dataset == dataset {
			newest = e.Run
		}
	}
	if newest == nil {
		return "", nil
	}
	return filepath.Join(newest.Dir, "artefacts", "weights.npz"), nil
}

func missingWeights(dataset string, err error) error {
	return fmt.Errorf("the autoencoder of %s: %w; `molehill run autoencoder --set dataset=%s` leaves weights.npz among its artefacts", dataset, err, dataset)
}

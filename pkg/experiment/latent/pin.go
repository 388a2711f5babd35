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
	rows, err := experiment.Digest(context.Background(), name, dataset.Options{Seed: experiment.SplitSeed, Label: label}, (*dataset.Splits).CheckImages)
	if err != nil || weights == "" {
		return "", rows, err
	}
	if model, err := models.Registry.Lookup(weights); err == nil {
		return weights, strings.TrimSpace(fmt.Sprintf("%s version %s", rows, model.Describe().Version)), nil
	}
	text, err := os.ReadFile(weights)
	if err != nil {
		return "", "", missingWeights(name, err)
	}
	path, err = filepath.Abs(weights) // the run computes in another folder
	return path, fmt.Sprintf("%s %x", rows, sha256.Sum256(text)), err
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

package latent

import (
	"io"
	"os"

	"molehill/models"
	"molehill/models/autoencoder"
)

// network is the model that images are seen through.
type network struct {
	*models.Guarded
	save func(io.Writer) error // what tells it from others; nil where nothing does
}

// openNetwork returns the autoencoder of a data set, or the model that weights
// names: one that is registered, or a file.
func openNetwork(name, weights string) (*network, error) {
	if registered(weights) {
		model, err := models.Checked(weights)
		return &network{Guarded: model}, err
	}
	a, err := autoencoder.Default(name)
	if weights != "" {
		a, err = load(name, weights)
	}
	if err != nil {
		return nil, err
	}
	model, err := models.Guard("autoencoder of "+name, autoencoder.Model{Open: func() (*autoencoder.Autoencoder, error) { return a, nil }})
	return &network{model, a.Save}, err
}

// registered reports whether weights names a registered model.
func registered(weights string) bool {
	_, err := models.Registry.Lookup(weights)
	return err == nil
}

func load(name, weights string) (*autoencoder.Autoencoder, error) {
	file, err := os.Open(weights)
	if err != nil {
		return nil, missingWeights(name, err)
	}
	defer file.Close()
	return autoencoder.Load(file)
}

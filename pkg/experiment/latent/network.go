package latent

import (
	"io"
	"os"
	"sync"

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
	var a *autoencoder.Autoencoder
	var err error
	if weights == "" {
		a, err = shipped(name)
	} else {
		a, err = loadWeights(name, weights)
	}
	if err != nil {
		return nil, err
	}
	model, err := models.Guard("autoencoder of "+name, autoencoder.Model{Open: func() (*autoencoder.Autoencoder, error) { return a, nil }})
	return &network{model, a.Save}, err
}

// Dim is how many numbers a latent of a data set has, by the autoencoder that Load would
// take for it.
func Dim(name, weights string) (int, error) {
	model, err := openNetwork(name, weights)
	if err != nil {
		return 0, err
	}
	return model.Shape.Code, nil
}

// shipped returns the autoencoder that ships for a data set, the same one each time, so
// that a process compiles it once.
func shipped(name string) (*autoencoder.Autoencoder, error) {
	open, _ := opened.LoadOrStore(name, sync.OnceValues(func() (*autoencoder.Autoencoder, error) { return autoencoder.Default(name) }))
	return open.(func() (*autoencoder.Autoencoder, error))()
}

var opened sync.Map // of such functions, by data set

// registered reports whether weights names a registered model.
func registered(weights string) bool {
	_, err := models.Registry.Lookup(weights)
	return err == nil
}

func loadWeights(name, weights string) (*autoencoder.Autoencoder, error) {
	path, err := findFile(weights)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, missingWeights(name, err)
	}
	defer file.Close()
	return autoencoder.Load(file)
}

package autoencoder

import (
	"context"
	"sync"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/plugin"
)

func init() {
	for _, name := range Shipped() {
		learned := "the public half of " + name
		if name == "glyphs" {
			learned = "glyphs, which are public by construction"
		}
		models.Registry.Register(Model{
			Info: plugin.Info{Name: "autoencoder/" + name, Version: "1", Source: "003 C.2; Liutkus et al. 2019",
				Summary: "convolutional autoencoder onto the unit sphere of R⁸, weights trained on " + learned},
			Open: sync.OnceValues(func() (*Autoencoder, error) { return Default(name) }),
		})
	}
}

// Model makes a plug-in of an autoencoder.
type Model struct {
	plugin.Info
	Open func() (*Autoencoder, error) // called when the model is first asked for anything
}

// Describe implements plugin.Plugin.
func (m Model) Describe() plugin.Info { return m.Info }

// Shape implements models.Model.
func (m Model) Shape() models.Shape {
	a, err := m.Open()
	if err != nil {
		return models.Shape{} // refused by whoever asks
	}
	return models.Shape{Side: a.Config.Side, Channels: a.Config.Channels, Code: a.Config.Latent}
}

// Learned implements models.Model.
func (m Model) Learned() models.Learned {
	a, err := m.Open()
	if err != nil {
		return models.Learned{}
	}
	learned := models.Learned{Dataset: a.Meta.Dataset, Split: a.Meta.Split, Inputs: a.Meta.Inputs}
	if learned.Dataset == "" {
		learned.Dataset = "rows that its file does not name"
	}
	return learned
}

// Encode implements models.Model.
func (m Model) Encode(ctx context.Context, b *backend.Backend, images []float32) ([]float32, error) {
	a, err := m.Open()
	if err != nil {
		return nil, err
	}
	return a.Encode(ctx, b, images)
}

// Decode implements models.Model.
func (m Model) Decode(ctx context.Context, b *backend.Backend, codes []float32) ([]float32, error) {
	a, err := m.Open()
	if err != nil {
		return nil, err
	}
	return a.Decode(ctx, b, codes)
}

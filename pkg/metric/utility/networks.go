package utility

import (
	"context"
	"fmt"

	"molehill/models/layer"
	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// MLP is a network of one hidden layer with ReLU.
type MLP struct {
	Hidden   int // neurons of the hidden layer
	Training Training
}

// DefaultMLP is Cao et al.'s (D.2).
var DefaultMLP = MLP{Hidden: 100, Training: DefaultTraining}

// Describe implements plugin.Plugin.
func (MLP) Describe() plugin.Info {
	return plugin.Info{
		Name:    "mlp",
		Summary: "network of one hidden layer of 100 neurons, 10 % of the rows held out to stop early",
		Version: "1",
		Source:  "002 D.2",
	}
}

// Fit implements Classifier; the Model is a *NetworkModel.
func (c MLP) Fit(ctx context.Context, train *dataset.Dataset, seed uint64, say func(Progress)) (Model, error) {
	if err := check(train); err != nil {
		return nil, err
	}
	if c.Hidden < 1 {
		return nil, fmt.Errorf("utility: a hidden layer of %d neurons; take at least 1", c.Hidden)
	}
	return model(fit(ctx, c.Training, c.network(train), train, seed, say))
}

func (c MLP) network(rows *dataset.Dataset) layer.Layer {
	return layer.Sequence{
		layer.Dense{Name: "mlp.hidden", In: rows.Dim(), Out: c.Hidden}, layer.ReLU,
		layer.Dense{Name: "mlp.output", In: c.Hidden, Out: len(rows.Classes)},
	}
}

// CNN is a network of two convolutional layers for images. Cao et al. tell the
// filters, ReLU and dropout between all layers; kernels of 3×3 that keep the
// size, the largest of 2×2 pixels after each and one linear layer at the end are
// ours.
type CNN struct {
	Filters  [2]int  // of each layer
	Dropout  float64 // share of the outputs of each layer that is dropped in training, in [0, 1)
	Training Training
}

// DefaultCNN is Cao et al.'s (D.2), as far as they tell.
var DefaultCNN = CNN{Filters: [2]int{32, 64}, Dropout: 0.5, Training: DefaultTraining}

// Describe implements plugin.Plugin.
func (CNN) Describe() plugin.Info {
	return plugin.Info{
		Name:    "cnn",
		Summary: "convolutional network of 32 and 64 filters with dropout, 10 % of the rows held out to stop early",
		Version: "1",
		Source:  "002 D.2; kernels and pooling ours",
	}
}

// Fit implements Classifier; the Model is a *NetworkModel.
func (c CNN) Fit(ctx context.Context, train *dataset.Dataset, seed uint64, say func(Progress)) (Model, error) {
	if err := check(train); err != nil {
		return nil, err
	}
	switch {
	case min(c.Filters[0], c.Filters[1]) < 1:
		return nil, fmt.Errorf("utility: %d and %d filters; take at least 1 of each", c.Filters[0], c.Filters[1])
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return nil, fmt.Errorf("utility: a share %v of outputs dropped; take a number from 0 to below 1", c.Dropout)
	case min(train.Height, train.Width) < 4:
		return nil, fmt.Errorf("utility: images of %d×%d pixels for a network that halves them twice; it needs 4×4, and points need another classifier", train.Height, train.Width)
	}
	return model(fit(ctx, c.Training, c.network(train, seed), train, seed, say))
}

// network has ReLU after the pooling, which is the same and costs a quarter.
func (c CNN) network(rows *dataset.Dataset, seed uint64) layer.Layer {
	first, second := c.Filters[0], c.Filters[1]
	return layer.Sequence{
		layer.Fold(rows.Height, rows.Width, rows.Channels),
		layer.Conv2D{Name: "cnn.conv1", In: rows.Channels, Out: first, Kernel: 3, Stride: 1, Padding: 1},
		layer.MaxPool2D(2), layer.ReLU, layer.Dropout{Name: "cnn.drop1", Rate: c.Dropout, Seed: seed},
		layer.Conv2D{Name: "cnn.conv2", In: first, Out: second, Kernel: 3, Stride: 1, Padding: 1},
		layer.MaxPool2D(2), layer.ReLU, layer.Dropout{Name: "cnn.drop2", Rate: c.Dropout, Seed: seed},
		layer.Flatten,
		layer.Dense{Name: "cnn.output", In: (rows.Height / 4) * (rows.Width / 4) * second, Out: len(rows.Classes)},
	}
}

// model keeps a nil *NetworkModel from becoming a Model that is not nil.
func model(m *NetworkModel, err error) (Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

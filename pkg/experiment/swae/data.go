package swae

import (
	"context"
	"fmt"
	"slices"

	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/transport"
)

// data are what a training works on.
type data struct {
	private    *dataset.Dataset // all images for training
	held       *dataset.Dataset // images for testing
	notCovered []string         // what the privacy of a training does not cover
	backend    *backend.Backend
}

// load reads the images.
func load(ctx context.Context, c *Config, say func(run.Event)) (*data, error) {
	splits, err := images(ctx, c.Dataset, 0, say)
	if err != nil {
		return nil, err
	}
	b, err := backend.Open()
	if err != nil {
		return nil, err
	}
	d := &data{private: splits.Train, held: splits.Test, backend: b}
	d.notCovered = []string{
		fmt.Sprintf("the held-out images of %s, which measure the result and count as public", c.Dataset),
		experiment.ClassesNotCovered(len(splits.Train.Classes)),
		experiment.HalfNotCovered(c.Dataset),
		matching.NotCovered,
	}
	return d, nil
}

// images reads a data set of labelled images that the network is for, n of them for
// training, or all if n is 0.
func images(ctx context.Context, name string, n int, say func(run.Event)) (*dataset.Splits, error) {
	splits, err := experiment.Load(ctx, name, dataset.Options{N: n}, say)
	if err != nil {
		return nil, err
	}
	if err := splits.CheckImages(); err != nil {
		return nil, err
	}
	for _, d := range []*dataset.Dataset{splits.Train, splits.Test} {
		if d.Height != side || d.Width != side || d.Channels != 1 {
			return nil, fmt.Errorf("images of %s are %d×%d×%d; the network of 004's Table 3 is for %d×%[5]d×1: scale them to that and make them grey, or take another data set, such as mnist or glyphs", name, d.Height, d.Width, d.Channels, side)
		}
		if d.Labels == nil || len(d.Classes) < 2 {
			return nil, fmt.Errorf("images of %s have no labels, which generated ones should get; take a data set that has some", name)
		}
	}
	if held := splits.Test.Labels; len(held) > 0 && !slices.ContainsFunc(held, func(class int) bool { return class != held[0] }) {
		return nil, fmt.Errorf("held-out images of %s are all of class %s, and what is made is shown and judged by their classes; hold out some of another", name, splits.Test.Classes[held[0]])
	}
	return splits, nil
}

// rows are copies of some images, [len(at), pixels], in their order.
func rows(d *dataset.Dataset, at []int) []float32 {
	x := make([]float32, 0, len(at)*pixels)
	for _, i := range at {
		x = append(x, d.Row(i)...)
	}
	return x
}

// first are the first n images, or all if there are fewer.
func first(d *dataset.Dataset, n int) []float32 { return d.X[:min(n, d.Len())*pixels] }

// points are codes as the transport core takes them.
func points(codes []float32, dim int) transport.Points {
	return transport.Points{Data: codes, Dim: dim}
}

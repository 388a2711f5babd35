// Package latent shows the images of a data set as the codes that a public
// autoencoder gives them, points of the unit sphere: the private ones, which
// mechanisms look at, and the public and held-out ones, which judge what was learned.
package latent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/transport"
)

// Data are the latents of a data set, in the parts that differ in who may see them.
type Data struct {
	Private    transport.Points // [n, dim], latents of the private half, on the unit sphere
	Public     transport.Points // latents of as many public images as there are held-out ones, of anywhere in the file
	PublicHalf transport.Points // latents of all public images, if they were asked for
	Test       transport.Points // latents of the held-out images
	HeldOut    []float32        // [SampleImages, Pixels], held-out images to compare with
	Classes    []string         // what labels name, nil if the rows have none
	Labels     Labels
	Pixels     int
	Origin     string   // where the records came from
	Split      string   // names how they were split into a public and a private half (dataset.Partition)
	NotCovered []string // what the privacy of a release does not cover
	Backend    *backend.Backend

	model *network
	test  *dataset.Dataset // all held-out images, as they were loaded
	known *known
}

// Labels are the classes of the rows of Data, numbers below len(Classes).
type Labels struct{ Private, Public, Test []int }

// Load encodes the private half and the held-out images of a data set with the
// autoencoder that was trained on its public half. say tells of long work.
// weights is a file of `molehill run autoencoder`, a registered model, or "" for the
// one that ships.
func Load(ctx context.Context, name, weights string, say func(run.Event)) (*Data, error) {
	return LoadWith(ctx, name, Options{Weights: weights}, say)
}

// Options are what to load of a data set.
type Options struct {
	Weights    string // as Load takes them
	Label      string // which of several attributes is the class of a row (dataset.Labelled); "" where there is one
	PublicHalf bool   // all of the public half, too
	Inputs     string // what tells rows and weights from others of the same names (Pin)
}

// LoadWith is Load with options. Of runs of one process that ask for the same data, one
// after the other, the first one loads them (experiment.Last).
func LoadWith(ctx context.Context, name string, o Options, say func(run.Event)) (*Data, error) {
	type loaded struct {
		name    string
		options Options
		data    *Data
	}
	serves := func(last loaded) bool {
		had := last.options
		had.PublicHalf = had.PublicHalf && o.PublicHalf
		return last.name == name && had == o
	}
	last, _, err := experiment.Last(ctx, "latents", serves, func() (loaded, error) {
		data, err := load(ctx, name, o, say)
		return loaded{name, o, data}, err
	}, func(loaded) {})
	if err != nil {
		return nil, err
	}
	return last.data.copy(o), nil
}

// copy returns latents of its own, which a run may change, and none of the public half
// unless they are asked for.
func (d *Data) copy(o Options) *Data {
	c := *d
	c.Private, c.Public, c.Test = d.Private.Clone(), d.Public.Clone(), d.Test.Clone()
	if c.PublicHalf = (transport.Points{}); o.PublicHalf {
		c.PublicHalf = d.PublicHalf.Clone()
	}
	return &c
}

func load(ctx context.Context, name string, o Options, say func(run.Event)) (*Data, error) {
	splits, err := dataset.Load(ctx, name, dataset.Options{Seed: experiment.SplitSeed, Label: o.Label})
	if err != nil {
		return nil, err
	}
	if err := splits.CheckImages(); err != nil {
		return nil, err
	}
	model, err := openNetwork(name, o.Weights)
	if err != nil {
		return nil, err
	}
	if splits.Test.Len() < 2 {
		return nil, fmt.Errorf("%s has %d held-out images; distances to them take at least 2", name, splits.Test.Len())
	}
	source, err := dataset.Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	partition := dataset.PublicPrivate(splits.Train.Len(), experiment.SplitSeed)
	learned, err := public(ctx, model, name, partition.Digest)
	if err != nil {
		if !source.Public() {
			return nil, err
		}
		learned = fmt.Sprintf("the rows of %s that the autoencoder has learned from", model.Learned.Dataset)
	}
	b, err := backend.Open()
	if err != nil {
		return nil, err
	}
	d := &Data{Origin: splits.Train.Origin, Split: partition.String(), Backend: b, model: model, Pixels: model.Shape.Dim(), Classes: splits.Train.Classes}
	encode := func(images *dataset.Dataset, rows []int) (transport.Points, error) {
		latents, err := gallery{images, rows, model.Shape.Side}.latents(ctx, b, model, say)
		codes := transport.Points{Dim: model.Shape.Code, Data: latents}
		if err == nil && model.save == nil {
			codes.OnSphere() // where those of the autoencoder lie: like is compared with like
		}
		return codes, err
	}
	// The images for training, most of what there is, are not needed once they are
	// encoded: nothing below holds on to them.
	train, public := splits.Train, anywhere(partition.Public, splits.Test.Len())
	d.test = splits.Test
	d.Labels = Labels{labelsAt(train, partition.Private), labelsAt(train, public), d.test.Labels}
	if d.Private, err = encode(train, partition.Private); err != nil {
		return nil, err
	}
	if d.Public, err = encode(train, public); err != nil {
		return nil, err
	}
	if o.PublicHalf {
		if d.PublicHalf, err = encode(train, partition.Public); err != nil {
			return nil, err
		}
	}
	if d.Test, err = encode(d.test, nil); err != nil {
		return nil, err
	}
	d.known = &known{test: d.Test}
	// A latent is on the sphere already; this bounds the ones that are not
	// (soundness does not rest on what a network returns).
	d.Private.OnSphere()
	d.HeldOut = d.images(SampleImages).X
	d.NotCovered = []string{learned, fmt.Sprintf("the held-out images of %s, which measure the result and count as public", name)}
	if model.Learned.Dataset != name { // else it has been said that the half is public
		d.NotCovered = append(d.NotCovered, fmt.Sprintf("the public half of %s, which stands for real images in what is measured and counts as public", name))
	}
	if registered(o.Weights) {
		d.NotCovered = append(d.NotCovered, fmt.Sprintf("that the code which %s gives an image depends on that image alone, as the model's author promises, but for the rounding of its place in a batch", model.Name))
	}
	return d, nil
}

// anywhere draws at most n of rows, in their order, the same ones always. The first ones
// would not do: files have an order, MNIST's that of its writers.
func anywhere(rows []int, n int) []int {
	drawn := make([]int, min(n, len(rows)))
	for i, k := range rand.New(rand.NewPCG(experiment.SplitSeed, 0x7075626c6963)).Perm(len(rows))[:len(drawn)] {
		drawn[i] = rows[k]
	}
	slices.Sort(drawn)
	return drawn
}

// labelsAt are the labels of some rows, nil if the rows have none.
func labelsAt(d *dataset.Dataset, rows []int) []int {
	if d.Labels == nil {
		return nil
	}
	labels := make([]int, len(rows))
	for i, row := range rows {
		labels[i] = d.Labels[row]
	}
	return labels
}

// Side is that of the square images that Decode makes, in pixels.
func (d *Data) Side() int { return d.model.Shape.Side }

// Decode returns the images of latents, [n·dim] to [n·Pixels].
func (d *Data) Decode(ctx context.Context, latents []float32) ([]float32, error) {
	return d.model.Decode(ctx, d.Backend, latents)
}

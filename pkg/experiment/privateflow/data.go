package privateflow

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"molehill/models"
	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Data is what a private flow works on.
type Data struct {
	Private    transport.Points // [n, dim], latents of the private half, on the unit sphere
	Public     transport.Points // latents of as many public images as there are held-out ones
	Test       transport.Points // latents of the held-out images
	HeldOut    []float32        // [sampleImages, Pixels], held-out images to compare with
	Classes    []string         // what labels name, nil if the rows have none
	Labels     Labels
	Pixels     int
	Origin     string   // where the records came from
	NotCovered []string // what the privacy of a release leaves out
	Backend    *backend.Backend

	model *network
	test  *dataset.Dataset // all held-out images, as they were loaded
}

// Labels are the classes of the rows of Data, numbers below len(Classes).
type Labels struct{ Private, Public, Test []int }

// Load encodes the private half and the held-out images of a data set with the
// autoencoder that was trained on its public half. say tells of long work.
// weights is a file of `molehill run autoencoder`, a registered model, or "" for the
// one that ships.
func Load(ctx context.Context, name, weights string, say func(run.Event)) (*Data, error) {
	model, err := openNetwork(name, weights)
	if err != nil {
		return nil, err
	}
	splits, err := dataset.Load(ctx, name, dataset.Options{Seed: experiment.SplitSeed})
	if err != nil {
		return nil, err
	}
	if err := splits.CheckImages(); err != nil {
		return nil, err
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
	d := &Data{Origin: splits.Train.Origin, Backend: b, model: model, Pixels: model.Shape.Dim(), Classes: splits.Train.Classes}
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
	train, public := splits.Train, partition.Public[:min(splits.Test.Len(), len(partition.Public))]
	d.test = splits.Test
	d.Labels = Labels{labelsAt(train, partition.Private), labelsAt(train, public), d.test.Labels}
	if d.Private, err = encode(train, partition.Private); err != nil {
		return nil, err
	}
	if d.Public, err = encode(train, public); err != nil {
		return nil, err
	}
	if d.Test, err = encode(d.test, nil); err != nil {
		return nil, err
	}
	// A latent is on the sphere already; this bounds the ones that are not
	// (soundness does not rest on what a network returns).
	d.Private.OnSphere()
	d.HeldOut = d.images(sampleImages).X
	d.NotCovered = []string{learned, fmt.Sprintf("the held-out images of %s, which measure the result and count as public", name)}
	return d, nil
}

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
	rows, err := experiment.Digest(ctx, name, dataset.Options{Seed: experiment.SplitSeed})
	if err == nil && rows != trained.Inputs {
		err = fmt.Errorf("the rows of %s are not known to be those whose public half trained its autoencoder: they have changed since, or it is of another folder of runs, or of a version that did not write them down; %s", name, again)
	}
	return fmt.Sprintf("the public half of %s, which trained the autoencoder and counts as public", name), err
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

// Decode returns the images of latents, [n·dim] to [n·Pixels].
func (d *Data) Decode(latents []float32) ([]float32, error) {
	return d.model.Decode(context.Background(), d.Backend, latents)
}

// distance is the sliced W₂ to the held-out latents over stacks orthonormal
// bases; the same seed measures along the same directions.
func (d *Data) distance(x transport.Points, stacks int, seed uint64) (sliced.Distance, error) {
	return sliced.SW2(x, d.Test, sliced.Orthonormal(x.Dim, stacks, rand.New(rand.NewPCG(seed, 0x736c6963))))
}

// told is how well the nearest neighbour tells x from the held-out latents.
func (d *Data) told(x transport.Points, seed uint64) (metric.Value, error) {
	return metric.NearestNeighbour{Sample: metric.DefaultNeighbours}.Measure(x, d.Test, rand.New(rand.NewPCG(seed, 0x312d6e6e)))
}

// floor is the distance from n real public latents to the held-out ones: what
// as many particles reach if they are as good as real. It is not 0, as samples
// differ, and those of MNIST's training and test images also in their writers.
func (d *Data) floor(n int, seed uint64) (sliced.Distance, error) {
	rng := rand.New(rand.NewPCG(seed, 0x666c6f6f))
	chosen := rng.Perm(d.Public.Len())[:min(n, d.Public.Len())]
	return d.distance(d.Public.Subset(chosen), metric.DefaultStacks, seed)
}

// Images returns the held-out images, as large as Decode makes them.
func (d *Data) Images() *dataset.Dataset { return d.images(d.test.Len()) }

// images returns the first of them.
func (d *Data) images(count int) *dataset.Dataset {
	images := *padded(fid.First(d.test, count), d.model.Shape.Side)
	images.Name, images.Origin, images.Classes = "held-out", d.Origin, d.Classes
	return &images
}

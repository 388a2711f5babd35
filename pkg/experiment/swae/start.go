package swae

import (
	"context"
	"fmt"
	"io"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// pretraining learns public images, before any private ones are looked at. Nothing is
// clipped and nothing gets noise, so that a step takes a fraction of a private one.
type pretraining struct {
	*training
	images          *dataset.Dataset
	trainer         *train.Trainer
	codes, gradient *train.Program
	follow          *train.Follow
}

// startImages are drawn of the data set that the network learns first.
const startImages = 20_000

// newPretraining reads the public images, and takes the first parameters of a training.
func newPretraining(ctx context.Context, t *training, say func(run.Event)) (*pretraining, error) {
	splits, err := images(ctx, t.config.Start, startImages, say)
	if err != nil {
		return nil, err
	}
	p := &pretraining{training: t, images: splits.Train}
	// Classes may mean other things, digits and then clothes: what matters is that codes
	// of different ones come apart.
	if found := len(p.images.Classes); t.classes > 0 && found != t.classes {
		return nil, fmt.Errorf("start is %s, which has %d classes, and %s has %d; with supervision both must have as many: leave out start and start_steps, or supervision and labels=0", t.config.Start, found, t.config.Dataset, t.classes)
	}
	if p.trainer, err = newTrainer(t); err != nil {
		return nil, err
	}
	if err := p.compile(t.config.model(t.classes)); err != nil {
		p.trainer.Close()
		return nil, err
	}
	return p, nil
}

// newTrainer has the parameters of a training.
func newTrainer(t *training) (*train.Trainer, error) {
	params, err := t.learner.Params()
	if err != nil {
		return nil, err
	}
	return train.NewWith(t.data.backend, t.config.model(t.classes).Network(), params, t.config.optimizer())
}

// compile builds the codes of images, and, of images, their targets and the derivatives
// of the distance by their codes, the gradient of (1−α)·ℓ + α·SW²₂ by the parameters,
// with the mean over pixels in ℓ: where nothing is clipped the sum would leave the
// distance no say.
func (p *pretraining) compile(m matching.Model) (err error) {
	split := len(m.Inner.Params())
	if p.codes, err = p.trainer.Inspect(func(weights, in []*graph.Node) []*graph.Node {
		return []*graph.Node{m.Inner.Apply(in[0], weights[:split])}
	}); err != nil {
		return err
	}
	if p.gradient, err = p.trainer.Inspect(func(weights, in []*graph.Node) []*graph.Node {
		codes := m.Inner.Apply(in[0], weights[:split])
		losses := m.Loss(m.Outer.Apply(codes, weights[split:]), in[1])
		sum := graph.MulScalar(graph.ReduceAllMean(losses), (1-p.config.Alpha)/pixels/p.config.scale())
		return []*graph.Node{p.trainer.Gradient(graph.Add(sum, graph.ReduceAllSum(graph.Mul(codes, in[2]))), weights)}
	}); err != nil {
		return err
	}
	p.follow, err = p.trainer.Follow()
	return err
}

// learn makes a step.
func (p *pretraining) learn(step int) error {
	rng := p.public.Stream("public images", step)
	at := make([]int, min(p.config.Batch, p.images.Len()))
	for i := range at {
		at[i] = rng.IntN(p.images.Len())
	}
	batch := p.batch(p.images, at, step)
	input := func() *tensors.Tensor { return tensors.FromFlatDataAndDimensions(batch.X, len(at), side, side, 1) }
	codes, err := values(p.codes, input())
	if err != nil {
		return err
	}
	dim := p.config.Latent
	_, pull, _, err := sliced.SWGradient(transport.Uniform(points(codes, dim)), transport.Uniform(points(batch.Pairs[0].Points, dim)), 2, batch.Directions)
	if err != nil {
		return err
	}
	for i := range pull {
		pull[i] *= float32(p.config.Alpha)
	}
	target := tensors.FromFlatDataAndDimensions(batch.Target, append([]int{len(at)}, p.config.model(p.classes).Target...)...)
	gradient, err := values(p.gradient, input(), target, tensors.FromFlatDataAndDimensions(pull, len(at), dim))
	if err != nil {
		return err
	}
	return p.follow.Run(p.config.LearningRate, gradient)
}

// values runs a program of one output.
func values(p *train.Program, inputs ...*tensors.Tensor) ([]float32, error) {
	_, out, err := p.Run(0, inputs...)
	if err != nil {
		return nil, err
	}
	defer out[0].MustFinalizeAll()
	return tensors.CopyFlatData[float32](out[0])
}

// save writes what the steps have come to, and restore goes on from there.
func (p *pretraining) save(to io.Writer, steps int) error { return p.trainer.Save(to, steps) }

func (p *pretraining) restore(from io.Reader, steps int) error {
	var done int
	return p.trainer.Restore(from, &done, func() error { return expect(done, steps) })
}

// handOver gives a training what was learned. Its optimiser starts anew: what it would
// remember of gradients without noise would make the first steps with noise far too
// long.
func (p *pretraining) handOver(t *training) error {
	params, err := p.trainer.Params()
	if err != nil {
		return err
	}
	return t.set(params)
}

// set replaces a training's parameters, and the optimiser.
func (t *training) set(params layer.Params) error {
	fresh, err := matching.New(t.data.backend, t.config.model(t.classes), params, t.config.optimizer())
	if err != nil {
		return err
	}
	t.learner.Close()
	t.learner = fresh
	return nil
}

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

// beginner learns public images, before any private ones are looked at. Nothing is
// clipped and nothing gets noise, so that a step takes a fraction of a private one.
type beginner struct {
	*training
	images          *dataset.Dataset
	trainer         *train.Trainer
	codes, gradient *train.Program
	follow          *train.Follow
}

// startImages are drawn of the data set that the network learns first.
const startImages = 20_000

// newBeginner reads the public images, and takes the first parameters of a training.
func newBeginner(ctx context.Context, t *training, say func(run.Event)) (*beginner, error) {
	splits, err := images(ctx, t.config.Start, startImages, say)
	if err != nil {
		return nil, err
	}
	b := &beginner{training: t, images: splits.Train}
	// Classes may mean other things, digits and then clothes: what matters is that codes
	// of different ones come apart.
	if found := len(b.images.Classes); t.classes > 0 && found != t.classes {
		return nil, fmt.Errorf("start is %s, which has %d classes, and %s has %d; with supervision both must have as many: leave out start and start_steps, or supervision and labels=0", t.config.Start, found, t.config.Dataset, t.classes)
	}
	if b.trainer, err = newTrainer(t); err != nil {
		return nil, err
	}
	if err := b.compile(t.config.model(t.classes)); err != nil {
		b.trainer.Close()
		return nil, err
	}
	return b, nil
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
func (b *beginner) compile(m matching.Model) (err error) {
	split := len(m.Inner.Params())
	if b.codes, err = b.trainer.Inspect(func(weights, in []*graph.Node) []*graph.Node {
		return []*graph.Node{m.Inner.Apply(in[0], weights[:split])}
	}); err != nil {
		return err
	}
	if b.gradient, err = b.trainer.Inspect(func(weights, in []*graph.Node) []*graph.Node {
		codes := m.Inner.Apply(in[0], weights[:split])
		losses := m.Loss(m.Outer.Apply(codes, weights[split:]), in[1])
		sum := graph.MulScalar(graph.ReduceAllMean(losses), (1-b.config.Alpha)/pixels/b.config.scale())
		return []*graph.Node{b.trainer.Gradient(graph.Add(sum, graph.ReduceAllSum(graph.Mul(codes, in[2]))), weights)}
	}); err != nil {
		return err
	}
	b.follow, err = b.trainer.Follow()
	return err
}

// learn makes a step.
func (b *beginner) learn(step int) error {
	rng := b.public.Stream("public images", step)
	at := make([]int, min(b.config.Batch, b.images.Len()))
	for i := range at {
		at[i] = rng.IntN(b.images.Len())
	}
	batch := b.batch(b.images, at, step)
	input := func() *tensors.Tensor { return tensors.FromFlatDataAndDimensions(batch.X, len(at), side, side, 1) }
	codes, err := values(b.codes, input())
	if err != nil {
		return err
	}
	dim := b.config.Latent
	_, pull, _, err := sliced.SWGradient(transport.Uniform(points(codes, dim)), transport.Uniform(points(batch.Pairs[0].Points, dim)), 2, batch.Directions)
	if err != nil {
		return err
	}
	for i := range pull {
		pull[i] *= float32(b.config.Alpha)
	}
	target := tensors.FromFlatDataAndDimensions(batch.Target, append([]int{len(at)}, b.config.model(b.classes).Target...)...)
	gradient, err := values(b.gradient, input(), target, tensors.FromFlatDataAndDimensions(pull, len(at), dim))
	if err != nil {
		return err
	}
	return b.follow.Run(b.config.LearningRate, gradient)
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
func (b *beginner) save(to io.Writer, steps int) error { return b.trainer.Save(to, steps) }

func (b *beginner) restore(from io.Reader, steps int) error {
	var done int
	return b.trainer.Restore(from, &done, func() error { return expect(done, steps) })
}

// hand gives a training what was learned. Its optimiser starts anew: what it would
// remember of gradients without noise would make the first steps with noise far too
// long.
func (b *beginner) hand(t *training) error {
	params, err := b.trainer.Params()
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

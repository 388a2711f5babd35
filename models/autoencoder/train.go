package autoencoder

import (
	"embed"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/train"
	"molehill/pkg/plugin"
)

// TrainConfig, the images and the autoencoder's initial weights determine a
// training.
type TrainConfig struct {
	Epochs       int     `json:"epochs"`        // passes over the images
	Batch        int     `json:"batch"`         // images per step; what is left of an epoch is skipped
	LearningRate float64 `json:"learning_rate"` // of Adam
	// Decay is the share of the steps, the last ones, over which the learning
	// rate falls to 0 along half a cosine; 0 keeps it constant.
	Decay float64 `json:"decay"`
	Seed  uint64  `json:"seed"` // of the order of images
}

// DefaultTrainConfig has the settings of the papers' public code (batch 250,
// Adam at 0.001), and a decay at the end, which they have not.
var DefaultTrainConfig = TrainConfig{Epochs: 20, Batch: 250, LearningRate: 1e-3, Decay: 0.5, Seed: 1}

func (c TrainConfig) check(images int) error {
	switch {
	case c.Epochs < 1:
		return fmt.Errorf("autoencoder: training for %d epochs; take at least 1", c.Epochs)
	case c.Batch < 1:
		return fmt.Errorf("autoencoder: training with batches of %d images; take at least 1", c.Batch)
	case images < c.Batch:
		return fmt.Errorf("autoencoder: training on %d images with batches of %d; take smaller batches or more images", images, c.Batch)
	case !(c.LearningRate > 0) || math.IsInf(c.LearningRate, 0):
		return fmt.Errorf("autoencoder: learning rate %v; take a positive number, such as 0.001", c.LearningRate)
	case !(c.Decay >= 0 && c.Decay <= 1):
		return fmt.Errorf("autoencoder: decay over a share %v of the steps; take a number from 0 to 1", c.Decay)
	}
	return nil
}

// rate is the learning rate of a step, counted from 0, of total.
func (c TrainConfig) rate(step, total int) float64 {
	start := (1 - c.Decay) * float64(total)
	if float64(step) <= start {
		return c.LearningRate
	}
	done := (float64(step) - start) / (float64(total) - start)
	return c.LearningRate * (1 + math.Cos(math.Pi*done)) / 2
}

// Step reports one step of a training.
type Step struct {
	Step  int     `json:"step"`  // counted from 1
	Total int     `json:"total"` // steps of the whole training
	Loss  float64 `json:"loss"`  // mean squared error of the batch, before the step
}

// Training is a training in progress: weights and Adam's moments live on the
// backend, and one compiled graph makes a step. Save and Restore carry it over
// the end of a process; it then continues as if nothing had happened.
type Training struct {
	target *Autoencoder
	config TrainConfig
	on     *backend.Backend

	images []float32
	n      int
	order  []int // of the epoch of the next step
	epoch  int   // that order belongs to

	step  int // steps made
	total int
	loss  float64 // of the last step

	trainer *train.Trainer
	program *train.Program
}

// NewTraining prepares to train a, from the weights it has, on images
// [n, Side·Side·Channels], which must be public. The caller must not change images
// until Close. a keeps the weights it has until Commit.
func NewTraining(a *Autoencoder, b *backend.Backend, images []float32, c TrainConfig) (*Training, error) {
	n, err := a.Config.countImages(images)
	if err != nil {
		return nil, err
	}
	if err := c.check(n); err != nil {
		return nil, err
	}
	t := &Training{target: a, config: c, on: b, images: images, n: n, epoch: -1, total: c.Epochs * (n / c.Batch)}
	if t.trainer, err = train.New(b, a.Config.network(), a.params); err != nil {
		return nil, fmt.Errorf("autoencoder: %w", err)
	}
	// Reconstruct and compare.
	t.program, err = t.trainer.Program(func(network train.Apply, inputs []*graph.Node) ([]*graph.Node, *graph.Node) {
		images := inputs[0]
		difference := graph.Sub(network(images), images)
		// By image first: the Go backend adds up one by one, and float32
		// loses the fourth digit over a whole batch of pixels.
		return nil, graph.ReduceAllMean(graph.ReduceMean(graph.Square(difference), 1, 2, 3))
	})
	if err != nil {
		t.trainer.Close()
		return nil, fmt.Errorf("autoencoder: %w", err)
	}
	return t, nil
}

// Total is how many steps there are to make, in all.
func (t *Training) Total() int { return t.total }

// Done says whether all steps are made.
func (t *Training) Done() bool { return t.step >= t.total }

// Close releases what the training holds on the backend.
func (t *Training) Close() {
	t.trainer.Close()
}

// Step makes one step.
func (t *Training) Step() (Step, error) {
	if t.Done() {
		return Step{}, fmt.Errorf("autoencoder: all %d steps of the training are made", t.total)
	}
	c := t.target.Config
	images := tensors.FromFlatDataAndDimensions(t.batch(t.step), append([]int{t.config.Batch}, c.frame()...)...)
	loss, _, err := t.program.Run(t.config.rate(t.step, t.total), images)
	if err != nil {
		return Step{}, fmt.Errorf("autoencoder: training: %w", err)
	}
	t.loss = loss
	t.step++
	return Step{Step: t.step, Total: t.total, Loss: t.loss}, train.Finite("autoencoder: the loss", t.loss)
}

// batch gathers the images of a step. Each epoch passes over all of them in an
// order drawn from the seed and the epoch's number alone.
func (t *Training) batch(step int) []float32 {
	perEpoch := t.n / t.config.Batch
	if epoch := step / perEpoch; epoch != t.epoch {
		t.epoch = epoch
		t.order = rand.New(rand.NewPCG(t.config.Seed, uint64(epoch))).Perm(t.n)
	}
	dim := t.target.Config.Dim()
	first := step % perEpoch * t.config.Batch
	values := make([]float32, 0, t.config.Batch*dim)
	for _, i := range t.order[first : first+t.config.Batch] {
		for _, v := range t.images[i*dim : (i+1)*dim] {
			values = append(values, pixel(v))
		}
	}
	return values
}

// Commit gives the autoencoder the weights reached so far and writes into its
// Meta how they came about.
func (t *Training) Commit() error {
	params, err := t.trainer.Params()
	if err != nil {
		return fmt.Errorf("autoencoder: %w", err)
	}
	t.target.setParams(params)
	meta := &t.target.Meta
	meta.Training, meta.Images, meta.Steps, meta.Loss = t.config, t.n, t.step, t.loss
	meta.Backend, meta.Versions = t.on.String(), versions()
	return nil
}

//go:embed train.go
var words embed.FS

// Meanings are those of the settings of a TrainConfig.
func Meanings() map[string]string { return plugin.Meanings(words) }

package utility

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/metric"
)

// Training is how a network learns: Adam on the mean cross-entropy of batches,
// until the accuracy on rows held out has not risen for Patience epochs in a row.
// The parameters are then those of the best epoch, the first of equal ones.
type Training struct {
	Rate     float64 // of Adam, positive
	Batch    int     // rows per step; what is left of an epoch is skipped
	Holdout  float64 // share of the rows that is held out, between 0 and 1; one row at least
	Patience int     // epochs, at least 1
	Epochs   int     // limit, at least 1

	// Backend is where it runs, nil for the one of this process (backend.Open).
	Backend *backend.Backend
}

// DefaultTraining is Cao et al.'s (D.2): 10 % held out, a patience of 30 epochs
// and Adam as in PyTorch. They tell neither batch size nor a limit of epochs,
// which are ours.
var DefaultTraining = Training{Rate: 1e-3, Batch: 100, Holdout: 0.1, Patience: 30, Epochs: 1000}

// check says what is wrong with the settings, for n rows.
func (t Training) check(n int) error {
	switch {
	case !(t.Rate > 0) || math.IsInf(t.Rate, 0):
		return fmt.Errorf("utility: learning rate %v; take a positive number, such as 0.001", t.Rate)
	case !(t.Holdout > 0 && t.Holdout < 1):
		return fmt.Errorf("utility: a share %v of the rows held out; take a number between 0 and 1, such as 0.1", t.Holdout)
	case t.Batch < 1 || t.Patience < 1 || t.Epochs < 1:
		return fmt.Errorf("utility: batches of %d rows, a patience of %d and a limit of %d epochs; take at least 1 of each", t.Batch, t.Patience, t.Epochs)
	case n < 2:
		return fmt.Errorf("utility: %d row to train a network on; it needs 2, one of them to hold out", n)
	}
	return nil
}

// fitting is a network in training.
type fitting struct {
	settings Training
	train    *dataset.Dataset
	seed     uint64

	learned, held []int // rows
	batch         int
	trainer       *train.Trainer
	step          *train.Program
	scorer        scorer
}

// fit trains a network on the rows.
func fit(ctx context.Context, t Training, l layer.Layer, rows *dataset.Dataset, seed uint64, say func(Progress)) (m *NetworkModel, err error) {
	defer finish(&err)
	if err := t.check(rows.Len()); err != nil {
		return nil, err
	}
	if t.Backend == nil {
		if t.Backend, err = backend.Open(); err != nil {
			return nil, fmt.Errorf("utility: %w", err)
		}
	}
	f := &fitting{settings: t, train: rows, seed: seed}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(rows.Len())
	held := min(max(1, int(math.Round(t.Holdout*float64(len(order))))), len(order)-1)
	f.held, f.learned = order[:held], order[held:]
	f.batch = min(t.Batch, len(f.learned))
	if f.trainer, err = train.New(t.Backend, l, layer.Init(l, seed)); err != nil {
		return nil, fmt.Errorf("utility: %w", err)
	}
	defer f.trainer.Close()
	if f.step, err = f.trainer.Program(crossEntropy); err != nil {
		return nil, fmt.Errorf("utility: %w", err)
	}
	if f.scorer, err = newScorer(f.trainer, len(rows.Classes)); err != nil {
		return nil, err
	}
	m = &NetworkModel{network: l, on: t.Backend, classes: len(rows.Classes), height: rows.Height, width: rows.Width, channels: rows.Channels}
	return m, f.run(ctx, m, say)
}

// crossEntropy is the mean of −log p(y | x) over inputs x [n, dim] and labels
// [n, classes], one-hot.
func crossEntropy(network train.Apply, in []*graph.Node) ([]*graph.Node, *graph.Node) {
	logits := network(in[0])
	logits = graph.Sub(logits, graph.StopGradient(graph.ReduceAndKeep(logits, graph.ReduceMax, 1)))
	logSum := graph.Log(graph.ReduceSum(graph.Exp(logits), 1))
	return nil, graph.ReduceAllMean(graph.Sub(logSum, graph.ReduceSum(graph.Mul(logits, in[1]), 1)))
}

// run makes the epochs and leaves the best one's parameters in m.
func (f *fitting) run(ctx context.Context, m *NetworkModel, say func(Progress)) error {
	held := f.train.Subset(f.held)
	m.Holdout = -1
	for epoch := 1; epoch <= f.settings.Epochs && epoch-m.Epoch <= f.settings.Patience; epoch++ {
		loss, err := f.epoch(ctx, epoch)
		if err != nil {
			return err
		}
		labels, err := f.scorer.labels(ctx, held.X, held.Dim())
		if err != nil {
			return err
		}
		accuracy := metric.Agreement(labels, held.Labels).Value
		if accuracy > m.Holdout {
			m.Holdout, m.Epoch = accuracy, epoch
			if m.params, err = f.trainer.Params(); err != nil {
				return fmt.Errorf("utility: %w", err)
			}
		}
		m.Epochs = epoch
		if say != nil {
			say(Progress{Step: epoch, Limit: f.settings.Epochs, Loss: loss, Holdout: accuracy, BestHoldout: m.Holdout})
		}
	}
	return nil
}

// epoch passes over the rows in an order drawn from the seed and the epoch's
// number, and returns the mean loss.
func (f *fitting) epoch(ctx context.Context, epoch int) (float64, error) {
	order := rand.New(rand.NewPCG(f.seed, uint64(epoch))).Perm(len(f.learned))
	total, steps := 0.0, len(order)/f.batch
	dim, classes := f.train.Dim(), len(f.train.Classes)
	for s := range steps {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		x, labels := make([]float32, 0, f.batch*dim), make([]float32, f.batch*classes)
		for i, at := range order[s*f.batch : (s+1)*f.batch] {
			row := f.learned[at]
			x = append(x, f.train.Row(row)...)
			labels[i*classes+f.train.Labels[row]] = 1
		}
		loss, _, err := f.step.Run(f.settings.Rate,
			tensors.FromFlatDataAndDimensions(x, f.batch, dim), tensors.FromFlatDataAndDimensions(labels, f.batch, classes))
		if err != nil {
			return 0, fmt.Errorf("utility: epoch %d: %w", epoch, err)
		}
		if !finite(loss) {
			return 0, fmt.Errorf("utility: the loss is %v in epoch %d; scale the rows to [0, 1] or take a smaller learning rate than %v", loss, epoch, f.settings.Rate)
		}
		total += loss
	}
	return total / float64(steps), nil
}

// NetworkModel is a network that has learned.
type NetworkModel struct {
	Holdout float64 // accuracy on the rows held out, the best of all epochs
	Epoch   int     // that had it, counted from 1
	Epochs  int     // made

	network                 layer.Layer
	params                  layer.Params
	on                      *backend.Backend
	classes                 int
	height, width, channels int
}

// Classes implements Model.
func (m *NetworkModel) Classes() int { return m.classes }

// Predict implements Model: the label of the largest output, the first of equal
// ones.
func (m *NetworkModel) Predict(x *dataset.Dataset) (labels []int, err error) {
	defer finish(&err)
	if err := checkRows(x, m.height*m.width*m.channels); err != nil {
		return nil, err
	}
	if x.Height != m.height || x.Width != m.width || x.Channels != m.channels {
		return nil, fmt.Errorf("utility: rows of %d×%d×%d values for a network of %d×%d×%d; bring them to the layout that it was trained on",
			x.Height, x.Width, x.Channels, m.height, m.width, m.channels)
	}
	trainer, err := train.New(m.on, m.network, m.params)
	if err != nil {
		return nil, fmt.Errorf("utility: %w", err)
	}
	defer trainer.Close()
	s, err := newScorer(trainer, m.classes)
	if err != nil {
		return nil, err
	}
	return s.labels(context.Background(), x.X, x.Dim())
}

// scorer labels rows by a network as it is.
type scorer struct {
	program *train.Program
	classes int
}

func newScorer(t *train.Trainer, classes int) (scorer, error) {
	program, err := t.Inference()
	if err != nil {
		return scorer{}, fmt.Errorf("utility: %w", err)
	}
	return scorer{program, classes}, nil
}

// together is how many rows are labelled at a time. The last ones are filled up
// with zeros, as each number of rows is compiled for itself.
const together = 500

func (s scorer) labels(ctx context.Context, x []float32, dim int) ([]int, error) {
	n := len(x) / dim
	size := min(n, together)
	labels := make([]int, 0, n)
	for from := 0; from < n; from += size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		block := make([]float32, size*dim)
		copy(block, x[from*dim:])
		_, out, err := s.program.Run(0, tensors.FromFlatDataAndDimensions(block, size, dim))
		if err != nil {
			return nil, fmt.Errorf("utility: %w", err)
		}
		scores, err := tensors.CopyFlatData[float32](out[0])
		out[0].MustFinalizeAll()
		if err != nil {
			return nil, fmt.Errorf("utility: %w", err)
		}
		for i := range min(size, n-from) {
			best, row := 0, scores[i*s.classes:(i+1)*s.classes]
			for k, v := range row {
				if v > row[best] {
					best = k
				}
			}
			labels = append(labels, best)
		}
	}
	return labels, nil
}

package swae

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/privacy"
)

// labeller says which class a code is of. 004 (B, Table 1) asks the neighbours among
// the private codes, which tells of records at no charge (see neighbours in
// evaluate.go). This one is a small network that learns codes and labels of records
// by more steps of the same plan: batches of the same size, gradients clipped to the
// same sensitivity, the same noise.
type labeller struct {
	learner *matching.Learner
	classes int
	limit   float64 // C of its gradients
}

// hidden units of the network, and the rate at which it learns.
const (
	hidden    = 64
	labelRate = 1e-2
)

// newLabeller returns an untrained one for codes of a training, whose gradients have
// the sensitivity s.
func newLabeller(t *training, s privacy.Sensitivity) (*labeller, error) {
	dim, classes := t.config.Latent, len(t.data.private.Classes)
	m := matching.Model{
		Input: []int{dim}, Outputs: classes, Target: []int{classes},
		Inner: layer.Sequence{layer.Dense{Name: "labels.dense1", In: dim, Out: hidden}, layer.ReLU, layer.Dense{Name: "labels.dense2", In: hidden, Out: classes}},
		Loss: func(output, target *Node) *Node {
			return Neg(ReduceSum(Mul(target, LogSoftmax(output, -1)), 1))
		},
	}
	unit, err := matching.Clipping{Output: 1, Jacobian: 1, Loss: 1}.Sensitivity(matching.Query{Records: t.config.Batch})
	if err != nil {
		return nil, err
	}
	learner, err := matching.New(t.data.backend, m, layer.Init(m.Network(), t.public.Stream("labels", 0).Uint64()), t.config.optimizer())
	return &labeller{learner, classes, s.Value / unit.Value * (1 - 1e-12)}, err
}

// learn makes all steps, the plan's last.
func (l *labeller) learn(t *training, release *privacy.Releaser, s privacy.Sensitivity, say func(done int) error) error {
	clipping := matching.Clipping{Output: 1, Jacobian: 1, Loss: l.limit}
	for k := range t.config.Labels {
		step := t.config.Steps + k
		at, err := release.Draw(step)
		if err != nil {
			return err
		}
		codes, err := t.learner.Inner(rows(t.data.private, at))
		if err != nil {
			return err
		}
		g, err := l.learner.Gradient(matching.Batch{X: codes, Target: l.targets(t.data.private, at)}, clipping)
		if err != nil {
			return err
		}
		rate := labelRate * (1 - float64(k)/float64(t.config.Labels))
		if err := follow(l.learner, g.Values, release, s, step, rate); err != nil {
			return fmt.Errorf("labels, step %d: %w", k+1, err)
		}
		if err := say(k + 1); err != nil {
			return err
		}
	}
	return nil
}

// targets are the labels of some images, a one among zeros each.
func (l *labeller) targets(d *dataset.Dataset, at []int) []float32 {
	y := make([]float32, len(at)*l.classes)
	for k, i := range at {
		y[k*l.classes+d.Labels[i]] = 1
	}
	return y
}

// label returns the class of each code, the first of equally probable ones.
func (l *labeller) label(codes []float32) ([]int, error) {
	scores, err := l.learner.Inner(codes)
	if err != nil {
		return nil, err
	}
	labels := make([]int, len(scores)/l.classes)
	for i := range labels {
		row := scores[i*l.classes : (i+1)*l.classes]
		for k, v := range row {
			if v > row[labels[i]] {
				labels[i] = k
			}
		}
	}
	return labels, nil
}

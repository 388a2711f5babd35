package swae

import (
	"fmt"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/privacy"
)

// classify names the class of each code, [n, latent].
type classify func(codes []float32) ([]int, error)

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

// labelRate is the rate at which it learns at first.
const labelRate = 1e-2

// newLabeller returns an untrained one for codes of a training, whose gradients have
// the sensitivity s.
func newLabeller(t *training, s privacy.Sensitivity) (*labeller, error) {
	dim, classes := t.config.Latent, len(t.data.private.Classes)
	m := matching.Model{Input: []int{dim}, Outputs: classes, Target: []int{classes}, Inner: Classifier(dim, classes), Loss: classEntropy}
	limit, err := t.config.labelLimit(s)
	if err != nil {
		return nil, err
	}
	learner, err := matching.New(t.data.backend, m, layer.Init(m.Network(), t.public.Stream("labels", 0).Uint64()), t.config.optimizer())
	if err != nil {
		return nil, err
	}
	return &labeller{learner, classes, limit}, nil
}

// labelLimit is what gradients of labels are clipped to so that they have the sensitivity s.
func (c *Config) labelLimit(s privacy.Sensitivity) (float64, error) {
	unit, err := labelClipping(1).Sensitivity(matching.Query{Records: c.Batch})
	return s.Value / unit.Value * (1 - 1e-12), err
}

func labelClipping(limit float64) matching.Clipping {
	return matching.Clipping{Output: 1, Jacobian: 1, Loss: limit}
}

// learn makes all steps, the plan's last.
func (l *labeller) learn(t *training, release *privacy.Releaser, say func(done int) error) error {
	clipping := labelClipping(l.limit)
	for k := range t.config.Labels {
		step := t.config.Steps + k
		at, codes, err := t.drawCodes(release, step)
		if err != nil {
			return err
		}
		g, err := l.learner.Gradient(matching.Batch{X: codes, Target: targets(t.data.private, at, 0, l.classes)}, clipping)
		if err != nil {
			return err
		}
		rate := labelRate * (1 - float64(k)/float64(t.config.Labels))
		if err := follow(l.learner, g, release, step, rate); err != nil {
			return fmt.Errorf("labels, step %d: %w", k+1, err)
		}
		if err := say(k + 1); err != nil {
			return err
		}
	}
	return nil
}

// drawCodes returns the records that a step draws, and their codes.
func (t *training) drawCodes(release *privacy.Releaser, step int) (at []int, codes []float32, err error) {
	if at, err = release.Draw(step); err == nil {
		codes, err = t.learner.Inner(rows(t.data.private, at))
	}
	return at, codes, err
}

// label is a classify within the budget: with supervision the network's own, and
// otherwise the labeller's.
func (t *training) label(codes []float32) ([]int, error) {
	if t.labels == nil {
		_, scores, err := t.decode(codes)
		return likeliest(scores, t.classes), err
	}
	scores, err := t.labels.learner.Inner(codes)
	return likeliest(scores, t.labels.classes), err
}

// likeliest is the class of each row of scores, the first of equal ones.
func likeliest(scores []float32, classes int) []int {
	labels := make([]int, len(scores)/classes)
	for i := range labels {
		row := scores[i*classes : (i+1)*classes]
		for k, v := range row {
			if v > row[labels[i]] {
				labels[i] = k
			}
		}
	}
	return labels
}

// targets are the first width pixels of some images, each followed by a one among zeros
// for its label.
func targets(d *dataset.Dataset, at []int, width, classes int) []float32 {
	y := make([]float32, 0, len(at)*(width+classes))
	for _, i := range at {
		y = append(y, d.Row(i)[:width]...)
		if classes > 0 {
			one := make([]float32, classes)
			one[d.Labels[i]] = 1
			y = append(y, one...)
		}
	}
	return y
}

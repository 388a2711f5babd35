package fair

import (
	"math"
	"slices"

	"molehill/models/matching"
	"molehill/models/train"
	"molehill/privacy"
	"molehill/privacy/clip"
)

// duel is a logistic regression against a penalty on its way: gradient descent by its
// weights and ascent by dual variables, both along one noisy sum of clipped gradients.
type duel struct {
	config  *SaddleConfig
	penalty penalty
	records *Records
	weights []float64 // of features, and the bias at the end
	dual    []float64
	norms   []float64 // √(‖x‖²+1) of each record
	slack   []float64 // ∂ψ/∂u of a record
}

func newDuel(c *SaddleConfig, r *Records) *duel {
	share := [2]float64{}
	for _, a := range r.Group { // their numbers are public
		share[a] += 1 / float64(r.Len())
	}
	d := &duel{config: c, records: r, penalty: c.kind.penalty(share), weights: make([]float64, r.Dim+1), norms: make([]float64, r.Len())}
	d.dual = d.penalty.start()
	d.slack = make([]float64, len(d.dual))
	for i := range d.norms {
		d.norms[i] = math.Hypot(clip.Norm(d.row(i)), 1)
	}
	return d
}

func (d *duel) row(i int) []float32 { return d.records.X[i*d.records.Dim : (i+1)*d.records.Dim] }

// score is the probability that is predicted for a record.
func (d *duel) score(x []float32) float64 {
	z := d.weights[len(x)]
	for j, v := range x {
		z += d.weights[j] * float64(v)
	}
	return 1 / (1 + math.Exp(-z))
}

// gradient returns the mean over rows of the clipped gradients of
//
//	(1−α)·ℓ + α·ψ by weights, and κ·ψ by dual variables
//
// side by side, [weights + duals]: each record's has norm C at most. A record that is
// not finite counts as one without a gradient.
func (d *duel) gradient(rows []int) []float64 {
	sum := make([]float64, len(d.weights)+len(d.dual))
	for block := range slices.Chunk(rows, clip.Block) {
		for k, v := range d.part(block, len(rows)) {
			sum[k] += v
		}
	}
	return sum
}

// part is what some of so many rows add to their gradient.
func (d *duel) part(block []int, rows int) []float64 {
	c := d.config
	sum := make([]float64, len(d.weights)+len(d.dual))
	own, dual := sum[:len(d.weights)], sum[len(d.weights):]
	for _, i := range block {
		x := d.row(i)
		p := d.score(x)
		slope := d.penalty.slopes(d.dual, p, d.records.Group[i], d.slack)
		// By the argument of the sigmoid.
		pull := (1-c.Alpha)*(p-float64(d.records.Label[i])) + c.Alpha*p*(1-p)*slope
		factor := clip.Factor(math.Hypot(pull*d.norms[i], c.DualShare*clip.Norm(d.slack)), c.LossLimit) / float64(rows)
		if factor == 0 { // 0·NaN is not 0
			continue
		}
		for j, v := range x {
			own[j] += factor * pull * float64(v)
		}
		own[len(x)] += factor * pull
		for k, v := range d.slack {
			dual[k] += factor * c.DualShare * v
		}
	}
	return sum
}

// sensitivity is that of gradient when one of so many records is replaced by another of
// its group: 2C/n.
func (c *SaddleConfig) sensitivity(records int) (privacy.Sensitivity, error) {
	s, err := c.byLossAlone().clipping().Sensitivity(matching.Query{Records: records})
	s.Relation, s.Query = privacy.KEnd, "clipped gradient of a loss and a penalty, by weights and by dual variables"
	return s, err
}

// step follows a gradient that has been released.
func (d *duel) step(released []float64) error {
	for j := range d.weights {
		d.weights[j] -= d.config.LearningRate * released[j]
	}
	for k := range d.dual {
		d.dual[k] += d.config.DualRate / d.config.DualShare * released[len(d.weights)+k]
	}
	d.penalty.project(d.dual)
	return train.Finite("a weight", d.weights...)
}

// predict returns the scores of records, [n].
func (d *duel) predict(r *Records) []float32 {
	scores := make([]float32, r.Len())
	for i := range scores {
		scores[i] = float32(d.score(r.X[i*r.Dim : (i+1)*r.Dim]))
	}
	return scores
}

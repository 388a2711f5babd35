package swae

import (
	"fmt"

	"molehill/models/matching"
	"molehill/privacy"
	"molehill/privacy/sampling"
	"molehill/transport/sliced"
)

// query is what a step asks of its records, with the sensitivity proved for whole
// bases of directions, or with 004's.
func (c *Config) query(published bool) matching.Query {
	q := matching.Query{Records: c.Batch, Pairs: []sliced.Sizes{{A: c.Batch, B: c.Batch, Public: true}}, Alpha: c.Alpha, AsPublished: published}
	if !published {
		q.Frame = sliced.OrthonormalFrame(c.Latent)
	}
	return q
}

// sensitivity is that of every release.
func (c *Config) sensitivity() (privacy.Sensitivity, error) {
	s, err := c.clipping().Sensitivity(c.query(false))
	s.Query += fmt.Sprintf(" (%d releases)", c.Steps)
	if c.Labels > 0 {
		s.Query += fmt.Sprintf(", and of the loss of a classifier of codes (%d releases), clipped to the same", c.Labels)
	}
	if c.Law > 0 {
		s.Query += fmt.Sprintf(", and of means of harmonics of codes (%d releases), scaled to the same", c.Law)
	}
	return s, err
}

// plan is the promise of a training: gradients of so many coordinates, the
// autoencoder's and then, without supervision, the classifier's, and then,
// with a law, means of harmonics, each of a batch drawn without replacement;
// and what 004 would claim for the same noise.
func (c *Config) plan(records, coordinates int) (privacy.Plan, []privacy.Claim, error) {
	if c.Batch > records {
		return privacy.Plan{}, nil, fmt.Errorf("batch is %d of %d private records; draw at most all of them", c.Batch, records)
	}
	sensitivity, err := c.sensitivity()
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	plan := privacy.Plan{Sensitivity: sensitivity, Sampler: sampling.FixedSize{Size: c.Batch}, Records: records,
		Steps: c.Steps + c.Labels + c.Law, Budget: c.budget(), Coordinates: coordinates}
	if !plan.Budget.Private() {
		return plan, nil, nil
	}
	theirs, err := c.clipping().Sensitivity(c.query(true))
	if err != nil {
		return plan, nil, err
	}
	// It accounts for the steps of the autoencoder alone.
	if c.Published {
		plan.NoiseStd, err = matching.Published{Plan: plan, Steps: c.Steps, Sensitivity: theirs}.NoiseStd()
	} else {
		plan, err = privacy.Calibrate(plan)
	}
	if err != nil {
		return plan, nil, err
	}
	labels := "labels, by neighbours among private codes, are not counted there"
	if c.Supervision > 0 {
		labels = "their loss has classes in it, which 004's has not"
	}
	claim, err := matching.Published{Plan: plan, Steps: c.Steps, Sensitivity: theirs}.Claim(
		fmt.Sprintf(", (1−α)·2C/n′ + α·12ML/n′, and the autoencoder's %d steps: %s", c.Steps, labels))
	return plan, []privacy.Claim{claim}, err
}

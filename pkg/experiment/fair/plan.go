package fair

import (
	"fmt"

	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/sampling"
	"molehill/transport/sliced"
)

// promise is what a training says of its steps before it makes the first.
type promise struct {
	privacy.Plan
	claims     []privacy.Claim // of 004, for the same noise
	notCovered []string
	groups     []group
	taken      []int // records of each group in a batch
}

// promise plans trainings of so many parameters.
func (c *Config) promise(r *Records, parameters, outputs int) (p promise, err error) {
	p.groups = groups(c.Criterion)
	category, sizes, err := r.categories(p.groups)
	if err != nil {
		return p, err
	}
	if p.taken, err = c.take(p.groups, sizes); err != nil {
		return p, err
	}
	sampler, err := sampling.NewStratified(category, p.taken)
	if err != nil {
		return p, err
	}
	query := c.query(p.taken, outputs)
	s, err := c.clipping().Sensitivity(query)
	if err != nil {
		return p, err
	}
	p.Plan = privacy.Plan{Sensitivity: s, Sampler: sampler, Records: r.Len(), Steps: c.Steps, Budget: c.budget(), Coordinates: parameters}
	if p.notCovered, err = c.notCovered(p.groups, sizes); err != nil || !p.Budget.Private() {
		return p, err
	}
	query.AsPublished = true
	published, err := c.clipping().Sensitivity(query)
	if err != nil {
		return p, err
	}
	if c.Published {
		p.NoiseStd, err = matching.Published{Plan: p.Plan, Steps: c.Steps, Sensitivity: published}.NoiseStd()
	} else {
		p.Plan, err = privacy.Calibrate(p.Plan)
	}
	if err != nil {
		return p, err
	}
	claim, err := matching.Published{Plan: p.Plan, Steps: c.Steps, Sensitivity: published}.Claim(" of Corollary C.1")
	p.claims = []privacy.Claim{claim}
	return p, err
}

// take is how many records of each group a batch has.
func (c *Config) take(of []group, sizes []int) ([]int, error) {
	taken := make([]int, len(sizes))
	for k, size := range sizes {
		if taken[k] = int(c.Share * float64(size)); taken[k] < 1 {
			return nil, fmt.Errorf("fair: the group %v has %d records, of which a share of %v is none; set share to at least %.3g, or bring more records of it", of[k], size, c.Share, 1/float64(size))
		}
	}
	return taken, nil
}

// query is what is known of batches with so many records of each group, along stacks
// of orthonormal directions.
func (c *Config) query(taken []int, outputs int) matching.Query {
	q := matching.Query{Alpha: c.Alpha, Frame: sliced.OrthonormalFrame(outputs)}
	for _, n := range taken {
		q.Records += n
	}
	for k := 0; k < len(taken); k += 2 {
		q.Pairs = append(q.Pairs, sliced.Sizes{A: taken[k], B: taken[k+1]})
	}
	return q
}

// notCovered is what a promise does not cover.
func (c *Config) notCovered(of []group, sizes []int) (lines []string, err error) {
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return nil, err
	}
	counts := "how many records each group has, which is not declared public (public_sizes): what depends on it is not protected"
	if c.PublicSizes {
		counts = fmt.Sprintf("how many records each group has (%s), which is declared public (public_sizes)", describe(of, sizes))
	}
	lines = experiment.NotCovered(c.Dataset, counts,
		"which of these groups a person is of: neighbours replace a record by one of the same group (004's k-end relation), so that what is hidden is what else the record says",
		matching.NotCovered,
		"the records that measure the result, which count as public")
	if source.Public() {
		lines = append(lines, "losses of each step, which are told as training goes on: those of private records are not")
	}
	if c.CommonNoise {
		lines = append(lines, "noise that other runs of the same seed have too (common_noise): what they release differs by their signals alone")
	}
	return lines, nil
}

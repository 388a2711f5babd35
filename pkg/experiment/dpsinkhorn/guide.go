package dpsinkhorn

import (
	"math"

	"molehill/models/semidebiased"
	"molehill/models/train"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
)

// guide says where generated labelled rows should go. What it answers is private
// already, unless it sanitises what is made of it.
type guide interface {
	// gradient is that of the loss by the rows of x, [n, dim].
	gradient(step int, x semidebiased.Batch) ([]float32, error)
	close()
}

// sanitiser is a guide whose answers must not be used but for a gradient by the
// generator's parameters, which sanitise makes private, in place.
type sanitiser interface {
	guide
	sanitise(step int, byParameters []float32) error
}

// labeller is a guide that says which classes it wants rows of: it writes them to labels,
// [n+n′].
type labeller interface{ label(labels []int) }

// observer is a guide that tells how far the plan of its last step was from its
// marginals (Pull.MarginalError). That is of records, and nothing pays for it, so it is
// told only where a run protects nobody anyway: without a budget, or with noise from its
// seed.
type observer interface{ marginalError() float64 }

// byImages learns from records: a Poisson batch and noise at each step (001
// Algorithm 1).
type byImages struct {
	config  *Config
	solver  semidebiased.Solver
	rows    *Rows
	public  noise.Source // of how images are moved
	release *privacy.Releaser
	buffers semidebiased.Buffers
	off     float64 // of the last step's marginals
}

// room is how many real rows a step looks at: more are drawn less than three times in
// ten thousand steps.
func room(batch int) int {
	return batch + int(4*math.Sqrt(float64(batch))) + 1
}

// draw is a step's real rows.
func (g *byImages) draw(step int) (semidebiased.Batch, error) {
	rows, err := g.release.Draw(step)
	if err != nil {
		return semidebiased.Batch{}, err
	}
	return g.rows.multiply(g.rows.Private.Subset(rows), g.config.Multiplicity, g.public.Stream("copies", step)), nil
}

func (g *byImages) pull(step int, x semidebiased.Batch) (semidebiased.Pull, error) {
	real, err := g.draw(step)
	if err != nil {
		return semidebiased.Pull{}, err
	}
	p, err := g.solver.Gradient(x, real)
	g.off = p.MarginalError
	return p, err
}

func (g *byImages) marginalError() float64 { return g.off }

func (g *byImages) gradient(step int, x semidebiased.Batch) ([]float32, error) {
	p, err := g.pull(step, x)
	if err != nil {
		return nil, err
	}
	settle, err := g.begin(step, p)
	if err != nil {
		return nil, err
	}
	return p.ByX, settle()
}

// begin makes what a step has learned private, in place, for those who go on computing
// until it is settled that it may be released.
func (g *byImages) begin(step int, p semidebiased.Pull) (settle func() error, err error) {
	if !g.config.budget().Private() {
		return func() error { return nil }, checkFinite(p.ByX)
	}
	return g.config.Clipping.Begin(p.ByX, g.config.Generated, g.rows.Private.Dim, g.config.Bound, g.release, step, &g.buffers)
}

func (g *byImages) close() { g.solver.Close() }

// byParameters learns from records, too, but its noise is that of DP-SGD: on the
// gradient by the generator's parameters, clipped as a whole (the ablation of 001
// Table 2).
type byParameters struct{ byImages }

func (g *byParameters) gradient(step int, x semidebiased.Batch) ([]float32, error) {
	p, err := g.pull(step, x)
	return p.ByX, err
}

func (g *byParameters) sanitise(step int, gradient []float32) error {
	if !g.config.budget().Private() {
		return checkFinite(gradient)
	}
	if err := clip.Joint(g.config.Bound, gradient); err != nil {
		return err
	}
	s, err := g.config.sensitivity()
	if err != nil {
		return err
	}
	return g.buffers.Release(gradient, s, g.release, step)
}

// checkFinite refuses a gradient that is not. One from records gets an answer in any
// case, as whether it has overflowed is private (privacy/clip makes it 0).
func checkFinite(gradient []float32) error {
	return train.Finite("the loss", gradient...)
}

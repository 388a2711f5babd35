package circle

import (
	"fmt"
	"io"
	"math"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/sliced"
)

// byGradients learns by gradients that are clipped and get noise (004 Section 5). The
// records of its plan are those of X and after them those of Z.
type byGradients struct {
	config  *Config
	plan    privacy.Plan
	sides   [2]privacy.Sensitivity // of X and of Z
	x, z    transport.Points
	learner *matching.Learner
	release *privacy.Releaser
	public  noise.Source
}

// limits are those of a gradient whose X moves, or whose Z does.
func (c *Config) limits(side int) sliced.Limits {
	l := sliced.Limits{Output: c.Limit, Frame: sliced.OrthonormalFrame(2)}
	if side == ofX {
		l.Source = c.Jacobian
	} else {
		l.Target = c.Jacobian // of the other side, which is X
	}
	return l
}

// sensitivity is that of a gradient when a record of a side is replaced.
func (c *Config) sensitivity(side int) (privacy.Sensitivity, error) {
	s, err := c.limits(side).Sensitivity(c.Batch)
	s.Relation = privacy.KEnd
	s.Query = fmt.Sprintf("clipped gradient of a sliced distance, when one of %d records of %s is replaced", c.Batch, [...]string{"X", "Z"}[side])
	return s, err
}

// protected is the side that ε is proved for.
func (c *Config) protected() int {
	if c.Both { // a record of X moves more
		return ofX
	}
	return ofZ
}

func gradients(c *Config, on *backend.Backend, x, z transport.Points, public noise.Source) (method, []privacy.Claim, error) {
	category := make([]int, 2*c.Records)
	for i := range c.Records {
		category[c.Records+i] = 1
	}
	sampler, err := sampling.NewStratified(category, []int{c.Batch, c.Batch})
	if err != nil {
		return nil, nil, err
	}
	w := &byGradients{config: c, x: x, z: z, public: public}
	var published [2]privacy.Sensitivity
	for side := range w.sides {
		if w.sides[side], err = c.sensitivity(side); err != nil {
			return nil, nil, err
		}
		l := c.limits(side)
		l.AsPublished = true
		if published[side], err = l.Sensitivity(c.Batch); err != nil {
			return nil, nil, err
		}
	}
	protected := c.protected()
	w.plan, err = privacy.Calibrate(privacy.Plan{Sensitivity: w.sides[protected], Sampler: sampler, Records: 2 * c.Records, Steps: c.Steps,
		Budget: c.budget(), Coordinates: layer.Size(layers())})
	if err != nil {
		return nil, nil, err
	}
	var claims []privacy.Claim
	if c.budget().Private() {
		claim, err := matching.Published{Plan: w.plan, Steps: c.Steps, Sensitivity: published[protected]}.Claim(" of Theorem A.1")
		if err != nil {
			return nil, nil, err
		}
		claims = append(claims, claim)
	}
	m := matching.Model{Input: []int{2}, Outputs: 2, Inner: layers()}
	w.learner, err = matching.New(on, m, layer.Init(m.Network(), public.Stream("parameters", 0).Uint64()), train.Optimizer{Name: c.Optimizer})
	return w, claims, err
}

// begin releases nothing: every step looks at records of its own.
func (w *byGradients) begin(release *privacy.Releaser) error {
	w.release = release
	return nil
}

func (w *byGradients) step(step int) error {
	rows, err := w.release.Draw(step)
	if err != nil {
		return err
	}
	n := w.config.Records
	var x, z []int
	for _, row := range rows {
		if row < n {
			x = append(x, row)
		} else {
			z = append(z, row-n)
		}
	}
	all := make([]int, len(x))
	for i := range all {
		all[i] = i
	}
	directions := sliced.Orthonormal(2, (w.config.Projections+1)/2, w.public.Stream("directions", step))
	g, err := w.learner.Gradient(matching.Batch{X: w.x.Subset(x).Data, Alpha: 1, Directions: directions,
		Pairs: []matching.Pair{{A: all, Points: w.z.Subset(z).Data}}}, w.config.clipping())
	if err != nil {
		return err
	}
	s := w.plan.Sensitivity
	if directions.Frame() > w.config.limits(ofX).Frame {
		return fmt.Errorf("circle: directions with λ = %v, which the plan does not cover; report it", directions.Frame())
	}
	if err := w.release.Release(g.Values, s, step); err != nil {
		return err
	}
	if err := shorten(w.config, g.Values); err != nil {
		return err
	}
	return w.learner.Step(w.config.LearningRate, g.Values)
}

// shorten cuts a gradient to the norm that none has without noise: 4ML, as errors of
// outputs are up to 2M and their mean is weighted by Jacobians up to L.
func shorten[F clip.Float](c *Config, gradient []F) error {
	if err := train.Finite("the gradient", gradient...); err != nil || !c.Shorten {
		return err
	}
	factor := clip.Factor(clip.Norm(gradient), 4*c.Limit*c.Jacobian)
	for i := range gradient {
		gradient[i] = F(float64(gradient[i]) * factor)
	}
	return nil
}

// spent is what the steps so far spend of the privacy of either side.
func (w *byGradients) spent(steps int) (epsilon [2]privacy.Epsilon, err error) {
	if steps == 0 {
		return epsilon, nil
	}
	if !w.config.budget().Private() {
		return [2]privacy.Epsilon{privacy.Epsilon(math.Inf(1)), privacy.Epsilon(math.Inf(1))}, nil
	}
	for side, s := range w.sides {
		plan := w.plan
		plan.Sensitivity, plan.Steps = s, steps
		result, err := accountant.Tightest{}.Epsilon(plan.Event(), privacy.KEnd, w.config.Delta)
		if err != nil {
			return epsilon, err
		}
		epsilon[side] = privacy.Epsilon(result.Epsilon)
	}
	return epsilon, nil
}

func (w *byGradients) apply(x transport.Points) (transport.Points, error) {
	y, err := w.learner.Output(x.Data)
	return transport.Points{Dim: 2, Data: y}, err
}

func (w *byGradients) tell(m run.Values) (string, error) {
	return matching.TellNoise(m, w.plan.NoiseStd, w.plan.Coordinates)
}

func (w *byGradients) promise() privacy.Plan { return w.plan }
func (w *byGradients) close()                { w.learner.Close() }

func (w *byGradients) save(to io.Writer, done int) error { return w.learner.Save(to, done) }

func (w *byGradients) restore(from io.Reader, done int) error {
	found := 0
	return w.learner.Restore(from, &found, func() error {
		if found != done {
			return fmt.Errorf("circle: a network after %d steps in place of %d; start a new run", found, done)
		}
		return nil
	})
}

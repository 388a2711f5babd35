// Package toy is the toy problem of 000 Figure 1: particles in the plane move
// to a mixture of five Gaussians, with and without smoothing.
package toy

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/sliced"
)

func init() { experiment.Registry.Register(Experiment{}) }

// Config are the settings of 000 Section 5.4; the figure's numbers of particles
// and of target points are not printed, those here are ours.
type Config struct {
	Sigma      float64 `json:"sigma"`      // σ, smoothing of both sides' projections
	Directions int     `json:"directions"` // N_θ
	StepSize   float64 `json:"step_size"`  // h
	Diffusion  float64 `json:"diffusion"`  // λ
	Steps      int     `json:"steps"`      // K
	Particles  int     `json:"particles"`  // N
	Points     int     `json:"points"`     // n, of the target

	// Published takes σ as the public code of 003 does: times the sensitivity
	// 2·√w(N_θ, δ) of Lemma 1 at δ = 10⁻⁵.
	Published bool `json:"published"`
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	if c.Directions < 1 || c.Steps < 1 || c.Particles < 2 || c.Points < 2 {
		return fmt.Errorf("directions %d, steps %d, particles %d, points %d; need at least 1, 1, 2 and 2", c.Directions, c.Steps, c.Particles, c.Points)
	}
	return flow.Flow{StepSize: c.StepSize, Diffusion: c.Diffusion, Smoothing: c.Sigma}.Check()
}

// Experiment implements experiment.Experiment.
type Experiment struct{}

// Describe implements plugin.Plugin.
func (Experiment) Describe() plugin.Info {
	return plugin.Info{Name: "five-gaussians", Version: "2", Source: "000 Section 5.4, Figure 1",
		Summary: "particles flow to five Gaussians in the plane, smoothed by σ"}
}

// Config implements experiment.Experiment.
func (Experiment) Config(preset experiment.Preset) experiment.Config {
	return &Config{Directions: 200, StepSize: 1, Diffusion: 0.001, Steps: 200, Particles: 1000, Points: 2000}
}

// Snapshots are the steps whose particles Figure 1 shows.
var Snapshots = []int{1, 10, 200}

// Run implements experiment.Experiment. Its artefacts are step-1.npy,
// step-10.npy and step-200.npy, [N, 2] each, and its curve is "sliced W₂" to
// fresh points of the mixture. It has no private records and no ε.
func (Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (run.Result, error) {
	c := config.(*Config)
	mixture := dataset.FiveGaussians()
	target, fresh := points(mixture.Sample(c.Points, r.Spec.Seed)), points(mixture.Sample(c.Points, r.Spec.Seed+1))
	random := noise.Seeded(r.Spec.Seed)
	smoothing := c.Sigma
	if c.Published {
		smoothing *= 2 * math.Sqrt(sliced.PublishedBound(c.Directions, 2, 1e-5))
	}
	f := flow.Flow{StepSize: c.StepSize, Diffusion: c.Diffusion, Smoothing: smoothing, Random: random}
	toward := flow.Open{Points: target, Directions: flow.Directions{Count: c.Directions, Random: random}, Smoothing: smoothing}
	x := f.Start(c.Particles, 2)
	measure := sliced.Uniform(2, 500, rand.New(rand.NewPCG(r.Spec.Seed, 1)))
	var distance sliced.Distance
	began := time.Now()
	for step := range c.Steps {
		if err := ctx.Err(); err != nil {
			return run.Result{}, err
		}
		if err := f.Step(x, flow.Slices{Target: toward}, step); err != nil {
			return run.Result{}, err
		}
		event := run.Event{Step: step + 1, Total: c.Steps, Rate: float64(step+1) / time.Since(began).Seconds()}
		last := step+1 == c.Steps
		if step < 20 || step%10 == 9 || last {
			var err error
			if distance, err = sliced.SW2(x, fresh, measure); err != nil {
				return run.Result{}, err
			}
			event.Values = run.Values{"sliced W₂": distance.Value}
		}
		if err := r.Emit(event); err != nil {
			return run.Result{}, err
		}
		for _, shown := range Snapshots {
			if step+1 == shown {
				if err := r.WriteTable(fmt.Sprintf("step-%d.npy", shown), x.Data, 2); err != nil {
					return run.Result{}, err
				}
			}
		}
	}
	same, err := sliced.SW2(x, target, measure)
	if err != nil {
		return run.Result{}, err
	}
	return run.Result{
		Metrics: run.Values{"sliced W₂": distance.Value, "sliced W₂ error": distance.StandardError, "sliced W₂ to the target": same.Value},
		Note:    fmt.Sprintf("to %d fresh points of the mixture, and to the target's own points, over 500 directions", c.Points),
	}, r.WriteTable("target.npy", target.Data, 2)
}

func points(d *dataset.Dataset) transport.Points { return transport.Points{Dim: d.Dim(), Data: d.X} }

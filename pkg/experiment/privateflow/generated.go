package privateflow

import (
	"math"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// generated is an estimator that a generator follows in place of particles.
type generated struct {
	Estimator
	info plugin.Info
}

func (g generated) Describe() plugin.Info { return g.info }

func (g generated) Config(preset experiment.Preset) *Config {
	c := g.Estimator.Config(preset)
	c.Learner, c.Generated, c.LearningRate, c.Diffusion = Generator, 250, 1e-3, 0 // 003's batch
	if math.IsInf(float64(c.Epsilon), 1) {
		c.Epsilon = 10 // swflow's own default is none
	}
	if preset == experiment.Quick {
		c.Steps = 400
	} else if source(g) != Estimator(resampled{}) {
		c.Steps, c.Generated = 2000, 1000 // a release that is there may be followed for as long as one likes
	}
	return c
}

// The generators of 003 and of those that it compares with; and ours, which train on
// the release that a flow made, or make one like it: what follows a release costs
// nothing (Config.Release).
var (
	dpswgen = generated{resampled{}, plugin.Info{Name: "dpswgen", Version: "2", Source: "003 Section 4.2, C.5",
		Summary: "private generator: trained on the guide of dpswflow-r, fresh noise at each step"}}
	once21 = generated{presampled{}, plugin.Info{Name: "sw-generator", Version: "2",
		Source:  "Rakotomamonjy & Ralaivola 2021, released once as Greenewald et al. 2024 ask",
		Summary: "private generator: trained on every row's noisy projections, released once, with as much noise on its own"}}
	merf = generated{embedded{}, plugin.Info{Name: "dp-merf", Version: "2", Source: "Harder et al. 2021",
		Summary: "private generator: trained on a mean embedding by random Fourier features, released once"}}
	harmonicGenerator = generated{spherical{}, plugin.Info{Name: "harmonic-generator", Version: "6", Source: "Molehill: docs/harmonic-sketch.md",
		Summary: "private generator: trained on the release of harmonic-flow, at no further cost"}}
	sketchGenerator = generated{sketched{}, plugin.Info{Name: "sketch-generator", Version: "1", Source: "Molehill: docs/quantile-sketch.md",
		Summary: "private generator: trained on the release of sketch-flow, at no further cost"}}
)

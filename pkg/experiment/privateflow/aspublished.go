package privateflow

import (
	"fmt"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/published"
)

// publishedFlow returns what 003 prints for the settings' data set, and its noise
// for their ε.
func publishedFlow(c *Config) (f published.Flow, n published.FlowNoise, err error) {
	f, ok := published.FlowOn(c.Dataset)
	if !ok {
		return f, n, fmt.Errorf("003 has no noise for the data set %q, only for mnist, fashion-mnist and celeba; leave published=false to calibrate it", c.Dataset)
	}
	for _, n := range f.Noise {
		if n.Epsilon == float64(c.Epsilon) {
			return f, n, nil
		}
	}
	return f, n, fmt.Errorf("003 gives no noise for ε = %v on %s, only for inf, 10 and 5; leave published=false to calibrate it", c.Epsilon, c.Dataset)
}

// setting is one of the paper's, beside that of a run.
type setting struct {
	name        string
	paper, mine any
	free        bool // the claim holds for the run's as well
}

// asPublished refuses settings that are not the paper's, and names those that are.
func asPublished(c *Config, settings ...setting) error {
	var all, set []string
	for _, s := range settings {
		all = append(all, fmt.Sprintf("%s=%v", s.name, s.paper))
		if s.mine != s.paper && !s.free {
			set = append(set, fmt.Sprintf("--set %s=%v", s.name, s.paper))
		}
	}
	if set == nil {
		return nil
	}
	return fmt.Errorf("003's noise for ε = %v on %s is for %s; add %s, or leave published=false to calibrate it",
		c.Epsilon, c.Dataset, strings.Join(all, ", "), strings.Join(set, " "))
}

// CheckClaimed implements Claimed with the paper's settings of DPSWflow-r and DPSWgen. A
// quick run may stop early.
func (resampled) CheckClaimed(c *Config) error {
	f, n, err := publishedFlow(c)
	if err != nil {
		return err
	}
	steps := f.Steps(n.Epochs)
	return asPublished(c, setting{name: "stack", paper: false, mine: c.Stack}, setting{name: "directions", paper: f.Resampled, mine: c.Directions},
		setting{name: "batch", paper: f.Batch, mine: c.Batch}, setting{name: "delta", paper: f.Delta, mine: c.Delta},
		setting{name: "steps", paper: steps, mine: c.Steps, free: c.preset == experiment.Quick && c.Steps < steps})
}

// CheckClaimed implements Claimed with the paper's settings of DPSWflow. Its steps follow
// the one release, which they have no part in.
func (presampled) CheckClaimed(c *Config) error {
	f, _, err := publishedFlow(c)
	if err != nil {
		return err
	}
	return asPublished(c, setting{name: "stack", paper: false, mine: c.Stack}, setting{name: "directions", paper: f.Fixed, mine: c.Directions},
		setting{name: "per_step", paper: f.FixedPerStep, mine: c.PerStep}, setting{name: "delta", paper: f.Delta, mine: c.Delta})
}

// publishedFor is publishedFlow for n records with latents of dimension dim. What is
// claimed for 250 of 30,000 records holds for no larger share, nor for other latents.
func publishedFor(c *Config, n, dim int) (published.Flow, published.FlowNoise, error) {
	f, noise, err := publishedFlow(c)
	if err == nil && (n != f.Records || dim != f.Dim) {
		err = fmt.Errorf("003's noise on %s is for %d private records with latents of dimension %d, and here are %d of dimension %d; leave published=false to calibrate it",
			c.Dataset, f.Records, f.Dim, n, dim)
	}
	return f, noise, err
}

package dpsinkhorn

import "molehill/pkg/experiment"

// reads are the settings that a kind reads in a space, of those that not all do.
func (k *kind) reads(space string, startSteps int) (names []string) {
	if space == Pixels {
		names = append(names, "architecture", "embedding", "width")
	} else {
		names = append(names, "weights")
	}
	if k.embeds {
		names = append(names, "features", "scale")
	}
	if k.byLoss(startSteps) {
		names = append(names, "batch", "absolute", "unsquared", "label_scale", "entropy", "tolerance")
		if !k.exact || startSteps > 0 {
			names = append(names, "iterations")
		}
	}
	if k.noisy {
		names = append(names, "bound")
	}
	return names
}

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	of := map[string][]string{}
	for _, k := range kinds {
		of[k.Name] = k.reads(k.config(experiment.Quick).Space, 0)
	}
	of[c.kind.Name] = c.kind.reads(c.Space, c.StartSteps)
	if experiment.CheckRead(c, c.kind.settings(experiment.Paper, c.Dataset), c.kind.Name, of) == nil { // whose network is wider
		return nil
	}
	return experiment.CheckRead(c, c.kind.settings(experiment.Quick, c.Dataset), c.kind.Name, of)
}

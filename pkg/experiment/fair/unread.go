package fair

import (
	"maps"
	"slices"

	"molehill/pkg/experiment"
)

// reads lists, by experiment, the settings that not all of them read. One output has one
// direction, whatever projections are; without fairness in the loss no output is clipped.
var reads = map[string][]string{
	"fair-classification":     {"probability", "output_limit", "jacobian", "exact"},
	"fair-adult":              {"output_limit", "jacobian", "exact"},
	"fair-regression":         {"probability", "output_limit", "jacobian", "exact", "projections", "hidden"},
	"fair-regression-1d":      {"probability", "output_limit", "jacobian", "exact", "hidden"},
	"fair-regression-1d-post": {"probability", "hidden"},
	"fair-representation":     {"probability", "output_limit", "jacobian", "exact", "projections", "hidden"},
}

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	usual := c.kind.config(experiment.Quick)
	return c.checkUnread(c, &usual, c.kind.Name)
}

// CheckUnread implements experiment.Sparing.
func (c *PostConfig) CheckUnread() error {
	p := PostProcessed{}
	return c.checkUnread(c, p.Config(experiment.Quick), p.Describe().Name)
}

// checkUnread looks at settings, whole, of which c is the training's part.
func (c *Config) checkUnread(whole, usual experiment.Config, name string) error {
	of := maps.Clone(reads)
	if c.Dataset == "adult" { // whose labels nobody draws
		of[name] = slices.DeleteFunc(slices.Clone(of[name]), func(setting string) bool { return setting == "probability" })
	}
	return experiment.CheckRead(whole, usual, name, of)
}

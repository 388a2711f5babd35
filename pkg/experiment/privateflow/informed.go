package privateflow

import (
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport/flow"
)

// informed is the flow to the release of harmonic-flow, read beside the means of the
// public half: what both halves agree in is known from the public one.
type informed struct{ spherical }

func (informed) Describe() plugin.Info {
	return plugin.Info{Name: "harmonic-prior", Version: "4", Source: "Molehill: docs/harmonic-sketch.md",
		Summary: "private flow: the release of harmonic-flow, read beside the public half of the data; what is private shows where the halves differ"}
}

// NeedsPublic implements Informed.
func (informed) NeedsPublic() bool { return true }

func (e informed) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	degree, err := e.degree(c, records.Len(), records.Dim)
	if err != nil {
		return nil, err
	}
	target, err := flow.NewSphericalBeside(records.Public, records.Points, degree, densityDirections(c, public), release)
	return flow.Slices{Target: target}, err
}

package privateflow

import (
	"fmt"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport/flow"
	"molehill/transport/harmonic"
)

// classes is the flow of particles with labels, each class to its own density,
// made of one release of noisy means of spherical harmonics.
type classes struct{}

func (classes) Describe() plugin.Info {
	return plugin.Info{Name: "harmonic-classes", Version: "2", Source: "Molehill: docs/harmonic-sketch.md",
		Summary: "private flow with labels: sizes of the classes and means of spherical harmonics over each, released once; labels are as private as images"}
}

func (classes) Config(preset experiment.Preset) *Config {
	c := ofAverages(preset, 48)
	c.Classes = 10
	return &c
}

// Check implements Checker.
func (classes) Check(c *Config) error {
	if c.Classes < 2 {
		return fmt.Errorf("classes is %d; take the number of classes that the data set has, at least 2", c.Classes)
	}
	return nil
}

// degree returns the highest degree to release.
func (classes) degree(c *Config, n, dim int) (int, error) {
	if c.Degree > 0 {
		return c.Degree, nil
	}
	multiplier, err := multiplier(c, n)
	if err != nil {
		return 0, err
	}
	return harmonic.LabelledDegree(dim, c.Classes, n, multiplier)
}

func (e classes) Plan(c *Config, n, dim int, _ noise.Source) (privacy.Plan, []privacy.Claim, error) {
	degree, err := e.degree(c, n, dim)
	if err != nil {
		return privacy.Plan{}, nil, err
	}
	s, err := harmonic.LabelledSensitivity(dim, degree, c.Classes, n)
	return once(c, n, harmonic.LabelledSize(dim, degree, c.Classes), s, err)
}

func (e classes) Guide(c *Config, records Records, release *privacy.Releaser, public noise.Source) (flow.Guide, error) {
	degree, err := e.degree(c, records.Len(), records.Dim)
	if err != nil {
		return nil, err
	}
	return flow.NewLabelled(records.Points, records.Labels, c.Classes, degree, densityDirections(c, public), release)
}

// classesGenerator follows the same release.
var classesGenerator = generated{classes{}, plugin.Info{Name: "harmonic-classes-generator", Version: "3", Source: "Molehill: docs/harmonic-sketch.md",
	Summary: "private generator that is told the class: trained on the release of harmonic-classes, at no further cost"}}

// classed is a guide of particles that have labels.
type classed interface {
	flow.Guide
	Classes() int
	// Labels returns the classes of n particles; the same n always gets the same.
	Labels(n int) []int
}

// classesOf returns the guide if it has classes, else nil.
func classesOf(guide flow.Guide) classed {
	c, _ := guide.(classed)
	return c
}

// labelsOf returns the labels of n points that follow a guide, nil if it has none.
func labelsOf(guide flow.Guide, n int) []int {
	if c := classesOf(guide); c != nil {
		return c.Labels(n)
	}
	return nil
}

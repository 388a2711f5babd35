package privateflow

import "molehill/pkg/experiment"

func (open) Reads() []string       { return nil }
func (resampled) Reads() []string  { return []string{"batch"} }
func (presampled) Reads() []string { return []string{"per_step"} }
func (sketched) Reads() []string   { return []string{"bins", "per_step"} }
func (normal) Reads() []string     { return nil }
func (embedded) Reads() []string   { return []string{"features", "scale"} }
func (spherical) Reads() []string  { return []string{"degree"} }
func (classes) Reads() []string    { return []string{"degree"} }

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	if _, tells := as[Reader](c.estimator); !tells {
		return nil
	}
	own := c.estimator.Describe().Name
	of := map[string][]string{}
	for _, e := range Estimators.All() {
		reader, tells := as[Reader](e)
		if !tells {
			continue
		}
		name := e.Describe().Name
		learner := e.Config(experiment.Quick).Learner
		if name == own {
			learner = c.Learner
		}
		if of[name] = reader.Reads(); learner == Generator {
			of[name] = append([]string{"generated", "learning_rate"}, of[name]...)
		}
	}
	usual := c.usual()
	if c.Release != "" { // whose settings these are
		if err := usual.take(c); err != nil {
			return err
		}
	}
	return experiment.CheckRead(c, usual, own, of)
}

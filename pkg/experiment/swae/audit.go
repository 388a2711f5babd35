package swae

import (
	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/transport"
	"molehill/transport/harmonic"
)

// Game implements experiment.Auditable: the worst neighbours that are known, in place of
// images, through the first of the autoencoder's steps, some of those that learn labels and
// some of those that tell where codes lie.
func (Experiment) Game(_ *run.Run, config experiment.Config, statement privacy.Statement) (audit.Game, error) {
	c := config.(*Config)
	on, err := backend.Open()
	if err != nil {
		return audit.Game{}, err
	}
	t := matching.Training{Clipping: c.clipping(), Query: c.query(false), Outputs: c.Latent, Steps: c.Steps}
	if t.Sensitivity, err = c.sensitivity(); err != nil {
		return audit.Game{}, err
	}
	labels, err := c.labelWorlds(on, t.Sensitivity)
	if err != nil {
		return audit.Game{}, err
	}
	law, err := c.lawWorlds(t.Sensitivity, statement)
	if err != nil {
		return audit.Game{}, err
	}
	t.Later = []matching.Later{{Tell: "that learn labels", Steps: c.Labels, Worlds: labels}, {Tell: "that tell where codes lie", Steps: c.Law, Worlds: law}}
	return t.Game(on, statement)
}

// labelWorlds are gradients of labels, with a record in them that turns its own round.
func (c *Config) labelWorlds(on *backend.Backend, s privacy.Sensitivity) (worlds audit.Worlds, err error) {
	if c.Labels == 0 {
		return worlds, nil
	}
	limit, err := c.labelLimit(s)
	if err != nil {
		return worlds, err
	}
	query := c.query(false)
	query.Alpha = 0
	return matching.Training{Clipping: labelClipping(limit), Query: query, Outputs: 1}.Worlds(on)
}

// lawWorlds are means of harmonics of a batch whose codes are all the same, and of one with
// a code as far from these as harmonics can tell.
func (c *Config) lawWorlds(s privacy.Sensitivity, statement privacy.Statement) (worlds audit.Worlds, err error) {
	if c.Law == 0 {
		return worlds, nil
	}
	l, err := newLaw(c, privacy.Plan{Sensitivity: s, NoiseStd: statement.NoiseStd})
	if err != nil {
		return worlds, err
	}
	for world, cos := range []float64{1, harmonic.Farthest(c.Latent, l.basis.Degree)} {
		if worlds[world], err = l.query(transport.WithOutlier(c.Batch, c.Latent, cos).Data); err != nil {
			return worlds, err
		}
	}
	return worlds, nil
}

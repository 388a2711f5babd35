package swae

import (
	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// Game implements experiment.Auditable: the worst neighbours that are known, in place of
// images, through the first of the autoencoder's steps.
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
	return t.Game(on, statement)
}

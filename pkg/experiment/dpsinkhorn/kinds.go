package dpsinkhorn

import (
	"fmt"

	"molehill/models/semidebiased"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// kind is a way to train a generator of labelled rows.
type kind struct {
	plugin.Info
	config func(experiment.Preset) Config
	// prepare returns the promise for the training's rows, what the paper claims for the same
	// noise, and how a guide is made once that is paid for.
	prepare func(t *training) (privacy.Plan, []privacy.Claim, opener, error)
	check   func(*Config) error // what the kind asks for beyond; nil for nothing
	// game attacks the one release of a kind that looks at records once; nil for the others,
	// whose steps are attacked.
	game   func(c *Config, of domain, statement privacy.Statement) (audit.Game, error)
	exact  bool // its plans are Exact's
	noisy  bool // its steps look at records: what they learn is clipped and gets noise
	embeds bool // it learns by a mean embedding, and not by the loss
	ofCode bool // its presets are those of the public code
}

// byLoss says whether a training learns by the loss at any time: public rows are, with
// which it may start, whatever it is.
func (k *kind) byLoss(startSteps int) bool { return !k.embeds || startSteps > 0 }

// kinds are registered as experiments.
var kinds = []*kind{
	{Info: plugin.Info{Name: "dp-sinkhorn", Version: "2", Source: "001 Algorithm 1, D.4",
		Summary: "private generator of labelled images: the noisy gradient of a Sinkhorn loss by its images, clipped as a whole"},
		config: pixels, prepare: onRecords, noisy: true},
	{Info: plugin.Info{Name: "dp-sinkhorn-text", Version: "2", Source: "001 Algorithm 1, Theorem 4.1, D.4",
		Summary: "dp-sinkhorn as its text has it: each image's gradient is clipped by itself, so that its noise proves far less"},
		config: text, prepare: onRecords, noisy: true},
	{Info: plugin.Info{Name: "dp-sinkhorn-code", Version: "2", Source: "001's public code",
		Summary: "dp-sinkhorn with the settings of its public code"},
		config: code, prepare: onRecords, noisy: true, ofCode: true},
	{Info: plugin.Info{Name: "dp-sinkhorn-exact", Version: "2", Source: "Molehill: 001 Algorithm 1, with plans by Newton's method",
		Summary: "dp-sinkhorn with plans that meet their marginals, where 150 of Sinkhorn's iterations leave them a tenth off"},
		config: pixels, prepare: onRecords, check: fewRows, exact: true, noisy: true},
	{Info: plugin.Info{Name: "sinkhorn", Version: "2", Source: "001 Table 1",
		Summary: "generator of labelled images that learns by a Sinkhorn loss, no privacy"},
		config: plain, prepare: onRecords, check: withoutPrivacy},
	{Info: plugin.Info{Name: "dp-sinkhorn-latent", Version: "1", Source: "Molehill: the loss of 001 between latents",
		Summary: "private generator of labelled images: dp-sinkhorn between latents of an autoencoder that has seen public images only"},
		config: latents, prepare: onRecords, noisy: true},
	{Info: plugin.Info{Name: "sinkhorn-sketch", Version: "3", Source: "Molehill: docs/harmonic-sketch.md, and the loss of 001",
		Summary: "private generator of labelled images: the Sinkhorn loss against particles made of one release, the one of harmonic-classes"},
		config: sketch, prepare: onSketch, check: inLatents, game: againstSketch},
	{Info: plugin.Info{Name: "dp-merf-images", Version: "2", Source: "Harder et al. 2021",
		Summary: "private generator of labelled images: trained on mean embeddings of the classes by random Fourier features, released once"},
		config: embedding, prepare: onEmbedding, check: once, game: againstEmbedding, embeds: true},
}

// fewRows refuses batches that are too large for Newton's method.
func fewRows(c *Config) error {
	const most = 2000
	if rows := max(c.Generated, room(c.Batch)*c.Multiplicity); rows > most {
		return fmt.Errorf("%s is for batches of up to %d rows, and these are of %d; take dp-sinkhorn, or smaller ones", c.kind.Name, most, rows)
	}
	return nil
}

func withoutPrivacy(c *Config) error {
	if c.budget().Private() {
		return fmt.Errorf("sinkhorn keeps no privacy, ε = %v cannot be; use dp-sinkhorn, or --epsilon inf", c.Epsilon)
	}
	return nil
}

// once refuses the settings of looks and noise at each step, for kinds that look at
// records once.
func once(c *Config) error {
	for _, field := range []struct {
		name string
		set  bool
	}{{"noise", c.Noise > 0}, {"published", c.Published}, {"perturbed", c.Perturbed != ByImages}, {"clipping", c.Clipping != semidebiased.Whole}, {"multiplicity", c.Multiplicity > 1}} {
		if field.set {
			return fmt.Errorf("%s is set; %s makes one release, whose noise is the least that proves ε, and no step of it sees a record: leave it out", field.name, c.kind.Name)
		}
	}
	return nil
}

func inLatents(c *Config) error {
	if c.Space != Latents {
		return fmt.Errorf("space is %q; a release of harmonic means is one of latents, set space=%s", c.Space, Latents)
	}
	return once(c)
}

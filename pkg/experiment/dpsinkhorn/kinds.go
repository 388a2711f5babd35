package dpsinkhorn

import (
	"context"
	"fmt"
	"math"

	"molehill/models/generator"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/transport/flow"
)

// kind is a way to train a generator of labelled rows.
type kind struct {
	plugin.Info
	config func(experiment.Preset) Config
	// prepare returns the promise for the student's rows, what the paper claims for the same
	// noise, and how a teacher is made once that is paid for.
	prepare func(s *student) (privacy.Plan, []privacy.Claim, enrol, error)
	check   func(*Config) error // what the kind asks for beyond; nil for nothing
	exact   bool                // its plans are Exact's
	noisy   bool                // its steps look at records: what they learn is clipped and gets noise
	embeds  bool                // it learns by a mean embedding, and not by the loss
}

// byLoss says whether a training learns by the loss at any time: public rows are, with
// which it may start, whatever it is.
func (k *kind) byLoss(startSteps int) bool { return !k.embeds || startSteps > 0 }

// enrol makes a teacher that looks at records through the releaser alone. say
// tells of work that takes time.
type enrol func(ctx context.Context, release *privacy.Releaser, say func(run.Event)) (teacher, error)

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
		config: code, prepare: onRecords, noisy: true},
	{Info: plugin.Info{Name: "dp-sinkhorn-exact", Version: "2", Source: "Molehill: 001 Algorithm 1, with plans by Newton's method",
		Summary: "dp-sinkhorn with plans that meet their marginals, where 150 of Sinkhorn's iterations leave them a tenth off"},
		config: pixels, prepare: onRecords, check: fewRows, exact: true, noisy: true},
	{Info: plugin.Info{Name: "sinkhorn", Version: "2", Source: "001 Table 1",
		Summary: "generator of labelled images that learns by a Sinkhorn loss, no privacy"},
		config: open, prepare: onRecords, check: withoutPrivacy},
	{Info: plugin.Info{Name: "dp-sinkhorn-latent", Version: "1", Source: "Molehill: the loss of 001 between latents",
		Summary: "private generator of labelled images: dp-sinkhorn between latents of an autoencoder that has seen public images only"},
		config: latents, prepare: onRecords, noisy: true},
	{Info: plugin.Info{Name: "sinkhorn-sketch", Version: "3", Source: "Molehill: docs/harmonic-sketch.md, and the loss of 001",
		Summary: "private generator of labelled images: the Sinkhorn loss against particles made of one release, the one of harmonic-classes"},
		config: sketch, prepare: onSketch, check: inLatents},
	{Info: plugin.Info{Name: "dp-merf-images", Version: "2", Source: "Harder et al. 2021",
		Summary: "private generator of labelled images: trained on mean embeddings of the classes by random Fourier features, released once"},
		config: merf, prepare: onEmbedding, check: once, embeds: true},
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
	}{{"noise", c.Noise > 0}, {"published", c.Published}, {"perturbed", c.Perturbed != ByImages}, {"clipping", c.Clipping != Whole}, {"multiplicity", c.Multiplicity > 1}} {
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

// pixels are the settings of the paper's text for MNIST (001 D.3 and D.4), but that
// the gradient is clipped as a whole. The quick ones make a quarter of the
// channels, and fewer and larger steps.
func pixels(preset experiment.Preset) Config {
	c := Config{
		Dataset: "mnist", Space: Pixels, Epsilon: 10, Delta: 1e-5,
		Debiasing: 0.4, Absolute: 1, LabelScale: 15, Entropy: 0.05, Iterations: 150, Tolerance: 1e-3,
		Batch: 50, Multiplicity: 1, Generated: 50, Clipping: Whole, Bound: 0.5, Perturbed: ByImages, Noise: 1.5, Steps: 160_000,
		Optimizer: train.Adam, LearningRate: 1e-4, Schedule: Constant, WeightDecay: 2e-5,
		Architecture: generator.DCGANText, Latent: 12, Embedding: 4, Width: 64,
		Samples: 60_000,
	}
	if preset == experiment.Quick {
		c.Noise, c.Steps, c.LearningRate, c.Schedule = 0, 2000, 1e-3, Cosine
		c.Width, c.Samples = 16, 10_000
	}
	return c
}

func text(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Clipping, c.Noise, c.Published = PerImage, 1.5, true
	return c
}

// code are the settings of the public code, which are not those of its text.
func code(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Architecture, c.Latent, c.Embedding = generator.DCGANCode, 16, 8
	c.Debiasing, c.WeightDecay = 0.2, 1e-5
	if preset == experiment.Paper {
		c.Noise, c.LearningRate = 2.2, 1e-5 // its multiplier of 1.1, of the sensitivity 2Δ
	}
	return c
}

// open are the settings without privacy.
func open(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Epsilon, c.Noise, c.Batch, c.Generated = privacy.Epsilon(math.Inf(1)), 0, 500, 500
	if preset == experiment.Quick {
		c.Batch, c.Generated, c.Steps = 100, 100, 1000
	}
	return c
}

// latents are ours for the loss between latents, which are 8 numbers and not 784:
// there the same clipped gradient has a tenth of the noise.
func latents(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Space, c.Noise = Latents, 0
	c.Debiasing, c.Absolute, c.LabelScale, c.Entropy = 0, 0, 2, 0.02
	c.Latent, c.LearningRate, c.Schedule, c.WeightDecay = 8, 1e-3, Cosine, 0
	c.Bound = 0.05 // below most gradients: each step then goes as far
	c.Steps = 100_000
	if preset == experiment.Quick {
		c.Steps = 20_000
	}
	return c
}

// sketch are ours for the loss against particles.
func sketch(preset experiment.Preset) Config {
	c := latents(preset)
	c.Debiasing, c.Batch, c.Generated, c.Steps = 1, 250, 250, 5000
	if preset == experiment.Quick {
		c.Steps = 3000
	}
	return c
}

// merf are the settings of DP-MERF.
func merf(preset experiment.Preset) Config {
	c := pixels(preset)
	c.Noise, c.Debiasing = 0, 0
	c.Architecture, c.Latent, c.Embedding = generator.DCGANCode, 16, 8
	c.Generated, c.Features, c.LearningRate, c.Schedule, c.WeightDecay = 500, 10_000, 1e-3, Cosine, 0
	c.Steps = 5000
	if preset == experiment.Quick {
		c.Generated, c.Features, c.Steps = 100, 1000, 1000
	}
	return c
}

// loss is the student's, for rows that can be as far apart as in their space.
func (s *student) loss() (Loss, error) {
	dim := float64(s.rows.Private.Dim)
	l, apart := s.config.loss(len(s.rows.Classes)), 2*math.Sqrt(dim) // pixels are within 2
	if s.config.Space == Latents {
		apart = 2 // on the unit sphere
	}
	largest := l.Largest(apart, apart*math.Sqrt(dim))
	if s.config.kind.exact && s.config.StartSteps == 0 { // which makes none, but for public rows
		return l, l.CheckCosts(largest)
	}
	return l, l.CheckIterations(largest)
}

// onRecords plans noisy gradients, step by step.
func onRecords(s *student) (privacy.Plan, []privacy.Claim, enrol, error) {
	c, rows := s.config, s.rows
	coordinates := c.Generated * rows.Private.Dim
	if c.Perturbed == ByParameters {
		coordinates = s.made.Parameters()
	}
	loss, err := s.loss()
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	plan, claims, err := c.plan(rows.Private.Len(), coordinates)
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, claims, func(_ context.Context, release *privacy.Releaser, _ func(run.Event)) (teacher, error) {
		var look look
		if c.kind.exact {
			look, err = loss.Exact(c.Generated, room(c.Batch)*c.Multiplicity, rows.Private.Dim)
		} else {
			look, err = loss.Compile(rows.Backend, c.Generated, room(c.Batch)*c.Multiplicity, rows.Private.Dim)
		}
		t := byImages{config: c, look: look, rows: rows, public: s.public, release: release}
		if c.Perturbed == ByParameters {
			return &byParameters{t}, err
		}
		return &t, err
	}, nil
}

// onSketch plans the one release of harmonic-classes, and learns from particles
// that have followed it.
func onSketch(s *student) (privacy.Plan, []privacy.Claim, enrol, error) {
	c, rows := s.config, s.rows
	loss, err := s.loss()
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	estimator, err := privateflow.Estimators.Lookup("harmonic-classes")
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	its := estimator.Config(experiment.Quick)
	its.Dataset, its.Epsilon, its.Delta, its.Classes = c.Dataset, c.Epsilon, c.Delta, len(rows.Classes)
	its.Particles = 10_000
	its.Directions = max(1, its.Directions/rows.Private.Dim) * rows.Private.Dim // whole bases
	if err := privateflow.Rehearse(estimator, its, rows.Private.Len(), rows.Private.Dim, s.public); err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	plan, claims, err := estimator.Plan(its, rows.Private.Len(), rows.Private.Dim, s.public)
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, claims, func(ctx context.Context, release *privacy.Releaser, say func(run.Event)) (teacher, error) {
		say(run.Event{Message: fmt.Sprintf("%d particles flow to one release", its.Particles)})
		guide, err := estimator.Guide(its, privateflow.Records{Points: rows.Private.Points, Labels: rows.Private.Labels}, release, s.public)
		if err != nil {
			return nil, err
		}
		points, labels, err := privateflow.Follow(ctx, its, guide, rows.Private.Dim, s.public)
		if err != nil {
			return nil, err
		}
		particles := Batch{points, labels}
		members, err := clearest(particles, len(rows.Classes), guide.(*flow.Labelled))
		if err != nil {
			return nil, err
		}
		program, err := loss.Compile(rows.Backend, c.Generated, c.Batch, rows.Private.Dim)
		return newByClasses(byParticles{program, particles, c.Batch, s.public}, c.Generated, members), err
	}, nil
}

// onEmbedding plans the one release of DP-MERF.
func onEmbedding(s *student) (privacy.Plan, []privacy.Claim, enrol, error) {
	c, rows := s.config, s.rows
	scale := c.Scale
	if scale == 0 {
		scale = Scale(rows.Test)
	}
	if err := checkEmbedding(rows.Private.Dim, len(rows.Classes), c.Features, scale); err != nil { // before anything is paid
		return privacy.Plan{}, nil, nil, err
	}
	n := rows.Private.Len()
	sensitivity, err := EmbeddingSensitivity(n)
	if err != nil {
		return privacy.Plan{}, nil, nil, err
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: sensitivity, Records: n, Steps: 1, Budget: c.budget(), Coordinates: EmbeddingSize(len(rows.Classes), c.Features)})
	if err != nil {
		return plan, nil, nil, err
	}
	return plan, nil, func(_ context.Context, release *privacy.Releaser, say func(run.Event)) (teacher, error) {
		say(run.Event{Message: fmt.Sprintf("mean embedding of %d rows", n)})
		embedding, err := NewEmbedding(rows.Backend, rows.Private, len(rows.Classes), c.Features, scale, s.public, release)
		return byEmbedding{embedding}, err
	}, nil
}

// byEmbedding learns from a mean embedding.
type byEmbedding struct{ *Embedding }

func (t byEmbedding) gradient(_ int, x Batch) ([]float32, error) { return t.Gradient(x) }
func (t byEmbedding) close()                                     { t.Close() }

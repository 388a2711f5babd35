package swae

import (
	"context"
	"fmt"

	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/metric"
	"molehill/pkg/metric/utility"
	"molehill/pkg/run"
	"molehill/privacy/noise"
)

// Names of metrics. Accuracies are marked with what they are of, if not of generated images
// as they are with labels that were learned.
const (
	Reconstruction     = "reconstruction loss"
	ToPrior            = "sliced W₂"
	LabelAccuracy      = "label accuracy"
	ThroughAutoencoder = " through the autoencoder"
	ByNeighbours       = ", labels by private neighbours"
)

// finish measures and draws what the autoencoder has learned by gradients with noise of a
// standard deviation.
func finish(ctx context.Context, r *run.Run, t *training, std float64) (result run.Result, err error) {
	held := t.data.held
	if result.Metrics, err = t.quality(held.Len()); err != nil {
		return result, err
	}
	codes, err := t.learner.Inner(held.X)
	if err != nil {
		return result, err
	}
	if t.law != nil {
		if err := r.Emit(run.Event{Message: "drawing points that lie as codes do"}); err != nil {
			return result, err
		}
		if result.Metrics[ToPrior], err = t.toLaw(ctx, codes); err != nil {
			return result, err
		}
	}
	found, err := t.label(codes)
	if err != nil {
		return result, err
	}
	result.Metrics[LabelAccuracy] = metric.Agreement(found, held.Labels).Value
	result.Metrics["steps"] = float64(t.config.Steps)
	told, err := matching.TellNoise(result.Metrics, std, t.learner.Parameters())
	if err != nil {
		return result, err
	}
	if err := t.picture(ctx, r, codes); err != nil {
		return result, err
	}
	if err := r.Emit(run.Event{Message: "what generated images teach"}); err != nil {
		return result, err
	}
	made, err := t.generate(ctx, t.config.Samples, t.label)
	if err != nil {
		return result, err
	}
	accuracies, err := t.accuracies(ctx, "mlp", made, r.Spec.Seed, func(run.Event) {})
	if err != nil {
		return result, err
	}
	for name, value := range accuracies {
		result.Metrics[name] = value
	}
	source := "what images are generated from"
	if t.config.Passes > 0 {
		source += fmt.Sprintf(", before it is decoded and encoded %d times", t.config.Passes)
	}
	result.Note = fmt.Sprintf("on %d held-out images: accuracy of a classifier that has learned from %d generated ones, labelled within the budget; %s in nats a pixel; %s between codes and %s; %s of their codes; %s",
		held.Len(), made.Len(), Reconstruction, ToPrior, source, LabelAccuracy, told)
	return result, nil
}

// generate renders points that are drawn, the same ones for the same
// count, and labels them by their codes.
func (t *training) generate(ctx context.Context, count int, label classify) (*dataset.Dataset, error) {
	drawn, err := t.draw(ctx, count)
	if err != nil {
		return nil, err
	}
	z := drawn.Data
	x, err := t.render(z)
	if err != nil {
		return nil, err
	}
	labels, err := label(z)
	made := *t.data.held
	made.Name, made.Origin, made.X, made.Labels = "generated", "an autoencoder", x, labels
	return &made, err
}

// reconstruct returns a data set as the autoencoder makes it again.
func (t *training) reconstruct(d *dataset.Dataset) (*dataset.Dataset, error) {
	x, err := t.autoencode(d.X)
	again := *d
	again.X = x
	return &again, err
}

// accuracies are those, on held-out images, of a classifier that has learned from
// generated ones: on the images as they are, and through the autoencoder, that is on
// the images as it reconstructs them (004, Table 1, in brackets).
func (t *training) accuracies(ctx context.Context, name string, made *dataset.Dataset, seed uint64, say func(run.Event)) (run.Values, error) {
	model, err := utility.Fit(ctx, name, made, seed, func(p utility.Progress) {
		say(run.Event{Message: fmt.Sprintf("%s: hold-out accuracy %.3f", name, p.BestHoldout), Step: p.Step, Total: p.Limit})
	})
	if err != nil {
		return nil, err
	}
	again, err := t.reconstruct(t.data.held)
	if err != nil {
		return nil, err
	}
	values := run.Values{}
	for suffix, on := range map[string]*dataset.Dataset{"": t.data.held, ThroughAutoencoder: again} {
		accuracy, err := utility.Accuracy(model, on)
		if err != nil {
			return nil, err
		}
		values[name+" accuracy"+suffix] = accuracy.Value
	}
	return values, nil
}

// neighbours is k of 004's classifier in the embedding space, which the paper does not
// tell.
const neighbours = 5

// byRecords returns 004's labels: those of the nearest private codes. They tell of
// records at no charge.
func (t *training) byRecords() (classify, error) {
	codes, err := t.learner.Inner(t.data.private.X)
	if err != nil {
		return nil, err
	}
	nearest := metric.KNN{K: neighbours, Points: points(codes, t.config.Latent), Labels: t.data.private.Labels}
	return func(codes []float32) ([]int, error) { return nearest.Classify(points(codes, t.config.Latent)) }, nil
}

// Measures implements experiment.Measurer: classifiers, mlp again with 004's labels
// (knn), FID, and whether generated images are copies of private ones.
func (Experiment) Measures() []string {
	return utility.Beside("mlp", "logistic", "cnn", "knn", "fid", "copies")
}

// Called implements experiment.Renaming.
func (Experiment) Called(name string) []string { return fid.Called(name) }

// Measure implements experiment.Measurer.
func (Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, name string, count int, say func(run.Event)) (found experiment.Measured, err error) {
	t, err := open(ctx, r, config.(*Config), say)
	if err != nil {
		return found, err
	}
	defer t.close()
	d := t.data
	found = experiment.Measured{Values: run.Values{}, Rows: count, Computed: run.Provenance{Backend: d.backend.String()}}
	label := classify(t.label)
	if name == "knn" {
		found.NonPrivate, found.Note = true, fmt.Sprintf("labels are those of the %d nearest private codes, which no budget was charged for", neighbours)
		if label, err = t.byRecords(); err != nil {
			return found, err
		}
	}
	made, err := t.generate(ctx, count, label)
	if err != nil {
		return found, err
	}
	switch name {
	case "fid":
		return distance(ctx, r, found, d, made, say)
	case "copies":
		near, err := metric.CheckCopies(ctx, points(made.X, pixels), points(d.private.X, pixels), points(d.held.X, pixels))
		found.Values, found.NonPrivate = near.Values(), true
		found.Note = fmt.Sprintf("beside %d private and %d held-out images; copies would be nearer to private ones more often than expected", d.private.Len(), d.held.Len())
		return found, err
	case "knn":
		accuracies, err := t.accuracies(ctx, "mlp", made, r.Spec.Seed, say)
		for metric, value := range accuracies {
			found.Values[metric+ByNeighbours] = value
		}
		return found, err
	}
	found.Values, err = t.accuracies(ctx, name, made, r.Spec.Seed, say)
	return found, err
}

// open restores what a finished run has learned.
func open(ctx context.Context, r *run.Run, c *Config, say func(run.Event)) (*training, error) {
	d, err := load(ctx, c, say)
	if err != nil {
		return nil, err
	}
	t, err := newTraining(c, d, noise.Seeded(r.Spec.Seed))
	if err != nil {
		return nil, err
	}
	if err := t.reopen(r); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// reopen reads what a run's networks have learned.
func (t *training) reopen(r *run.Run) error {
	c := t.config
	s, err := c.sensitivity()
	if err == nil {
		err = t.withLabels(s)
	}
	if err == nil {
		err = read(r, autoencoderFile, t.learner, c.StartSteps+c.Steps)
	}
	if err == nil && t.labels != nil {
		err = read(r, labelsFile, t.labels.learner, c.Labels)
	}
	if err == nil && c.Law > 0 {
		t.law, err = t.readLaw(r)
	}
	return err
}

// read restores a network from a run's artefact.
func read(r *run.Run, name string, of *matching.Learner, steps int) error {
	file, err := r.Artefact(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return restore(of, file, steps)
}

// distance is the FID.
func distance(ctx context.Context, r *run.Run, found experiment.Measured, d *data, images *dataset.Dataset, say func(run.Event)) (experiment.Measured, error) {
	score, err := fid.Open(ctx, d.backend, say)
	if err != nil {
		return found, err
	}
	value, err := score.Distance(ctx, r, images, d.held, "")
	found.Values[score.Name()], found.Note = value.Value, value.Note
	return found, err
}

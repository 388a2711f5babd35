package fair

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fair/xian"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/transport"
)

// PostProcessed trains a private regression without fairness and makes its predictions
// fair afterwards: the baseline of 004's Remark C.4, by Xian, Li, Kamath and Zhao 2024.
// Unlike a model that is trained to be fair, it has to be told the group of whoever it
// predicts something of.
type PostProcessed struct{}

func init() { experiment.Registry.Register(PostProcessed{}) }

// PostConfig are the settings of the training, ε being that of the training alone, and
// of what follows it.
type PostConfig struct {
	Config
	HistogramEpsilon privacy.Epsilon `json:"histogram_epsilon"` // of the histograms; it adds to ε
	Bins             int             `json:"bins"`              // of predictions, from −1 to 1 as responses are
	// Radii are β, with commas between them: all are made of one release.
	Radii string `json:"radii"`
}

// Describe implements plugin.Plugin.
func (PostProcessed) Describe() plugin.Info {
	return plugin.Info{Name: "fair-regression-1d-post", Version: "2", Source: "004 Remark C.4; Xian, Li, Kamath & Zhao 2024",
		Summary: "private regression of a number, made fair afterwards: predictions are transported to a barycentre of both groups' noisy histograms"}
}

// postKind is the task of the training.
func postKind() *kind {
	return kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.Name == "fair-regression-1d" })]
}

// Config implements experiment.Experiment: 004 gives half of (2, 1/n) to the training
// and half to the histograms, and prints neither their bins nor the radii.
func (PostProcessed) Config(preset experiment.Preset) experiment.Config {
	c := &PostConfig{Config: line(preset), HistogramEpsilon: 1, Bins: 24, Radii: "0,0.02,0.05,0.1,0.15,0.2"}
	c.Alpha, c.Epsilon, c.kind = 0, 1, postKind()
	return c
}

// Check implements experiment.Config.
func (c *PostConfig) Check() error {
	if err := c.Config.Check(); err != nil {
		return err
	}
	if c.Alpha != 0 {
		return fmt.Errorf("alpha is %v; the training is without fairness, which comes afterwards: set alpha=0", c.Alpha)
	}
	if err := xian.CheckEpsilon(float64(c.HistogramEpsilon)); err != nil {
		return fmt.Errorf("histogram_epsilon: %w", err)
	}
	if math.IsInf(float64(c.HistogramEpsilon), 1) != !c.budget().Private() {
		return fmt.Errorf("epsilon is %v and histogram_epsilon %v; one that is infinite makes the other worthless, give both or none", c.Epsilon, c.HistogramEpsilon)
	}
	if err := c.bins().Check(); err != nil {
		return err
	}
	_, err := c.AllRadii()
	return err
}

func (c *PostConfig) bins() xian.Bins { return xian.Bins{Low: -1, High: 1, Count: c.Bins} }

// AllRadii are the radii of Radii.
func (c *PostConfig) AllRadii() (radii []float64, err error) {
	for _, text := range strings.Split(c.Radii, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("radii is %q; it is a list of numbers from 0 to 1 with commas between them, such as 0,0.1", c.Radii)
		}
		if slices.Contains(radii, v) {
			return nil, fmt.Errorf("radii is %q; %v stands there twice", c.Radii, v)
		}
		radii = append(radii, v)
	}
	return radii, nil
}

// histogram is the artefact that has what was released of predictions.
const histogram = "histogram.json"

// Run implements experiment.Experiment. It leaves the artefacts model.npz and
// histogram.json, and for every radius β of the settings predictions-β.npy, fair
// predictions for the records for testing with their A and Y beside them, [held, 3].
func (p PostProcessed) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*PostConfig)
	t, test, err := c.begin(r, groups(Parity))
	if err != nil {
		return result, err
	}
	defer t.learner.Close()
	promised := t.promised()
	promised.Further, promised.Amend = []accountant.Event{c.counted()}, c.extend
	paid, err := t.pay(ctx, r, promised)
	if err != nil {
		return result, err
	}
	source, err := dataset.Registry.Lookup(c.Dataset)
	if err != nil {
		return result, err
	}
	if err := t.learn(ctx, r, source.Public()); err != nil {
		return result, err
	}
	if err := r.WriteFile(network, func(to io.Writer) error { return t.save(to, c.Steps) }); err != nil {
		return result, err
	}
	h, err := c.released(r, t)
	if err != nil {
		return result, err
	}
	if result, err = c.finish(ctx, r, t, h, test); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// counted is the event of the histograms.
func (c *PostConfig) counted() accountant.Event {
	if !c.budget().Private() {
		return accountant.NonPrivate{}
	}
	return accountant.Pure{Epsilon: float64(c.HistogramEpsilon)}
}

// extend adds the histograms to what is said of the training. Both are composed as
// 004 does, (ε, δ) and (ε′, 0) to (ε + ε′, δ), which is sound and not the least that
// could be proved.
func (c *PostConfig) extend(s *privacy.Statement) {
	if !c.budget().Private() {
		return
	}
	for i, claim := range s.Claims {
		s.Claims[i].Epsilon += c.HistogramEpsilon
		s.Claims[i].Note = strings.TrimPrefix(fmt.Sprintf("%s; %v of it for the training, %v for the histograms, by composition", claim.Note, claim.Epsilon, c.HistogramEpsilon), "; ")
	}
	s.Mechanism += fmt.Sprintf("; then discrete Laplace noise exp(−%v|k|/2) on each count of predictions by bin and group, as one record moves two of them by 1", c.HistogramEpsilon)
}

// released returns the histogram of predictions for the records for training. A run
// that goes on takes the one that it has released.
func (c *PostConfig) released(r *run.Run, t *training) (h xian.Histogram, err error) {
	if err := r.ReadJSON(histogram, &h); !errors.Is(err, fs.ErrNotExist) {
		return h, cmp.Or(err, h.Check())
	}
	scores, err := t.predict(t.records)
	if err != nil {
		return h, err
	}
	counts, err := xian.NoisyCounts(scores, t.records.Group, c.bins(), math.Inf(1), nil) // without noise
	if err != nil {
		return h, err
	}
	text, err := json.Marshal(counts)
	if err == nil && !math.IsInf(float64(c.HistogramEpsilon), 1) {
		err = r.Once("histogram", sha256.Sum256(text))
	}
	if err != nil {
		return h, err
	}
	h, err = xian.Release(scores, t.records.Group, c.bins(), float64(c.HistogramEpsilon), t.secret.Stream("histogram", 0))
	if err != nil {
		return h, err
	}
	return h, r.WriteJSON(histogram, h)
}

// predict returns the predictions for records, [n].
func (t *training) predict(r *Records) ([]float64, error) {
	output, err := t.learner.Output(r.X)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(output))
	for i, v := range output {
		scores[i] = float64(v)
	}
	return scores, nil
}

// onLine are points of R, as the models have them.
func onLine(values []float64) transport.Points {
	p := transport.NewPoints(len(values), 1)
	for i, v := range values {
		p.Data[i] = float32(v)
	}
	return p
}

// AtRadius names a metric of predictions that were made fair with a radius.
func AtRadius(metric string, radius float64) string {
	return fmt.Sprintf("%s, β = %v", metric, radius)
}

// finish makes predictions for the records for testing fair, and measures them before
// and after.
func (c *PostConfig) finish(ctx context.Context, r *run.Run, t *training, h xian.Histogram, test *Records) (result run.Result, err error) {
	scores, err := t.predict(test)
	if err != nil {
		return result, err
	}
	target, err := c.kind.target(test)
	if err != nil {
		return result, err
	}
	radii, err := c.AllRadii()
	if err != nil {
		return result, err
	}
	m := run.Values{"steps": float64(c.Steps)}
	told, err := matching.TellNoise(m, t.NoiseStd, t.learner.Parameters())
	if err != nil {
		return result, err
	}
	if err := c.measure(m, func(name string) string { return name }, test, scores, target); err != nil {
		return result, err
	}
	var unsolved []string
	for i, radius := range radii {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if err := r.Emit(run.Event{Message: fmt.Sprintf("transport of %d bins with β = %v, %d of %d", c.Bins, radius, i+1, len(radii))}); err != nil {
			return result, err
		}
		move, err := xian.NewTransport(h, radius)
		if err != nil { // no reason to lose what is paid for: other settings would pay again
			unsolved = append(unsolved, fmt.Sprintf("β = %v (%v)", radius, err))
			continue
		}
		fair, random := make([]float64, len(scores)), t.public.Stream("transport", i)
		for j, score := range scores {
			fair[j] = move.Apply(score, test.Group[j], random)
		}
		if err := c.measure(m, func(name string) string { return AtRadius(name, radius) }, test, fair, target); err != nil {
			return result, err
		}
		if err := r.WriteTable(fmt.Sprintf("predictions-%v.npy", radius), withGroups(onLine(fair), test), 3); err != nil {
			return result, err
		}
	}
	result.Metrics = m
	result.Note = fmt.Sprintf("on %d records that the model has not seen, before the transport and after it with radius β; distance is the squared W₂ between predictions for both groups; %s", test.Len(), told)
	if len(unsolved) > 0 {
		result.Note += "; no transport was found for " + strings.Join(unsolved, ", nor for ")
	}
	return result, nil
}

// measure adds what Remark C.4 has, of predictions, [n].
func (c *PostConfig) measure(m run.Values, name func(string) string, r *Records, predictions []float64, target []float32) error {
	points := onLine(predictions)
	for i, v := range points.Data {
		m[name("task loss")] += math.Pow(float64(v)-float64(target[i]), 2) / float64(len(target))
	}
	if err := train.Finite("what the model predicts", points.Data...); err != nil {
		return err
	}
	d, err := distance(points, r, groups(Parity))
	if err != nil {
		return err
	}
	m[name("distance")] = d
	own := run.Values{}
	if err := measureLine(own, r, points.Data, nil); err != nil {
		return err
	}
	m[name("KS")] = own["KS"]
	return nil
}

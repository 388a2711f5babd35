package fair

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/transport"
)

// Saddle trains a logistic regression on Adult against a penalty on unfairness: the
// baselines of 004's Figure 16. Their papers protect the sensitive attribute and nothing
// else; here all that a record says but that is protected, as in fair-adult, so that all
// compare.
type Saddle struct{ kind *saddleKind }

// saddleKind is a baseline.
type saddleKind struct {
	plugin.Info
	penalty func(share [2]float64) penalty
	dual    int     // number of dual variables
	rate    float64 // of ascent
	share   float64 // of clipping that dual variables have
}

var saddleKinds = []*saddleKind{
	{Info: plugin.Info{Name: "fair-adult-ermi", Version: "2", Source: "Lowy, Gupta & Razaviyayn 2023; 004 Figure 16",
		Summary: "private logistic regression on Adult, penalised by the Rényi mutual information of decisions and sex"},
		penalty: func(share [2]float64) penalty { return ermi{share} }, dual: 4, rate: 0.5, share: 0.25},
	{Info: plugin.Info{Name: "fair-adult-lagrangian", Version: "2", Source: "Tran, Fioretto & Van Hentenryck 2021; 004 Figure 16",
		Summary: "private logistic regression on Adult under the constraint that women and men have the same mean score, by its Lagrangian"},
		penalty: func(share [2]float64) penalty { return gap{share} }, dual: 1, rate: 0.02, share: 0.5},
}

func init() {
	for _, k := range saddleKinds {
		experiment.Registry.Register(Saddle{k})
	}
}

// SaddleConfig are the settings of a training against a penalty.
type SaddleConfig struct {
	Dataset     string `json:"dataset"`
	Records     int    `json:"records"` // n, records for training
	Held        int    `json:"held"`    // records for testing
	PublicSizes bool   `json:"public_sizes"`

	Alpha   float64         `json:"alpha"` // α, weight of the penalty against the loss
	Epsilon privacy.Epsilon `json:"epsilon"`
	Delta   float64         `json:"delta"`

	Steps        int     `json:"steps"`         // T, steps
	LearningRate float64 `json:"learning_rate"` // of the optimiser
	Share        float64 `json:"share"`         // n′/n, of each group that a step looks at
	LossLimit    float64 `json:"loss_limit"`    // C, to which a record's gradient by weights and dual variables is clipped
	DualRate     float64 `json:"dual_rate"`     // of the dual variables' ascent
	DualShare    float64 `json:"dual_share"`    // κ, what gradients by dual variables count in C

	kind *saddleKind
}

// Describe implements plugin.Plugin.
func (s Saddle) Describe() plugin.Info { return s.kind.Info }

// Config implements experiment.Experiment: ours, as for fair-adult, as the privacy is
// another than in the papers.
func (s Saddle) Config(preset experiment.Preset) experiment.Config {
	c := adultSettings(preset)
	return &SaddleConfig{
		Dataset: c.Dataset, Records: c.Records, Held: c.Held, PublicSizes: true, Alpha: c.Alpha, Epsilon: c.Epsilon, Delta: c.Delta,
		Steps: c.Steps, LearningRate: c.LearningRate, Share: c.Share, LossLimit: c.LossLimit, DualRate: s.kind.rate, DualShare: s.kind.share, kind: s.kind,
	}
}

// byLossAlone are the settings of a training whose gradients are those of a loss alone, which
// is what the sum of clipped gradients looks like from outside.
func (c *SaddleConfig) byLossAlone() *Config {
	a := adultSettings(experiment.Quick)
	a.Dataset, a.Records, a.Held, a.PublicSizes = c.Dataset, c.Records, c.Held, c.PublicSizes
	a.Alpha, a.Epsilon, a.Delta = 0, c.Epsilon, c.Delta
	a.Steps, a.LearningRate, a.Share, a.LossLimit = c.Steps, c.LearningRate, c.Share, c.LossLimit
	a.kind = adultKind
	return &a
}

// Check implements experiment.Config.
func (c *SaddleConfig) Check() error {
	if !(c.Alpha >= 0 && c.Alpha <= 1) {
		return fmt.Errorf("alpha is %v; it weighs the penalty against the loss from 0 to 1", c.Alpha)
	}
	if err := cmp.Or(
		experiment.Positive("dual_rate", c.DualRate, experiment.Fastest),
		experiment.Positive("dual_share", c.DualShare, experiment.Farthest),
	); err != nil {
		return err
	}
	return c.byLossAlone().Check()
}

// promise plans the steps.
func (c *SaddleConfig) promise(r *Records) (p promise, err error) {
	if p, err = c.byLossAlone().promise(r, r.Dim+1+c.kind.dual, 1); err != nil {
		return p, err
	}
	batch := 0
	for _, n := range p.taken {
		batch += n
	}
	if p.Sensitivity, err = c.sensitivity(batch); err != nil { // the same, of another name
		return p, err
	}
	p.notCovered = slices.DeleteFunc(p.notCovered, func(line string) bool { return line == matching.NotCovered }) // no device is asked
	for i := range p.claims {
		p.claims[i].Note = "the accounting of 004 Section 5.3 for the same noise: a limit for many small steps, no bound"
	}
	return p, nil
}

// saddleFile is the artefact that has the weights and dual variables.
const saddleFile = "model.json"

// Run implements experiment.Experiment. It leaves the artefacts model.json, weights and
// dual variables, and predictions.npy, scores of the records for testing with their A and
// Y beside them, [held, 3]. A training that was interrupted begins again, and releases
// what it has released.
func (s Saddle) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*SaddleConfig)
	train, test, err := sources[c.Dataset](c.byLossAlone())
	if err != nil {
		return result, err
	}
	if err := train.Check(); err != nil {
		return result, err
	}
	if _, _, err := test.categories(groups(Odds)); err != nil {
		return result, fmt.Errorf("records for testing: %w", err)
	}
	if err := r.ComputedOn("plain Go", train.Origin); err != nil {
		return result, err
	}
	p, err := c.promise(train)
	if err != nil {
		return result, err
	}
	paid, err := experiment.Promise{Data: c.Dataset, Plan: p.Plan, Published: p.claims, NotCovered: p.notCovered,
		Rows: train.X, Labels: slices.Concat(train.Group, train.Label)}.Make(ctx, r)
	if err != nil {
		return result, err
	}
	d := newDuel(c, train)
	if err := d.learn(ctx, r, p, paid.Releaser); err != nil {
		return result, err
	}
	if err := r.WriteFile(saddleFile, func(to io.Writer) error {
		return json.NewEncoder(to).Encode(map[string][]float64{"weights": d.weights, "dual": d.dual})
	}); err != nil {
		return result, err
	}
	if result, err = d.finish(r, p, test); err != nil {
		return result, err
	}
	return result, paid.Commit(ctx)
}

// learn makes the steps.
func (d *duel) learn(ctx context.Context, r *run.Run, p promise, release *privacy.Releaser) error {
	for step := range d.config.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := release.Draw(step)
		if err != nil {
			return err
		}
		s, err := d.config.sensitivity(len(rows))
		if err != nil {
			return err
		}
		values := d.gradient(rows)
		if err := release.Release(values, s, step); err != nil {
			return err
		}
		if err := d.step(values); err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		if err := r.Emit(run.Event{Step: step + 1, Total: d.config.Steps}); err != nil {
			return err
		}
	}
	return nil
}

// finish measures as fair-adult is measured.
func (d *duel) finish(r *run.Run, p promise, test *Records) (result run.Result, err error) {
	scores := d.predict(test)
	points := transport.Points{Dim: 1, Data: scores}
	if err := r.WriteTable(Predictions, withGroups(points, test), 3); err != nil {
		return result, err
	}
	m := run.Values{"steps": float64(d.config.Steps)}
	told, err := matching.TellNoise(m, p.NoiseStd, len(d.weights)+len(d.dual))
	if err != nil {
		return result, err
	}
	for i, score := range scores {
		m["task loss"] -= math.Log(math.Abs(float64(1-test.Label[i])-math.Min(math.Max(float64(score), 1e-6), 1-1e-6))) / float64(len(scores))
	}
	if m["distance"], err = distance(points, test, groups(Parity)); err != nil {
		return result, err
	}
	result.Metrics = m
	result.Note = fmt.Sprintf("on %d records that the model has not seen; distance is the squared W₂ between scores of both groups; %s", test.Len(), told)
	return result, measureDecisions(m, test, scores, nil)
}

//go:embed saddle.go
var saddleWords embed.FS

// Meanings implements plugin.Explained.
func (*SaddleConfig) Meanings() map[string]string { return plugin.Meanings(saddleWords) }

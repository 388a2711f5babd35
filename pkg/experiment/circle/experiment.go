package circle

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"molehill/models/backend"
	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/sliced"
)

// The sides of a gradient's plan.
const (
	ofX = iota // the sample that is transformed
	ofZ        // the records that it is to look like
)

// method is how a generator learns of Z.
type method interface {
	promise() privacy.Plan
	begin(*privacy.Releaser) error // of promise, after the statement is written, before the first step
	step(step int) error
	spent(steps int) (epsilon [2]privacy.Epsilon, err error)
	tell(run.Values) (words string, err error) // what noise there was
	apply(x transport.Points) (transport.Points, error)
	save(to io.Writer, done int) error
	restore(from io.Reader, done int) error
	close()
}

type kind struct {
	plugin.Info
	config func(experiment.Preset) Config
	check  func(*Config) error
	new    func(c *Config, on *backend.Backend, x, z transport.Points, public noise.Source) (method, []privacy.Claim, error)
	game   func(c *Config, seed uint64, statement privacy.Statement) (audit.Game, error)

	notCovered []string // by a statement, beside what no statement covers
}

// kinds are registered as experiments.
var kinds = []*kind{
	{Info: plugin.Info{Name: "circle", Version: "3", Source: "004 D.2, Figure 22",
		Summary: "private generator of points on a circle: the clipped gradient of a sliced distance gets noise at each step"},
		config: published, new: gradients, game: gradientsGame, notCovered: []string{matching.NotCovered}},
	{Info: plugin.Info{Name: "circle-projections", Version: "1", Source: "004 D.2, Figure 23; Rakotomamonjy & Ralaivola 2021; Greenewald et al. 2024",
		Summary: "private generator of points on a circle: the records' projections get noise, once; nothing protects what is transformed"},
		config: projected, check: withoutX, new: projections, game: projectionsGame},
}

func init() {
	for _, k := range kinds {
		experiment.Registry.Register(Experiment{k})
	}
}

// Experiment trains a generator in one of the ways.
type Experiment struct{ kind *kind }

// Describe implements plugin.Plugin.
func (e Experiment) Describe() plugin.Info { return e.kind.Info }

// Config implements experiment.Experiment.
func (e Experiment) Config(preset experiment.Preset) experiment.Config {
	c := e.kind.config(preset)
	c.kind = e.kind
	return &c
}

// Frame is a picture of a training on its way.
type Frame struct {
	Step     int             `json:"step"`
	Distance float64         `json:"distance"` // squared sliced W₂ of generated points to new ones of the circle
	EpsilonX privacy.Epsilon `json:"epsilon_x"`
	EpsilonZ privacy.Epsilon `json:"epsilon_z"`
	Points   []float32       `json:"points"` // generated, [shown, 2]
}

const (
	artefact = "model.npz"
	frames   = "frames.json"
	shown    = 600  // points of a picture
	scored   = 5000 // points that the distance is of
	lines    = 128  // directions of the distance
)

// training is a method, and what its pictures are made of, all of it public.
type training struct {
	method
	config   *Config
	source   transport.Points // of generated points, [scored, 2]
	target   transport.Points // of the circle, [scored, 2]
	lines    sliced.Directions
	pictures []Frame
}

// Run implements experiment.Experiment. It leaves the artefacts model.npz and
// frames.json ([]Frame), and the curves "squared sliced W₂", "ε of X" and "ε of Z".
func (e Experiment) Run(ctx context.Context, r *run.Run, config experiment.Config) (result run.Result, err error) {
	c := config.(*Config)
	on, err := backend.Open()
	if err != nil {
		return result, err
	}
	if err := r.ComputedOn(on.String(), fmt.Sprintf("generated from seed %d", r.Spec.Seed)); err != nil {
		return result, err
	}
	public := noise.Seeded(r.Spec.Seed)
	x, z := normal(c.Records, public, "X"), Points(c.Records, public, "Z")
	w, claims, err := c.kind.new(c, on, x, z, public)
	if err != nil {
		return result, err
	}
	defer w.close()
	last, err := w.spent(c.Steps)
	if err != nil {
		return result, err
	}
	paid, err := experiment.Promise{Plan: w.promise(), Rows: slices.Concat(x.Data, z.Data), Published: claims,
		NotCovered: append(c.notCovered(last), c.kind.notCovered...)}.Make(ctx, r)
	if err != nil {
		return result, err
	}
	if err := w.begin(paid.Releaser); err != nil {
		return result, err
	}
	t := &training{method: w, config: c, source: normal(scored, public, "source"), target: Points(scored, public, "target"),
		lines: sliced.Orthonormal(2, lines/2, rand.New(rand.NewPCG(1, 0x63697263)))}
	if err := t.learn(ctx, r); err != nil {
		return result, err
	}
	if err := r.WriteFile(artefact, func(to io.Writer) error { return t.save(to, c.Steps) }); err != nil {
		return result, err
	}
	if err := r.WriteJSON(frames, t.pictures); err != nil {
		return result, err
	}
	end := t.pictures[len(t.pictures)-1]
	result.Metrics = run.Values{"steps": float64(c.Steps), "distance": end.Distance, "ε of X": end.EpsilonX.Up(), "ε of Z": end.EpsilonZ.Up()}
	told, err := w.tell(result.Metrics)
	if err != nil {
		return result, err
	}
	result.Note = fmt.Sprintf("distance is the squared sliced W₂ between %d generated points and as many new ones of the circle; %s", scored, told)
	return result, nil
}

// notCovered is what a promise does not cover.
func (c *Config) notCovered(spent [2]privacy.Epsilon) []string {
	lines := []string{"nothing of the points needs protection: they are generated, and public by construction"}
	if c.budget().Private() {
		other, whose := spent[ofX], "the sample X that is transformed, for which the same noise proves"
		if c.Both {
			other, whose = spent[ofZ], "that the same noise proves more for the records Z:"
		}
		lines = append(lines, fmt.Sprintf("%s ε = %v", whose, other))
	}
	return append(lines,
		"how many records there are, and how many of them a step looks at",
		experiment.SettingsNotCovered)
}

// learn makes the steps from the last checkpoint on, with pictures between them. Those
// before it are made of what the first computation left.
func (t *training) learn(ctx context.Context, r *run.Run) error {
	c := t.config
	done, _, err := r.Restore(func(done int, from io.Reader) error { return t.resume(from, done) })
	if err != nil {
		return err
	}
	if done == 0 {
		values, err := t.picture(0)
		if err != nil {
			return err
		}
		if err := r.Emit(run.Event{Total: c.Steps, Values: values}); err != nil {
			return err
		}
	}
	return run.Loop{Total: c.Steps, Save: t.keep, Step: func(done int) (run.Values, error) {
		if err := t.step(done); err != nil {
			return nil, err
		}
		return t.picture(done + 1)
	}}.Run(ctx, r, done)
}

// picture adds one to those there are, if there is to be one after so many steps.
func (t *training) picture(done int) (run.Values, error) {
	if i, ok := t.config.frame(done); !ok || i != len(t.pictures) {
		return nil, nil
	}
	made, err := t.apply(t.source)
	if err != nil {
		return nil, err
	}
	if err := train.Finite("what the generator makes", made.Data...); err != nil {
		return nil, err
	}
	d, err := sliced.SW2(made, t.target, t.lines)
	if err != nil {
		return nil, err
	}
	spent, err := t.spent(done)
	if err != nil {
		return nil, err
	}
	f := Frame{Step: done, Distance: d.Power, EpsilonX: spent[ofX], EpsilonZ: spent[ofZ], Points: slices.Clone(made.Data[:2*shown])}
	t.pictures = append(t.pictures, f)
	return run.Values{"squared sliced W₂": d.Power, "ε of X": f.EpsilonX.Up(), "ε of Z": f.EpsilonZ.Up()}, nil
}

// keep writes pictures as a line of JSON, and the network after it.
func (t *training) keep(to io.Writer, done int) error {
	if err := json.NewEncoder(to).Encode(t.pictures); err != nil {
		return err
	}
	return t.save(to, done)
}

func (t *training) resume(from io.Reader, done int) error {
	decoder := json.NewDecoder(from)
	if err := decoder.Decode(&t.pictures); err != nil {
		return fmt.Errorf("circle: pictures of a checkpoint: %w; start a new run", err)
	}
	rest := io.MultiReader(decoder.Buffered(), from)
	if _, err := io.ReadFull(rest, make([]byte, 1)); err != nil { // the end of the line
		return fmt.Errorf("circle: a checkpoint: %w; start a new run", err)
	}
	return t.restore(rest, done)
}

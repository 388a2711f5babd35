package tables

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/generator"
	"molehill/models/layer"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// bySinkhorn trains a generator of rows by DP-Sinkhorn (package training). The target
// is a column like the others there, and not a class.
type bySinkhorn struct {
	*training.Method
	places *places
}

func newBySinkhorn(c *Config, columns []table.Column) (*bySinkhorn, error) {
	p, err := newPlaces(columns)
	return &bySinkhorn{Method: c.training(p), places: p}, err
}

func (c *Config) training(p *places) *training.Method {
	return &training.Method{Settings: c.Settings, Subject: p, Budget: c.Budget(), Steps: c.Steps, Classes: 1}
}

// tableRecords are rows of a table where they meet generated ones.
type tableRecords struct {
	places *places
	rows   *table.Table
}

// Place implements training.Records.
func (r tableRecords) Place(to []float32, i int) int {
	r.places.of(to, r.rows, i)
	return 0
}

// Learn implements Method.
func (m *bySinkhorn) Learn(ctx context.Context, r *run.Run, t *table.Table, release *privacy.Releaser, steps int) error {
	m.Data = synth.Own + t.Schema.Name
	return m.Method.Learn(ctx, r, tableRecords{m.places, t}, release, steps)
}

// Network implements training.Subject.
func (p *places) Network(s training.Settings) generator.Design {
	return rowNetwork{Latent: s.Latent, Width: s.Width, Outcomes: p.sizes()}
}

// Dim implements training.Subject.
func (p *places) Dim() int { return p.dim }

// Meet implements training.Subject. It is the means of rows that meet the records:
// rows drawn of their probabilities would bring noise of their own.
func (p *places) Meet(to, probabilities []float32) { p.mean(to, probabilities) }

// MovedName implements training.Subject.
func (*places) MovedName() string { return "columns, moved since told last" }

// Moved implements training.Subject: by the total variation of columns, on average.
func (p *places) Moved(from, to transport.Points) float64 {
	before, after := shares(from), shares(to)
	var apart float64
	for k, v := range after {
		apart += math.Abs(float64(v-before[k])) / 2
	}
	return apart / float64(len(p.corners))
}

// shares are those of each outcome in rows of probabilities.
func shares(probabilities transport.Points) []float32 {
	shares, n := make([]float32, probabilities.Dim), float32(probabilities.Len())
	for i := range probabilities.Len() {
		for k, v := range probabilities.Row(i) {
			shares[k] += v / n
		}
	}
	return shares
}

// Make implements Method: of each row the generator makes probabilities, of which each
// column is drawn by itself.
func (m *bySinkhorn) Make(ctx context.Context, r *run.Run, _, rows int) ([][]table.Code, error) {
	rng := noise.Seeded(r.Spec.Seed).Stream("rows", 0)
	codes, members := make([][]table.Code, len(m.places.corners)), make([][][]table.Code, len(m.places.corners))
	for j := range codes {
		codes[j], members[j] = make([]table.Code, rows), m.places.members(j)
	}
	outcomes := make([]int, len(codes))
	return codes, m.GenerateAll(ctx, rows, nil, rng, func(first int, probabilities transport.Points) {
		for i := range probabilities.Len() {
			m.places.draw(outcomes, probabilities.Row(i), rng)
			for j, k := range outcomes {
				codes[j][first+i] = members[j][k][rng.IntN(len(members[j][k]))]
			}
		}
	})
}

// Tell implements Method. It describes the training: nobody but the generator has a
// use for its gradients.
func (m *bySinkhorn) Tell(statement privacy.Statement, codes [][]table.Code) (report.Section, run.Values, error) {
	return report.Section{Heading: "What was released", Text: []string{
		m.Told(statement, "rows"),
		"They trained a generator, and the synthetic rows were drawn from it. More can be, at no cost in privacy. How far the rows are from the private ones was not released.",
	}}, run.Values{"rows": rowsOf(codes), "steps": float64(statement.Steps)}, nil
}

// rowsOf is how many rows codes of columns are.
func rowsOf(codes [][]table.Code) float64 {
	if len(codes) == 0 {
		return 0
	}
	return float64(len(codes[0]))
}

// rowNetwork makes probabilities of the outcomes of each column of noise: two hidden
// layers, and a softmax a column. It implements generator.Design.
type rowNetwork struct {
	Latent   int   `json:"latent"`   // dimension of its noise
	Width    int   `json:"width"`    // of its hidden layers
	Outcomes []int `json:"outcomes"` // of each column
}

// Check implements generator.Design.
func (n rowNetwork) Check() error {
	if n.Latent < 1 || n.Width < 1 || len(n.Outcomes) == 0 {
		return fmt.Errorf("latent is %d and width %d for %d columns; take at least 1 of each", n.Latent, n.Width, len(n.Outcomes))
	}
	return nil
}

// Size implements generator.Design.
func (n rowNetwork) Size() (input, output int) {
	for _, size := range n.Outcomes {
		output += size
	}
	return n.Latent, output
}

// Network implements generator.Design.
func (n rowNetwork) Network() layer.Layer { return training.Layers(n, n.Width, n.softmax) }

func (n rowNetwork) softmax(x *graph.Node) *graph.Node {
	var parts []*graph.Node
	from := 0
	for _, size := range n.Outcomes {
		parts = append(parts, graph.Softmax(graph.SliceAxis(x, 1, graph.AxisRange(from, from+size)), 1))
		from += size
	}
	return graph.Concatenate(parts, 1)
}

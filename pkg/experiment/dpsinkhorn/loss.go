// Package dpsinkhorn holds DP-Sinkhorn (001, with 002 its appendix): a generator
// of labelled images that learns from private ones through the noisy gradient of
// a Sinkhorn loss by its images.
package dpsinkhorn

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/transport"
	"molehill/transport/graph"
)

// Loss is the semi-debiased Sinkhorn loss of generated labelled rows against real
// ones (001 Eq. 6 and Section 4.4):
//
//	2·W(X[0:n], Y) − W(X[0:n], X[n′:n+n′]),   n′ = ⌊n·p⌋,
//
// with the cost ‖x−y‖₂² + m·‖x−y‖₁ of rows, and of one-hot labels times α_c
// behind them.
type Loss struct {
	Debiasing  float64 // p in [0, 1]
	Absolute   float64 // m ≥ 0
	Unsquared  bool    // the cost has no ‖x−y‖₂² (001's ablation)
	LabelScale float64 // α_c ≥ 0
	Classes    int     // of labels, 0 … Classes−1
	Entropy    float64 // λ > 0, in the unit of the cost
	Iterations int     // of Sinkhorn's algorithm, at most
	Tolerance  float64 // of the marginals
}

// Batch is labelled rows.
type Batch struct {
	transport.Points       // [n, dim]
	Labels           []int // [n]
}

// Pull is what a step learns from its real rows.
type Pull struct {
	ByX           []float32 // ∂Loss/∂X, [n+n′, dim]
	Loss          float64
	MarginalError float64 // the larger of the two terms'
}

// Split returns n and n′ for n generated rows that meet the real ones: n + n′ are
// generated.
func (l Loss) Split(n int) (total, extra int) {
	extra = int(float64(n) * l.Debiasing)
	return n + extra, extra
}

func (l Loss) check() error {
	switch {
	case !(l.Debiasing >= 0 && l.Debiasing <= 1):
		return fmt.Errorf("dpsinkhorn: debiasing p = %v; it is from 0 to 1", l.Debiasing)
	case !(l.Absolute >= 0) || !(l.LabelScale >= 0):
		return fmt.Errorf("dpsinkhorn: a cost with m = %v and α_c = %v; both are at least 0", l.Absolute, l.LabelScale)
	case l.Unsquared && l.Absolute == 0:
		return fmt.Errorf("dpsinkhorn: a cost without squares and with m = 0 is no cost; set absolute to 1, or leave the squares in")
	case l.Classes < 1:
		return fmt.Errorf("dpsinkhorn: labels of %d classes; take at least 1", l.Classes)
	}
	return l.solver().Check()
}

func (l Loss) solver() graph.Sinkhorn {
	cost := graph.Cost(graph.SquaredL2)
	switch {
	case l.Unsquared:
		cost = graph.Mixture(0, l.Absolute)
	case l.Absolute > 0:
		cost = graph.Mixture(1, l.Absolute)
	}
	return graph.Sinkhorn{Epsilon: l.Entropy, Cost: cost, Iterations: l.Iterations, Tolerance: l.Tolerance}
}

// Largest is the largest cost between rows whose differences have norms ‖·‖₂ and
// ‖·‖₁ of at most these. Labels are two more coordinates of the difference, of α_c each.
func (l Loss) Largest(euclidean, absolute float64) float64 {
	cost := l.Absolute * (absolute + 2*l.LabelScale)
	if !l.Unsquared {
		cost += euclidean*euclidean + 2*l.LabelScale*l.LabelScale
	}
	return cost
}

// CheckIterations says whether Sinkhorn's algorithm has the iterations that λ takes
// to come down from costs of so much (graph.Sinkhorn.Scaling). With fewer the plan is
// one of another λ, and its gradient useless, or not finite.
func (l Loss) CheckIterations(largest float64) error {
	if err := l.CheckCosts(largest); err != nil {
		return err
	}
	blocks := 2 + math.Ceil(max(0, math.Log(largest/16/l.Entropy)/math.Log(4)))
	if least := 10 * blocks; !(float64(l.Iterations) >= least) {
		return fmt.Errorf("dpsinkhorn: %d iterations; costs of up to %.3g beside an entropy of %v take at least %.0f", l.Iterations, largest, l.Entropy, least)
	}
	return nil
}

// dearest is the largest cost whose sums and squares float32 holds.
const dearest = 1e15

// CheckCosts says whether costs of so much can be reckoned with: the gradient of one that
// overflows is none, and noise on it would be paid for.
func (l Loss) CheckCosts(largest float64) error {
	if !(largest <= dearest) {
		return fmt.Errorf("dpsinkhorn: costs of up to %.3g, with absolute = %v and label_scale = %v; single precision reckons with %g at most, take smaller ones", largest, l.Absolute, l.LabelScale, float64(dearest))
	}
	return nil
}

// sizes are those of the batches that a loss is for: n generated rows that meet real ones,
// and Split's others, beside at most room real ones, all of one dimension.
type sizes struct {
	loss         Loss
	n, room, dim int
}

// sized returns the sizes, or what is wrong with them or with the loss.
func (l Loss) sized(n, room, dim int) (sizes, error) {
	if err := l.check(); err != nil {
		return sizes{}, err
	}
	if n < 1 || room < 1 || dim < 1 {
		return sizes{}, fmt.Errorf("dpsinkhorn: %d generated rows beside at most %d of dimension %d; take at least 1 of each", n, room, dim)
	}
	return sizes{l, n, room, dim}, nil
}

// checkMade says what is wrong with generated rows.
func (s sizes) checkMade(x Batch) error {
	total, _ := s.loss.Split(s.n)
	if x.Dim != s.dim || x.Len() != total || len(x.Labels) != total {
		return fmt.Errorf("dpsinkhorn: %d generated rows of dimension %d with %d labels; the loss is for %d of dimension %d: have the generator make as many (Loss.Split) of as many numbers, and give each a label", x.Len(), x.Dim, len(x.Labels), total, s.dim)
	}
	if err := checkRange(x.Labels, s.loss.Classes); err != nil {
		return fmt.Errorf("dpsinkhorn: generated rows: %w", err)
	}
	if err := x.Check(); err != nil {
		return fmt.Errorf("dpsinkhorn: generated rows: %w", err)
	}
	return nil
}

// checkRange refuses labels that are of no class. What is drawn of private rows is not asked
// (Program.Gradient): all of them are before anything is paid (checkLabels).
func checkRange(labels []int, classes int) error {
	for i, label := range labels {
		if label < 0 || label >= classes {
			return fmt.Errorf("expected labels from 0 to %d, found %d in row %d; mend or leave out that row", classes-1, label, i)
		}
	}
	return nil
}

// checkReal says what is wrong with the shape of real rows, which is public.
func (s sizes) checkReal(rows Batch) error {
	if rows.Len() > 0 && (rows.Dim != s.dim || len(rows.Labels) != rows.Len()) {
		return fmt.Errorf("dpsinkhorn: %d real rows of dimension %d with %d labels; the loss is for rows of dimension %d, each with a label: bring such rows, or a loss for their dimension", rows.Len(), rows.Dim, len(rows.Labels), s.dim)
	}
	return nil
}

// without takes back the pull of real rows, where there are none.
func (s sizes) without(pull Pull) Pull {
	clear(pull.ByX[:s.n*s.dim])
	pull.Loss = 0
	return pull
}

// Program computes the gradient of a Loss on a backend, for batches of fixed
// shapes: as many generated rows as Split says of n, and at most room real ones.
// It is for one goroutine.
type Program struct {
	sizes
	on   *backend.Backend
	how  solving
	exec *Exec
}

// Compile builds the program for n generated rows beside real ones of the same
// dimension, of which at most room are looked at: a public number.
func (l Loss) Compile(b *backend.Backend, n, room, dim int) (*Program, error) {
	_, extra := l.Split(n)
	away := !b.OnCPU()
	return l.compile(b, n, room, dim, solving{
		atOnce: away && extra > 0, // without, the second term is symmetric
		fixed:  away && l.Iterations <= 300,
	})
}

// solving is how the terms of a loss are computed.
type solving struct {
	atOnce bool // in one loop (graph.SemiDebiasedAtOnce), not one by one
	fixed  bool // with all iterations (graph.Sinkhorn.Fixed)
}

// compile builds a program that solves the loss's terms in one way or another.
func (l Loss) compile(b *backend.Backend, n, room, dim int, how solving) (*Program, error) {
	of, err := l.sized(n, room, dim)
	if err != nil {
		return nil, err
	}
	p := &Program{sizes: of, on: b, how: how}
	p.exec, err = NewExec(b.Engine, func(x, labels, y, labelsY, weights *Node) []*Node {
		d := p.divergence(x, labels, y, labelsY, weights)
		return []*Node{Gradient(d.Value, x)[0], d.Value, d.MarginalError}
	})
	if err != nil {
		return nil, fmt.Errorf("dpsinkhorn: on %s: %w", b, err)
	}
	return p, nil
}

// divergence builds the loss of generated rows x, [n+n′, dim], with labels against real
// ones y, [room, dim], with theirs and with weights, 0 for those that are not there.
func (p *Program) divergence(x, labels, y, labelsY, weights *Node) *graph.Divergence {
	l, s := p.loss, p.loss.solver()
	s.Fixed = p.how.fixed
	xs := graph.Labelled(x, labels, l.Classes, l.LabelScale)
	ys := graph.Measure{Points: graph.Labelled(y, labelsY, l.Classes, l.LabelScale), Weights: weights}
	if p.how.atOnce {
		return s.SemiDebiasedAtOnce(xs, ys, l.Debiasing)
	}
	return s.SemiDebiased(xs, ys, l.Debiasing)
}

// behind is the loss as the head of a generator's graph (train.Head): of what the generator
// makes, and of given.on. Its one result is what Pull has, and 1 where all that was
// generated is finite, else 0: of small results each by itself would take as long to fetch.
func (p *Program) behind(x *Node, more []*Node) []*Node {
	d := p.divergence(x, more[0], more[1], more[2], more[3])
	return []*Node{packed(x, Gradient(d.Value, x)[0], d.Value, d.MarginalError)}
}

// unpack reads what behind has made.
func (p *Program) unpack(packed []float32, _ func() ([]float32, error), in given) (Pull, error) {
	numbers := len(packed) - 2
	pull := Pull{ByX: packed[:numbers:numbers], Loss: float64(packed[numbers]), MarginalError: float64(packed[numbers+1])}
	if in.empty {
		pull = p.without(pull)
	}
	return pull, nil
}

// Close releases the program.
func (p *Program) Close() { p.exec.Finalize() }

// Gradient returns the gradient at generated rows x. How many real rows there are
// is left to chance by a Poisson sample, and private: of more than there is room
// for the first ones are looked at, and where there are none the rows that would
// have met them get no pull, while the others get theirs, as always. Real rows
// count nothing unless all their numbers are finite, and labels out of range are
// of no class. Loss and MarginalError tell of the real rows, too: they are for
// nobody but those who may see these.
func (p *Program) Gradient(x, real Batch) (Pull, error) {
	if err := p.checkMade(x); err != nil {
		return Pull{}, err
	}
	given, err := p.give(p.on, x.Labels, real)
	if err != nil {
		return Pull{}, err
	}
	in := append([]*tensors.Tensor{tensors.FromFlatDataAndDimensions(x.Data, x.Len(), p.dim)}, given.on...)
	out, err := p.exec.Call(arguments(in)...)
	free(in)
	if err != nil {
		return Pull{}, fmt.Errorf("dpsinkhorn: %w", err)
	}
	defer free(out)
	byX, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return Pull{}, fmt.Errorf("dpsinkhorn: %w", err)
	}
	pull := Pull{byX, float64(tensors.ToScalar[float32](out[1])), float64(tensors.ToScalar[float32](out[2]))}
	if given.empty {
		pull = p.without(pull)
	}
	return pull, nil
}

// Clipping is what bounds a gradient by generated rows before its noise.
type Clipping string

// The clippings of DP-Sinkhorn.
const (
	// Whole clips the rows that met real ones together, as the public code does:
	// whoever joins moves them by 2C at most.
	Whole Clipping = "whole"
	// PerImage clips each row by itself, as the text does (001, Algorithm 1): whoever
	// joins may turn all n of them round, and moves them by 2C·√n.
	PerImage Clipping = "per-image"
)

// Sensitivity is that of n clipped rows under a relation.
func (c Clipping) Sensitivity(bound float64, n int, relation privacy.Relation) (privacy.Sensitivity, error) {
	switch c {
	case Whole:
		return clip.JointSensitivity(bound, relation)
	case PerImage:
		return clip.PerImageSensitivity(bound, n, relation)
	}
	return privacy.Sensitivity{}, fmt.Errorf("dpsinkhorn: clipping %q; it is %q or %q", c, Whole, PerImage)
}

// Sanitise makes a gradient private, in place: its first n rows, which have met
// real ones, are clipped and get the noise of release step; the others, which have
// met generated rows alone, are clipped to the same size (001, Section 4.3).
func (c Clipping) Sanitise(byX []float32, n, dim int, bound float64, release *privacy.Releaser, step int) error {
	settle, err := c.begin(byX, n, dim, bound, release, step, &places{})
	if err != nil {
		return err
	}
	return settle()
}

// begin is Sanitise for those who go on computing until it is settled that the step may
// be released (privacy.Releaser.Begin).
func (c Clipping) begin(byX []float32, n, dim int, bound float64, release *privacy.Releaser, step int, in *places) (settle func() error, err error) {
	sensitivity, err := c.Sensitivity(bound, n, release.Relation())
	if err != nil {
		return nil, err
	}
	met, others := byX[:n*dim], byX[n*dim:]
	for _, rows := range [][]float32{met, others} {
		if len(rows) == 0 {
			continue
		}
		size := len(rows)
		if c == PerImage {
			size = dim
		}
		if err := clip.Rows(rows, size, bound); err != nil {
			return nil, err
		}
	}
	return in.begin(met, sensitivity, release, step)
}

// places are where a release is made, to be taken again for the next once it is settled.
type places struct{ exact, noisy []float64 }

// release releases values in place.
func (p *places) release(values []float32, s privacy.Sensitivity, release *privacy.Releaser, step int) error {
	settle, err := p.begin(values, s, release, step)
	if err != nil {
		return err
	}
	return settle()
}

func (p *places) begin(values []float32, s privacy.Sensitivity, release *privacy.Releaser, step int) (settle func() error, err error) {
	if len(p.exact) != len(values) {
		p.exact, p.noisy = make([]float64, len(values)), make([]float64, len(values))
	}
	for i, v := range values {
		p.exact[i] = float64(v)
	}
	settle, err = release.Begin(p.noisy, p.exact, s, step)
	if err != nil {
		return nil, err
	}
	for i, v := range p.noisy {
		values[i] = float32(v)
	}
	return settle, nil
}

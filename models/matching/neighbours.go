package matching

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/layer"
	"molehill/models/train"
	"molehill/privacy/audit"
	"molehill/transport/sliced"
)

// anything is a network of two parameters, w₁ = 0 and w₂ = 1, that has any outputs and
// any Jacobians: of records x = (s, a), two numbers for each of d outputs, it is
// w₁·s + w₂·a, so that a is the output and (s, a) the Jacobian. The loss of a record is
// the inner product of its output with its target.
func anything(d int) Model {
	return Model{
		Input: []int{1, d, 2}, Outputs: d, Target: []int{d},
		Inner: layer.Sequence{layer.Unbiased{Layer: layer.Conv2D{Name: "anything", In: 2, Out: 1, Kernel: 1, Stride: 1}}, layer.Flatten},
		Loss: func(output, target *graph.Node) *graph.Node {
			return graph.ReduceSum(graph.Mul(output, target), 1)
		},
	}
}

// gradients are those of two batches of anything's records.
func (t Training) gradients(on *backend.Backend, batches [2]Batch) (worlds audit.Worlds, err error) {
	m := anything(t.Outputs)
	l, err := New(on, m, layer.Params{{Spec: m.Inner.Params()[0], Value: []float32{0, 1}}}, train.Optimizer{Name: train.SGD})
	if err != nil {
		return worlds, err
	}
	defer l.Close()
	for world, batch := range batches {
		g, err := l.Gradient(batch, t.Clipping)
		if err != nil {
			return worlds, err
		}
		worlds[world] = g.Values
	}
	return worlds, nil
}

const (
	steep = 1e3  // how much longer than what is clipped Jacobians and losses are
	aside = 1e-4 // of M: how far from the others the record is that is looked for
)

// sample is one of those that a batch compares: of a pair, its A or its B.
type sample struct {
	pair int
	b    bool
}

// form is what a record of anything's looks like: its output, and of its Jacobian and of
// its target the number that all d of them are.
type form struct {
	output           []float32 // [d]
	jacobian, target float32
}

// neighbours are two batches that differ in one record of a sample. All others of it are
// alike, so that a batch without the record is like the first of the two.
//
// With e = (1, …, 1)/√d: the sample's outputs are M·e and their Jacobians L·e; one of them
// is in the second batch a hair nearer to the origin and has the Jacobian −L·e. Gradients
// of losses are C and −C likewise. The sample that it is compared with has points at −M
// along each of d directions, as many as a record is sent to, and all others at M·e. So
// along each direction it is the record that differs which is sent to −M in the second
// batch, and one of the others in the first. In one dimension that attains the
// sensitivity; in more the distance of samples comes to (1/√d + 1/d)·4ML/n.
//
// Where the record is one of Points, those are at M·e and it is at −M·e in the second
// batch. Outputs lie at the origin.
func (t Training) neighbours() (batches [2]Batch) {
	for world := range batches {
		b := Batch{Alpha: t.Query.Alpha, Directions: sliced.Directions{Dim: t.Outputs, Count: t.Outputs, Data: make([]float32, t.Outputs*t.Outputs)}}
		for l := range t.Outputs {
			b.Directions.Data[l*t.Outputs+l] = 1
		}
		for k, sizes := range t.Query.Pairs {
			p := Pair{A: b.add(t.forms(sample{k, false}, sizes, world))}
			second := t.forms(sample{k, true}, sizes, world)
			if sizes.Public || sizes.Fixed {
				for _, f := range second {
					p.Points = append(p.Points, f.output...)
				}
			} else {
				p.B = b.add(second)
			}
			b.Pairs = append(b.Pairs, p)
		}
		batches[world] = b
	}
	return batches
}

// add puts records into a batch, and returns their rows.
func (b *Batch) add(records []form) (rows []int) {
	for _, f := range records {
		rows = append(rows, len(b.Target)/len(f.output))
		for _, v := range f.output {
			b.X, b.Target = append(b.X, f.jacobian, v), append(b.Target, f.target)
		}
	}
	return rows
}

// forms are the records of a sample.
func (t Training) forms(s sample, sizes sliced.Sizes, world int) []form {
	differs, c, d := t.differs(), t.Clipping, t.Outputs
	flat := float32(c.Output / math.Sqrt(float64(d)))
	own, opposite := sizes.A, sizes.B
	if s.b {
		own, opposite = opposite, own
	}
	all := make([]form, own)
	for i := range all {
		all[i].output = make([]float32, d)
		if s.pair != differs.pair {
			continue
		}
		f := &all[i]
		if s == differs || t.Points {
			f.jacobian, f.target = float32(steep*(c.Output+c.Jacobian)), float32(steep*(1+c.Loss))
		}
		switch toEach := (own + opposite - 1) / opposite; {
		case t.Points && !s.b: // at the origin
		case s != differs && i < d*toEach:
			f.output[i%d] = float32(-c.Output)
		default:
			f.output = slices.Repeat([]float32{flat}, d)
		}
		if s != differs || i > 0 || world == 0 {
			continue
		}
		f.jacobian *= -1
		for e := range f.output {
			f.output[e] *= 1 - aside
			if t.Points {
				f.output[e] = -flat
			}
		}
	}
	return all
}

// differs is the sample a record of which moves a gradient most.
func (t Training) differs() (most sample) {
	if t.Points {
		return sample{0, true}
	}
	least := math.MaxInt
	for k, sizes := range t.Query.Pairs {
		if sizes.A < least {
			most, least = sample{k, false}, sizes.A
		}
		if !sizes.Public && !sizes.Fixed && sizes.B < least {
			most, least = sample{k, true}, sizes.B
		}
	}
	return most
}

// category is the number of a sample among those that are private.
func (t Training) category(of sample) (number int) {
	for k, sizes := range t.Query.Pairs[:of.pair+1] {
		number++
		if !sizes.Public && (k < of.pair || of.b) {
			number++
		}
	}
	return number - 1
}

package matching

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
)

// apart looks whether each record is treated by itself, on which every sensitivity rests:
// what is computed of two of three random records must be the same, to the last bit,
// whatever the third is. An error names the layer that couples them.
//
// It finds a mean over the batch, say, and not what couples records of a special kind.
// It is computed in Go, which needs no compilation.
func (m Model) apart() error {
	on, err := backend.Candidate{Name: backend.Go}.Open()
	if err != nil {
		return fmt.Errorf("matching: %w", err)
	}
	exec, err := graph.NewExec(on.Engine, m.stages)
	if err != nil {
		return fmt.Errorf("matching: %w", err)
	}
	defer exec.Finalize()
	const records = 3
	rng := rand.New(rand.NewPCG(3, 1))
	random := func(shape []int) []float32 {
		x := make([]float32, size(shape))
		for i := range x {
			x[i] = rng.Float32()
		}
		return x
	}
	shapes := [][]int{m.Input}
	if m.Target != nil {
		shapes = append(shapes, m.Target)
	}
	var weights []any
	for _, p := range layer.Init(m.Network(), 1) {
		for i := range p.Value { // none stays where it makes all records alike, such as at 0
			p.Value[i] += 0.1 * (rng.Float32() - 0.5)
		}
		weights = append(weights, tensors.FromFlatDataAndDimensions(p.Value, p.Shape...))
	}
	inputs := make([][]float32, len(shapes))
	look := func() ([][]float32, error) {
		in := make([]any, len(inputs))
		for i, x := range inputs {
			in[i] = tensor(x, shapes[i])
		}
		out, err := exec.Call(append(in, weights...)...)
		if err != nil {
			return nil, fmt.Errorf("matching: the model's graph: %w", err)
		}
		return take[float32](out)
	}
	for i, shape := range shapes {
		for range records {
			inputs[i] = append(inputs[i], random(shape)...)
		}
	}
	before, err := look()
	if err != nil {
		return err
	}
	for i, shape := range shapes {
		copy(part(inputs[i], 1, 2, size(shape)), random(shape))
	}
	after, err := look()
	if err != nil {
		return err
	}
	for stage := range before {
		row := len(before[stage]) / records
		if row*records != len(before[stage]) || row == 0 {
			return fmt.Errorf("matching: %s of %d records is %d numbers; it must be as many of each", m.stage(stage), records, len(before[stage]))
		}
		for _, i := range []int{0, 2} {
			if !slices.EqualFunc(part(before[stage], i, i+1, row), part(after[stage], i, i+1, row), same) {
				return fmt.Errorf("matching: %s of a record depends on the other records of its batch, so that no clipping bounds what one of them does; compute it from its own row alone", m.stage(stage))
			}
		}
	}
	return nil
}

// same compares numbers bit by bit.
func same(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// stages builds what is computed of records, their targets and weights, on the way to
// their gradients: what each layer makes, losses, if there are any, and gradients, record
// by record.
func (m Model) stages(in []*graph.Node) (found []*graph.Node) {
	inputs := 1
	if m.Target != nil {
		inputs++
	}
	x, weights := in[0], in[inputs:]
	n := x.Shape().Dimensions[0]
	left := weights
	for _, l := range m.Network() {
		used := len(l.Params())
		x, left = l.Apply(x, left[:used]), left[used:]
		found = append(found, x)
	}
	if m.Loss != nil {
		losses := m.losses(x, in[1:inputs])
		if !slices.Equal(losses.Shape().Dimensions, []int{n}) {
			panic(fmt.Errorf("the loss of %d records has the shape %v; it must be [%[1]d], a number a record", n, losses.Shape().Dimensions))
		}
		found = append(found, losses)
	}
	return append(found, m.records(weights, in[:inputs], true)...)
}

// stage names what stages has found.
func (m Model) stage(i int) string {
	network := m.Network()
	switch {
	case i == len(network) && m.Loss != nil:
		return "the loss"
	case i >= len(network):
		return "the gradient"
	}
	l := network[i]
	if specs := l.Params(); len(specs) > 0 {
		return fmt.Sprintf("what layer %d (%T, with %s) makes", i+1, l, specs[0].Name)
	}
	return fmt.Sprintf("what layer %d (%T) makes", i+1, l)
}

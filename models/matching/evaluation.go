package matching

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/ghost"
)

// evaluation is what a batch's outputs and gradients are like.
type evaluation struct {
	n, d                      int
	outputs                   []float64 // [n, d]
	losses                    []float32 // [n], or nil
	products                  []float64 // of Jacobians' rows, [n, d] or [n, d, d]; nil at α = 0
	rounding                  []float64 // of these (ghost.Norms), [n, d]; nil at α = 0
	lossSquares, lossRounding []float64 // of losses' gradients, [n], or nil

	bad    []bool // [n], records with a number that is not finite
	blocks []block
}

// block is what is held of some records that follow one another.
type block struct {
	first, last int
	gradients   []*tensors.Tensor // on the device (ghost.Gradients)
}

// How many numbers a block's gradients have, about. On a CPU memory is slow that has not
// been used before: in blocks, and with an allocator that keeps them (launch.Settings), a
// gradient of Table 5 at width 8192 takes half the time or less, and a step of the
// autoencoder two thirds. Blocks of a quarter of this take a tenth to a fifth more.
const (
	heldOnCPU = 1 << 22
	heldOnGPU = 1 << 28 // 1 GB
)

// held is what is held of a record.
type held struct {
	numbers   int
	positions bool // ghost.Gradients.Positions, of Jacobians
}

// heldPerRecord is what is held of a record, with Jacobians or without.
func (m Model) heldPerRecord(on compute.Backend, jacobians bool) (of held, err error) {
	g := graph.NewGraph(on, "a record")
	defer g.Finalize()
	defer func() { // building a graph panics
		if v := recover(); v != nil {
			err = fmt.Errorf("matching: the model's graph: %v", v)
		}
	}()
	input := func(name string, dims ...int) *graph.Node {
		return graph.Parameter(g, name, shapes.Make(dtypes.Float32, dims...))
	}
	inputs := []*graph.Node{input("x", append([]int{1}, m.Input...)...)}
	if m.Target != nil {
		inputs = append(inputs, input("y", append([]int{1}, m.Target...)...))
	}
	var weights []*graph.Node
	for _, spec := range m.Network().Params() {
		weights = append(weights, input(spec.Name, spec.Shape...))
	}
	found := m.records(weights, inputs, jacobians)
	for _, node := range found {
		of.numbers += node.Shape().Size()
	}
	if jacobians {
		rows, _ := m.held(found[m.looks():])
		of.positions = rows.Positions()
	}
	return of, nil
}

// cut splits n records into blocks of the same size, but for the last.
//
// One record that is replaced changes what each other's Jacobian counts, so that all blocks
// round anew. Where terms of positions cancel, a block of k loses k² times what a record
// does (ghost): blocks are so small that together they lose no more than one of ghost.Most.
func (l *Learner) cut(n int, jacobians bool) (blocks []block, err error) {
	of, known := l.perRecord[jacobians]
	if !known {
		if of, err = l.model.heldPerRecord(l.on.Engine, jacobians); err != nil {
			return nil, err
		}
		l.perRecord[jacobians] = of
	}
	most := ghost.Most
	if of.positions {
		most = max(1, min(most, ghost.Most*ghost.Most/n))
	}
	atOnce := heldOnGPU
	if l.on.OnCPU() {
		atOnce = heldOnCPU
	}
	count := max((n*of.numbers+atOnce-1)/atOnce, (n+most-1)/most)
	for more := count; more <= count+count/2; more++ { // of one size, which is compiled once
		if n%more == 0 {
			count = more
			break
		}
	}
	for step, first := (n+count-1)/count, 0; first < n; first += step {
		blocks = append(blocks, block{first: first, last: min(first+step, n)})
	}
	return blocks, nil
}

// evaluate looks at a batch of n records.
func (l *Learner) evaluate(b Batch, n int, c Clipping) (*evaluation, error) {
	blocks, err := l.cut(n, b.Alpha > 0)
	if err != nil {
		return nil, err
	}
	s := &evaluation{n: n, d: l.model.Outputs, bad: make([]bool, n), blocks: blocks}
	var seen [][]float32
	var norms [][]float64
	for i := range s.blocks {
		told, measured, err := l.evaluateBlock(b, &s.blocks[i], c)
		if err != nil {
			s.release()
			return nil, err
		}
		seen, norms = extend(seen, told), extend(norms, measured)
	}
	s.fill(seen, norms)
	return s, nil
}

// extend appends each of some lists to what there is of it.
func extend[T any](all, more [][]T) [][]T {
	if all == nil {
		return more
	}
	for i, values := range more {
		all[i] = append(all[i], values...)
	}
	return all
}

func (l *Learner) evaluateBlock(b Batch, at *block, c Clipping) (told [][]float32, norms [][]float64, err error) {
	_, out, err := l.passes[b.Alpha > 0].Run(0, l.records(b, at.first, at.last)...)
	if err != nil {
		return nil, nil, fmt.Errorf("matching: %w", err)
	}
	count := l.model.looks()
	at.gradients = out[count:]
	if told, err = take[float32](out[:count]); err != nil {
		return nil, nil, err
	}
	if out, err = l.norms[c.Exact].Look(at.gradients...); err != nil {
		return nil, nil, fmt.Errorf("matching: %w", err)
	}
	norms, err = take[float64](out)
	return told, norms, err
}

// fill fills in what has been seen and measured.
func (s *evaluation) fill(seen [][]float32, norms [][]float64) {
	for _, values := range seen {
		markBad(s.bad, values)
	}
	for _, values := range norms {
		markBad(s.bad, values)
	}
	s.outputs = doubles(seen[0])
	for i, bad := range s.bad {
		if bad {
			clear(s.row(i))
		}
	}
	if len(seen) > 1 {
		last := len(norms) - 2
		s.losses, s.lossSquares, s.lossRounding = seen[1], norms[last], norms[last+1]
		norms = norms[:last]
	}
	if len(norms) > 0 {
		s.products, s.rounding = norms[0], norms[1]
	}
}

// markBad marks records as bad that have values, as many each, which are not finite.
func markBad[F float32 | float64](bad []bool, values []F) {
	for k, x := range values {
		if x-x != 0 {
			bad[k/(len(values)/len(bad))] = true
		}
	}
}

// release gives back what is held.
func (s *evaluation) release() {
	for _, block := range s.blocks {
		for _, t := range block.gradients {
			t.MustFinalizeAll()
		}
	}
}

// add returns the sum of what is held with weights v, [n, d], of Jacobians' rows, and w,
// [n], of losses' gradients: by all parameters.
func (l *Learner) add(s *evaluation, v, w []float64) (sum []float64, err error) {
	for _, at := range s.blocks {
		weights := []*tensors.Tensor{tensor(part(v, at.first, at.last, s.d), []int{s.d}), tensor(w[at.first:at.last], []int{1})}
		out, err := l.sum.Look(append(slices.Clip(at.gradients), weights...)...)
		for _, t := range weights {
			t.MustFinalizeAll()
		}
		if err != nil {
			return nil, fmt.Errorf("matching: %w", err)
		}
		values, err := take[float64](out)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = values[0]
			continue
		}
		for p, x := range values[0] {
			sum[p] += x
		}
	}
	return sum, nil
}

// take copies outputs of a graph, and releases them.
func take[T float32 | float64](out []*tensors.Tensor) (values [][]T, err error) {
	values = make([][]T, len(out))
	for i, t := range out {
		if err == nil {
			values[i], err = tensors.CopyFlatData[T](t)
		}
		t.MustFinalizeAll()
	}
	if err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	return values, nil
}

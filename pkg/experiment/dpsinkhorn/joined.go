package dpsinkhorn

import (
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/train"
	"molehill/transport"
)

// joined makes the steps of byImages as one graph each (train.Passage.StepForward): back
// through the generator by what was made private of the last step, the optimiser, forward,
// and the loss against the next real rows. Generated rows stay on the device; the host
// draws batches and noise while that computes, and between two graphs only makes a
// gradient private. For a device that takes longer to be called than to compute; on a
// processor's cores nothing is gained.
type joined struct {
	s       *student
	t       *byImages
	steps   int
	passage *train.Passage
	pull    *Pull         // of the step to come; nil where it is not computed yet
	ahead   chan prepared // the inputs of nextOf, or nil
	nextOf  int
}

// prepared is what a step's graph is given, on the device.
type prepared struct {
	z     *tensors.Tensor
	more  []*tensors.Tensor // labels and real rows (Program.behind)
	empty bool
	err   error
}

// join returns what makes so many steps of a course. Close ends it.
func (s *student) join(t *byImages, steps int) (*joined, error) {
	passage, err := s.made.Trainer().PassageTo(t.program.behind)
	return &joined{s: s, t: t, steps: steps, passage: passage}, err
}

// step makes the generator learn once. Behind a pause nothing of the next step is computed
// yet, so that who begins there, with what was saved, calls the same graphs as who goes on.
func (j *joined) step(step int, pause bool) error {
	if j.pull == nil {
		if err := j.look(step, j.passage.Forward); err != nil {
			return err
		}
	}
	byX := j.pull.ByX
	if err := j.t.clean(step, *j.pull); err != nil {
		return err
	}
	j.pull = nil
	rate, dim := j.s.config.rate(step, j.steps), j.t.program.dim
	byY := tensors.FromFlatDataAndDimensions(byX, len(byX)/dim, dim)
	if pause || step+1 == j.steps {
		return j.passage.Step(rate, byY)
	}
	return j.look(step+1, func(z *tensors.Tensor, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
		return j.passage.StepForward(rate, byY, z, more...)
	})
}

// look has a graph compute what a step learns of its real rows, and prepares the next.
func (j *joined) look(step int, graph func(z *tensors.Tensor, more ...*tensors.Tensor) ([]*tensors.Tensor, error)) error {
	in := j.take(step)
	if in.err != nil {
		return in.err
	}
	if step+1 < j.steps {
		ahead := make(chan prepared, 1)
		j.ahead, j.nextOf = ahead, step+1
		go func() { ahead <- j.prepare(step + 1) }()
	}
	program := j.t.program
	j.t.release.Expect(step, program.n*program.dim)
	out, err := graph(in.z, in.more...)
	if err != nil {
		return fmt.Errorf("dpsinkhorn: %w", err)
	}
	packed, err := tensors.CopyFlatData[float32](out[0])
	free(out)
	if err != nil {
		return fmt.Errorf("dpsinkhorn: %w", err)
	}
	pull, finite := program.unpack(packed, in.empty)
	if !finite {
		return fmt.Errorf("dpsinkhorn: what the generator makes is no longer finite; train with a smaller learning rate than %v", j.s.config.rate(step, j.steps))
	}
	j.pull, j.t.off = &pull, pull.MarginalError
	return nil
}

// take returns a step's inputs, prepared ahead or now.
func (j *joined) take(step int) prepared {
	if j.ahead != nil {
		in := <-j.ahead
		if j.ahead = nil; j.nextOf == step {
			return in
		}
		in.free()
	}
	return j.prepare(step)
}

// prepare draws a step's rows and puts them on the device.
func (j *joined) prepare(step int) (in prepared) {
	var z transport.Points
	var labels []int
	var real Batch
	if z, labels, in.err = j.s.draw(step); in.err == nil {
		real, in.err = j.t.draw(step)
	}
	if in.err != nil {
		return in
	}
	if in.more, in.empty, in.err = j.t.program.real(real); in.err != nil {
		return in
	}
	in.z = tensors.FromFlatDataAndDimensions(z.Data, z.Len(), z.Dim)
	in.more = append([]*tensors.Tensor{tensors.FromFlatDataAndDimensions(int32s(labels), len(labels))}, in.more...)
	for _, t := range append([]*tensors.Tensor{in.z}, in.more...) {
		if err := t.MaterializeOnDevice(j.t.program.on.Engine, false, 0); err != nil && in.err == nil {
			in.err = fmt.Errorf("dpsinkhorn: on %s: %w", j.t.program.on, err)
		}
	}
	if in.err != nil {
		in.free()
	}
	return in
}

func (p prepared) free() {
	if p.z != nil {
		free(append([]*tensors.Tensor{p.z}, p.more...))
	}
}

// close releases what was prepared for a step that is not made.
func (j *joined) close() {
	if j.ahead != nil {
		in := <-j.ahead
		in.free()
	}
}

package dpsinkhorn

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/train"
	"molehill/transport"
)

// joined makes the steps of byImages as one graph each (train.Passage.StepForward): back
// through the generator by what was made private of the last step, the optimiser, forward,
// and, if the teacher looks by a program, the loss against the next real rows, so that
// generated rows stay on the device. The host draws batches and noise while that computes,
// and between two graphs makes a gradient private, or computes it, too (Exact). It is for
// devices, which take longer to be called than to compute; on a processor a tenth would be
// gained, and other digits than those of earlier runs.
type joined struct {
	s       *student
	t       *byImages
	program *Program // in the graph; nil: the host looks at generated rows
	on      *backend.Backend
	steps   int
	passage *train.Passage
	pull    *Pull     // of the step to come; nil where it is not computed yet
	made    []float32 // what the graph has returned last
	ahead   chan prepared
	every   int // steps to a pause
}

// pauseEvery is how many steps are joined before a pause.
const pauseEvery = 500

// prepared is what a step is made of: the inputs of its graph, on the device, and, if the
// host looks at generated rows, their labels and real rows.
type prepared struct {
	z      *tensors.Tensor
	more   []*tensors.Tensor // labels and real rows (Program.behind)
	empty  bool
	labels []int
	real   Batch
	err    error
}

// join returns what makes so many steps of a course. Close ends it.
func (s *student) join(t *byImages, steps int) (j *joined, err error) {
	j = &joined{s: s, t: t, on: s.rows.Backend, steps: steps, every: pauseEvery}
	if program, ok := t.look.(*Program); ok {
		j.program = program
		j.passage, err = s.made.Trainer().PassageTo(program.behind)
	} else {
		j.passage, err = s.made.Trainer().Passage()
	}
	return j, err
}

// step makes the generator learn once. Every so many steps of the training there is a
// pause, behind which nothing of the next step is computed yet: who begins there, with
// what was saved, calls the same graphs as who goes on, and rounds as they do.
func (j *joined) step(step int) error {
	if j.pull == nil {
		if err := j.look(step, j.passage.Forward); err != nil {
			return err
		}
	}
	j.t.off = j.pull.MarginalError
	settle, err := j.t.begin(step, *j.pull)
	if err != nil {
		return err
	}
	err = j.follow(step)
	return cmp.Or(settle(), err) // and nothing has left this process before
}

// follow has the generator learn of what was made private of a step.
func (j *joined) follow(step int) error {
	rate, dim := j.s.config.rate(step, j.steps), j.s.rows.Private.Dim
	byY, err := backend.Put(j.on, j.pull.ByX, len(j.pull.ByX)/dim, dim)
	j.pull = nil
	if err != nil {
		return err
	}
	if pause := (j.s.before+step+1)%j.every == 0; pause || step+1 == j.steps {
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
		go func() { ahead <- j.prepare(step + 1) }()
		j.ahead = ahead
	}
	j.t.release.Expect(step, j.s.config.Generated*j.s.rows.Private.Dim)
	out, err := graph(in.z, in.more...)
	if err != nil {
		return fmt.Errorf("dpsinkhorn: %w", err)
	}
	if j.made == nil {
		j.made = make([]float32, out[0].Size())
	}
	err = backend.Fetch(j.on, out[0], j.made)
	free(out)
	if err != nil {
		return err
	}
	pull, err := j.read(in)
	if err != nil {
		return fmt.Errorf("%w; train with a smaller learning rate than %v", err, j.s.config.rate(step, j.steps))
	}
	j.pull = &pull
	return nil
}

// read returns what a step learns, of what its graph has returned.
func (j *joined) read(in prepared) (Pull, error) {
	if j.program == nil {
		return j.t.look.Gradient(Batch{transport.Points{Dim: j.s.rows.Private.Dim, Data: j.made}, in.labels}, in.real)
	}
	pull, finite := j.program.unpack(j.made, in.empty)
	if !finite {
		return pull, errors.New("dpsinkhorn: generated rows are no longer finite")
	}
	return pull, nil
}

// take returns a step's inputs, prepared ahead or now.
func (j *joined) take(step int) prepared {
	if j.ahead == nil {
		return j.prepare(step)
	}
	in := <-j.ahead
	j.ahead = nil
	return in
}

// prepare draws a step's rows, and puts on the device what its graph takes.
func (j *joined) prepare(step int) (in prepared) {
	z, labels, err := j.s.draw(step, j.t)
	if err == nil {
		in.labels = labels
		in.real, err = j.t.draw(step)
	}
	if err == nil && j.program != nil {
		in.more, in.empty, err = j.program.inputs(labels, in.real)
	}
	if err == nil {
		in.z, err = backend.Put(j.on, z.Data, z.Len(), z.Dim)
	}
	if in.err = err; err != nil {
		in.free()
	}
	return in
}

func (p prepared) free() {
	free(p.more)
	if p.z != nil {
		p.z.MustFinalizeAll()
	}
}

// close releases what was prepared for a step that is not made.
func (j *joined) close() {
	if j.ahead != nil {
		in := <-j.ahead
		in.free()
	}
}

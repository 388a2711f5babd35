package dpsinkhorn

import (
	"cmp"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/train"
)

// joined makes the steps of byImages as one graph each (train.Passage.StepForward): back
// through the generator by what was made private of the last step, the optimiser, forward,
// and the loss against the next real rows. Generated rows stay on the device; the host
// draws batches and noise while that computes, and between two graphs only makes a
// gradient private. It is for devices, which take longer to be called than to compute; on
// a processor a tenth would be gained, and other digits than those of earlier runs.
type joined struct {
	s       *student
	t       *byImages
	program *Program
	steps   int
	passage *train.Passage
	pull    *Pull // of the step to come, in packed; nil where it is not computed yet
	packed  []float32
	ahead   chan prepared // the inputs of the next step that is looked at, or nil
	every   int           // steps to a pause
}

// pauseEvery is how many steps are joined before a pause.
const pauseEvery = 500

// prepared is what a step's graph is given, on the device.
type prepared struct {
	z     *tensors.Tensor
	more  []*tensors.Tensor // labels and real rows (Program.behind)
	empty bool
	err   error
}

// join returns what makes so many steps of a course with a teacher that looks by a program.
// Close ends it.
func (s *student) join(t *byImages, program *Program, steps int) (*joined, error) {
	passage, err := s.made.Trainer().PassageTo(program.behind)
	return &joined{s: s, t: t, program: program, steps: steps, passage: passage, every: pauseEvery}, err
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
	rate, dim := j.s.config.rate(step, j.steps), j.program.dim
	byY, err := backend.Put(j.program.on, j.pull.ByX, len(j.pull.ByX)/dim, dim)
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
	j.t.release.Expect(step, j.program.n*j.program.dim)
	out, err := graph(in.z, in.more...)
	if err != nil {
		return fmt.Errorf("dpsinkhorn: %w", err)
	}
	if j.packed == nil {
		j.packed = make([]float32, out[0].Size())
	}
	err = backend.Fetch(j.program.on, out[0], j.packed)
	free(out)
	if err != nil {
		return err
	}
	pull, finite := j.program.unpack(j.packed, in.empty)
	if !finite {
		return fmt.Errorf("dpsinkhorn: what the generator makes is no longer finite; train with a smaller learning rate than %v", j.s.config.rate(step, j.steps))
	}
	j.pull = &pull
	return nil
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

// prepare draws a step's rows and puts them on the device.
func (j *joined) prepare(step int) (in prepared) {
	z, labels, err := j.s.draw(step)
	if err != nil {
		return prepared{err: err}
	}
	real, err := j.t.draw(step)
	if err != nil {
		return prepared{err: err}
	}
	on := j.program.on
	if in.more, in.empty, in.err = j.program.real(real); in.err != nil {
		return in
	}
	classes, err := backend.Put(on, int32s(labels), len(labels))
	if err == nil {
		in.more = append([]*tensors.Tensor{classes}, in.more...)
		in.z, err = backend.Put(on, z.Data, z.Len(), z.Dim)
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

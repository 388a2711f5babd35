package dpsinkhorn

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/models/train"
)

// joined makes the steps of byImages as one graph each (train.Passage.StepForward): back
// through the generator by what was made private of the last step, the optimiser, forward,
// and what the guide's solver has a device compute of the next real rows (Solver.Head). The
// host draws batches and noise meanwhile. Between two graphs it computes the rest of a
// gradient (Exact), and makes it private. It is for devices, which take longer to be called
// than to compute; on a processor a tenth would be gained, and other digits than those of
// earlier runs.
type joined struct {
	training *training
	guide    *byImages
	on       *backend.Backend
	steps    int
	passage  *train.Passage
	pull     *semidebiased.Pull // of the step to come; nil where it is not computed yet
	results  [2][]float32       // what the graph has returned last
	ahead    chan prepared
	every    int // steps to a pause
}

// pauseEvery is how many steps are joined before a pause.
const pauseEvery = 500

// prepared is what a step is made of.
type prepared struct {
	z   *tensors.Tensor // what the generator makes rows of
	fed semidebiased.Fed
	err error
}

// join returns what makes so many steps of a stage. Close ends it.
func (t *training) join(g *byImages, steps int) (j *joined, err error) {
	j = &joined{training: t, guide: g, on: t.rows.Backend, steps: steps, every: pauseEvery}
	j.passage, err = t.generator.Trainer().PassageTo(g.solver.Head)
	return j, err
}

// step makes the generator learn once. Every so many steps of the training there is a
// pause, behind which nothing of the next step is computed yet: who begins there, with
// what was saved, calls the same graphs as who goes on, and rounds as they do.
func (j *joined) step(step int) error {
	if j.pull == nil {
		if err := j.forward(step, j.passage.Forward); err != nil {
			return err
		}
	}
	j.guide.off = j.pull.MarginalError
	settle, err := j.guide.begin(step, *j.pull)
	if err != nil {
		return err
	}
	err = j.follow(step)
	return cmp.Or(settle(), err) // and nothing has left this process before
}

// follow has the generator learn of what was made private of a step.
func (j *joined) follow(step int) error {
	rate, dim := j.training.config.rate(step, j.steps), j.training.rows.Private.Dim
	byY, err := backend.Put(j.on, j.pull.ByX, len(j.pull.ByX)/dim, dim)
	j.pull = nil
	if err != nil {
		return err
	}
	if pause := (j.training.before+step+1)%j.every == 0; pause || step+1 == j.steps {
		return j.passage.Step(rate, byY)
	}
	return j.forward(step+1, func(z *tensors.Tensor, more ...*tensors.Tensor) ([]*tensors.Tensor, error) {
		return j.passage.StepForward(rate, byY, z, more...)
	})
}

// forward has a graph compute what a step learns of its real rows, and prepares the next.
func (j *joined) forward(step int, graph func(z *tensors.Tensor, more ...*tensors.Tensor) ([]*tensors.Tensor, error)) error {
	in := j.take(step)
	if in.err != nil {
		return in.err
	}
	if step+1 < j.steps {
		ahead := make(chan prepared, 1)
		go func() { ahead <- j.prepare(step + 1) }()
		j.ahead = ahead
	}
	j.guide.release.Expect(step, j.training.config.Generated*j.training.rows.Private.Dim)
	out, err := graph(in.z, in.fed.Tensors...)
	if err != nil {
		return fmt.Errorf("dpsinkhorn: %w", err)
	}
	first, rest, err := j.fetch(out)
	if err == nil {
		err = j.read(step, first, rest, in.fed)
	}
	_, late := rest() // what is on its way is not freed
	backend.Free(out)
	return cmp.Or(err, late)
}

// fetch returns the first of a graph's results, and what waits for the second, if any, which
// comes meanwhile.
func (j *joined) fetch(out []*tensors.Tensor) (first []float32, rest func() ([]float32, error), err error) {
	fetch := func(k int) error {
		if j.results[k] == nil {
			j.results[k] = make([]float32, out[k].Size())
		}
		return backend.Fetch(j.on, out[k], j.results[k])
	}
	rest = func() ([]float32, error) { return nil, nil }
	if len(out) > 1 {
		late := make(chan error, 1)
		go func() { late <- fetch(1) }()
		rest = sync.OnceValues(func() ([]float32, error) { return j.results[1], <-late })
	}
	err = fetch(0)
	return j.results[0], rest, err
}

// read learns from what a graph has returned.
func (j *joined) read(step int, first []float32, rest func() ([]float32, error), in semidebiased.Fed) error {
	last := len(first) - 1
	if first[last] != 1 {
		return fmt.Errorf("dpsinkhorn: a generated row is %w", train.ErrDiverged)
	}
	pull, err := j.guide.solver.Unpack(first[:last], rest, in)
	if err != nil {
		return err
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

// prepare draws a step's rows, and puts on the device what its graph takes.
func (j *joined) prepare(step int) (in prepared) {
	z, labels, err := j.training.draw(step, j.guide)
	var real semidebiased.Batch
	if err == nil {
		real, err = j.guide.draw(step)
	}
	if err == nil {
		in.fed, err = j.guide.solver.Feed(j.on, labels, real)
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
	p.fed.Free()
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

package matching

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/train"
)

// look is what a batch's outputs and gradients are like.
type look struct {
	n, d                              int
	outputs                           []float32 // [n, d]
	products                          []float32 // [n, d] or [n, d, d]; nil at α = 0
	rounding                          []float32 // [n, d]; nil at α = 0
	losses, lossSquares, lossRounding []float32 // [n], or nil

	bad  []bool            // [n], records with a number that is not finite
	held []*tensors.Tensor // gradients on the device (ghost.Gradients)
}

// see looks at a batch, of whose records some are known to be bad. Where it finds more of
// them, these are cleared, as 0·NaN is not 0, and it looks again.
func (l *Learner) see(b Batch, c Clipping, bad []bool) (*look, error) {
	_, out, err := l.look[b.Alpha > 0].Run(0, l.records(b)...)
	if err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	s, told := &look{n: len(bad), d: l.model.Outputs, bad: bad}, 1
	if l.model.Loss != nil {
		told = 2
	}
	s.held = out[told:]
	seen, err := take[float32](out[:told])
	var norms [][]float32
	if err == nil {
		norms, err = l.measure(l.norms[c.Exact], s.held)
	}
	if err != nil {
		s.release()
		return nil, err
	}
	more := s.note(seen, norms)
	if len(more) == 0 {
		return s, nil
	}
	s.release()
	b.X, b.Target = slices.Clone(b.X), slices.Clone(b.Target)
	for _, i := range more {
		clear(part(b.X, i, i+1, size(l.model.Input)))
		if b.Target != nil {
			clear(part(b.Target, i, i+1, size(l.model.Target)))
		}
	}
	return l.see(b, c, s.bad)
}

// measure runs the graph of norms on what is held, and leaves that.
func (l *Learner) measure(norms *train.Program, held []*tensors.Tensor) ([][]float32, error) {
	out, err := norms.Look(held...)
	if err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	return take[float32](out)
}

// note fills in what has been seen and measured, and returns the records that are bad and
// were not known to be.
func (s *look) note(seen, norms [][]float32) (more []int) {
	for _, values := range slices.Concat(seen, norms) {
		for k, x := range values {
			if i := k / (len(values) / s.n); x-x != 0 && !s.bad[i] {
				s.bad[i], more = true, append(more, i)
			}
		}
	}
	s.outputs = seen[0]
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
	return more
}

// release gives back what is held.
func (s *look) release() {
	for _, t := range s.held {
		t.MustFinalizeAll()
	}
}

// add returns the sum of what is held, which it releases, with weights v, [n, d], of
// Jacobians' rows, and w, [n], of losses' gradients: by all parameters.
func (l *Learner) add(s *look, v, w []float32) ([]float64, error) {
	_, out, err := l.sum.Run(0, append(slices.Clip(s.held), tensor(v, []int{s.d}), tensor(w, []int{1}))...)
	if err != nil {
		return nil, fmt.Errorf("matching: %w", err)
	}
	sums, err := take[float64](out)
	if err != nil {
		return nil, err
	}
	return sums[0], nil
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

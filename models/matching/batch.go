package matching

import (
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"
)

// records puts some of a batch's records and their targets on the device.
func (l *Learner) records(b Batch, first, last int) []*tensors.Tensor {
	some := func(x []float32, shape []int) *tensors.Tensor {
		return tensor(part(x, first, last, size(shape)), shape)
	}
	in := []*tensors.Tensor{some(b.X, l.model.Input)}
	if l.model.Target != nil {
		in = append(in, some(b.Target, l.model.Target))
	}
	return in
}

// checkBatch says what is wrong with a batch, and how many records it has.
func (m Model) checkBatch(b Batch) (int, error) {
	n, err := m.count(b.X, b.Target)
	if err != nil {
		return 0, err
	}
	switch {
	case !(b.Alpha >= 0 && b.Alpha <= 1):
		return 0, fmt.Errorf("matching: α is %v; it is a share, from 0 to 1", b.Alpha)
	case m.Loss == nil && b.Alpha != 1:
		return 0, fmt.Errorf("matching: α is %v and the model has no loss; α must be 1", b.Alpha)
	case b.Alpha > 0 && b.Directions.Dim != m.Outputs:
		return 0, fmt.Errorf("matching: directions of dimension %d for %d outputs; they must be the same", b.Directions.Dim, m.Outputs)
	case b.Alpha > 0 && len(b.Pairs) == 0:
		return 0, fmt.Errorf("matching: α is %v and there are no pairs of samples to compare; give at least one, or α = 0", b.Alpha)
	}
	taken := make([]bool, n)
	for k, pair := range b.Pairs {
		if pair.Points != nil && (pair.B != nil || len(pair.Points)%m.Outputs != 0) {
			return 0, fmt.Errorf("matching: pair %d has %d rows as B and %d numbers as points; give either, points of %d numbers each", k, len(pair.B), len(pair.Points), m.Outputs)
		}
		if pair.Public && pair.Points == nil {
			return 0, fmt.Errorf("matching: pair %d is public and has no points; what is public are points, and records are not", k)
		}
		for side, rows := range [][]int{pair.A, pair.B} {
			name := string(rune('A' + side))
			if len(rows) == 0 && (side == 0 || len(pair.Points) == 0) {
				return 0, fmt.Errorf("matching: sample %s of pair %d has no records; each sample must have at least one: leave out the pair, or merge groups that a batch may lack", name, k)
			}
			for _, i := range rows {
				if i < 0 || i >= n {
					return 0, fmt.Errorf("matching: sample %s of pair %d has record %d; the batch has records 0 to %d", name, k, i, n-1)
				}
				if taken[i] {
					return 0, fmt.Errorf("matching: record %d is in two samples; it could move the gradient twice as far as is accounted for", i)
				}
				taken[i] = true
			}
		}
	}
	return n, nil
}

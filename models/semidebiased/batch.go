package semidebiased

import (
	"fmt"

	"molehill/transport"
)

// Batch is labelled rows.
type Batch struct {
	transport.Points       // [n, dim]
	Labels           []int // [n]
}

// Subset returns a copy of the rows at the given indices, in their order.
func (b Batch) Subset(indices []int) Batch {
	labels := make([]int, len(indices))
	for to, from := range indices {
		labels[to] = b.Labels[from]
	}
	return Batch{b.Points.Subset(indices), labels}
}

// Pull is what a step learns from its real rows.
type Pull struct {
	ByX           []float32 // ∂Loss/∂X, [n+n′, dim]
	Loss          float64
	MarginalError float64 // the larger of the two terms'
}

// sizes are those of the batches that a loss is for: n generated rows that meet real ones,
// and Split's others, beside at most room real ones, all of one dimension.
type sizes struct {
	loss         Loss
	n, room, dim int
}

// sized returns the sizes, or what is wrong with them or with the loss.
func (l Loss) sized(n, room, dim int) (sizes, error) {
	if err := l.Check(); err != nil {
		return sizes{}, err
	}
	if n < 1 || room < 1 || dim < 1 {
		return sizes{}, fmt.Errorf("semidebiased: %d generated rows beside at most %d of dimension %d; take at least 1 of each", n, room, dim)
	}
	return sizes{l, n, room, dim}, nil
}

// checkMade says what is wrong with generated rows.
func (s sizes) checkMade(x Batch) error {
	total, _ := s.loss.Split(s.n)
	if x.Dim != s.dim || x.Len() != total || len(x.Labels) != total {
		return fmt.Errorf("semidebiased: %d generated rows of dimension %d with %d labels; the loss is for %d of dimension %d: have the generator make as many (Loss.Split) of as many numbers, and give each a label", x.Len(), x.Dim, len(x.Labels), total, s.dim)
	}
	if err := CheckLabels(x.Labels, s.loss.Classes); err != nil {
		return fmt.Errorf("semidebiased: generated rows: %w", err)
	}
	if err := x.Check(); err != nil {
		return fmt.Errorf("semidebiased: generated rows: %w", err)
	}
	return nil
}

// CheckLabels refuses labels that are of no class. Gradients do not ask it of real rows,
// whose answer would be private: ask it of all of them before anything is drawn.
func CheckLabels(labels []int, classes int) error {
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
		return fmt.Errorf("semidebiased: %d real rows of dimension %d with %d labels; the loss is for rows of dimension %d, each with a label: bring such rows, or a loss for their dimension", rows.Len(), rows.Dim, len(rows.Labels), s.dim)
	}
	return nil
}

// without takes back the pull of real rows, where there are none.
func (s sizes) without(pull Pull) Pull {
	clear(pull.ByX[:s.n*s.dim])
	pull.Loss = 0
	return pull
}

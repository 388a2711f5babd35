// Package dataset gives experiments their records: MNIST, Fashion-MNIST, CelebA and
// Adult from files; a mixture of five Gaussians, biased decisions and digits drawn
// from fonts without any; and whatever else is registered.
//
//	splits, err := dataset.Load(ctx, "mnist", dataset.Options{})
//
// A data set of your own takes a call of Register; see its example.
package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"molehill/pkg/dataset/internal/draw"
)

// Dataset is a table of rows, images or points, with or without labels.
type Dataset struct {
	Name     string    // "mnist"
	Origin   string    // where the rows came from: a path, or "generated from seed 1"
	Height   int       // image layout of a row; points have height 1,
	Width    int       // their dimension as width,
	Channels int       // and one channel
	X        []float32 // [n, Height*Width*Channels], images in [0, 1], row-major height, width, channel
	Labels   []int     // [n], indices into Classes, or nil
	Classes  []string  // names of the labels, or nil
}

// titles are names as people write them.
var titles = map[string]string{"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "celeba": "CelebA", "adult": "Adult"}

// Title is the name of a data set as it stands above figures: "Fashion-MNIST".
func Title(name string) string { return cmp.Or(titles[name], name) }

// Splits is a data set cut for training and for evaluation.
type Splits struct{ Train, Test *Dataset }

// Len returns the number of rows.
func (d *Dataset) Len() int {
	if d.Dim() <= 0 {
		return 0
	}
	return len(d.X) / d.Dim()
}

// Dim returns the number of values in a row.
func (d *Dataset) Dim() int { return d.Height * d.Width * d.Channels }

// Row returns row i, [Dim]. It is a view: writing to it changes d.
func (d *Dataset) Row(i int) []float32 {
	dim := d.Dim()
	return d.X[i*dim : (i+1)*dim : (i+1)*dim]
}

// Subset returns a copy of the rows with the given indices, in their order.
// Like a slice, it panics for an index outside [0, Len).
func (d *Dataset) Subset(indices []int) *Dataset {
	s := *d
	s.X = make([]float32, 0, len(indices)*d.Dim())
	for _, i := range indices {
		s.X = append(s.X, d.Row(i)...)
	}
	if d.Labels != nil {
		s.Labels = make([]int, len(indices))
		for k, i := range indices {
			s.Labels[k] = d.Labels[i]
		}
	}
	return &s
}

// Draw returns n rows drawn without replacement, in their order in d, and all
// of d if n is 0. Asking for more rows than there are is an error.
func (d *Dataset) Draw(n int, seed uint64) (*Dataset, error) {
	rows, err := drawn(d.Name, d.Len(), n, seed)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return d, nil
	}
	s := d.Subset(rows)
	s.Origin = drawnOrigin(d.Origin, n, d.Len(), seed)
	return s, nil
}

// drawn returns the n of all rows that Draw takes, in rising order, and nil for
// all of them.
func drawn(name string, all, n int, seed uint64) ([]int, error) {
	switch {
	case n < 0 || n > all:
		return nil, fmt.Errorf("data set %q: expected 1 to %d rows (or 0 for all) to be asked for, found %d; change N", name, all, n)
	case n == 0 || n == all:
		return nil, nil
	}
	return sorted(draw.New("rows", seed).Permutation(all)[:n]), nil
}

func drawnOrigin(origin string, n, all int, seed uint64) string {
	return fmt.Sprintf("%s, %d of %d rows drawn by seed %d", origin, n, all, seed)
}

// Pad returns a copy whose images stand in the middle of a frame of zeros,
// height×width (Sebag et al., C.1: 28×28 to 32×32). A side that is as large
// already stays as it is. Where the frame cannot be even, the image stands
// one pixel nearer to the top or left.
func (d *Dataset) Pad(height, width int) *Dataset {
	p := *d
	p.Height, p.Width = max(height, d.Height), max(width, d.Width)
	p.X = make([]float32, d.Len()*p.Dim())
	top, left := (p.Height-d.Height)/2, (p.Width-d.Width)/2
	line := d.Width * d.Channels
	for i := range d.Len() {
		from, to := d.Row(i), p.Row(i)
		for y := range d.Height {
			copy(to[((top+y)*p.Width+left)*d.Channels:], from[y*line:(y+1)*line])
		}
	}
	return &p
}

// Check returns an error if d has no rows, if its parts do not fit together,
// or if a value is NaN or infinite; the error names the row.
func (d *Dataset) Check() error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("data set %q (%s): %w", d.Name, d.Origin, fmt.Errorf(format, args...))
	}
	if d.Height < 1 || d.Width < 1 || d.Channels < 1 {
		return fault("expected rows of at least 1×1×1 values, found %d×%d×%d; set Height, Width and Channels", d.Height, d.Width, d.Channels)
	}
	dim := d.Dim()
	switch {
	case len(d.X) == 0:
		return fault("expected at least one row, found none; give it some")
	case len(d.X)%dim != 0:
		return fault("expected whole rows of %d values, found %d values; the last row lacks %d", dim, len(d.X), dim-len(d.X)%dim)
	case d.Labels != nil && len(d.Labels) != d.Len():
		return fault("expected a label for each of %d rows, found %d; give as many, or nil", d.Len(), len(d.Labels))
	}
	for j, v := range d.X {
		if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return fault("expected finite values, found %v in row %d, column %d; mend or leave out that row", v, j/dim, j%dim)
		}
	}
	for i, label := range d.Labels {
		if label < 0 || d.Classes != nil && label >= len(d.Classes) {
			return fault("expected labels from 0 to %d, found %d in row %d; mend or leave out that row", len(d.Classes)-1, label, i)
		}
	}
	return nil
}

// Check checks both parts, and that their rows have the same layout and classes.
func (s *Splits) Check() error {
	if s == nil || s.Train == nil || s.Test == nil {
		return fmt.Errorf("expected rows for training and for testing, found one of them missing; give both")
	}
	for _, d := range []*Dataset{s.Train, s.Test} {
		if err := d.Check(); err != nil {
			return err
		}
	}
	a, b := s.Train, s.Test
	if a.Height != b.Height || a.Width != b.Width || a.Channels != b.Channels {
		return fmt.Errorf("data set %q: expected the same layout for training and testing, found %d×%d×%d and %d×%d×%d; make them agree",
			a.Name, a.Height, a.Width, a.Channels, b.Height, b.Width, b.Channels)
	}
	if (a.Labels == nil) != (b.Labels == nil) || !slices.Equal(a.Classes, b.Classes) {
		return fmt.Errorf("data set %q: expected the same classes for training and testing, found %d labels of %d classes and %d of %d, or other names; label both parts alike, or neither",
			a.Name, len(a.Labels), len(a.Classes), len(b.Labels), len(b.Classes))
	}
	return nil
}

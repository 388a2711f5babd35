package semidebiased

import (
	"fmt"

	"molehill/privacy"
	"molehill/privacy/clip"
)

// Clipping is what bounds a gradient by generated rows before its noise.
type Clipping string

// The clippings of DP-Sinkhorn.
const (
	// Whole clips the rows that met real ones together, as the public code does:
	// whoever joins moves them by 2C at most.
	Whole Clipping = "whole"
	// PerImage clips each row by itself, as the text does (001, Algorithm 1): whoever
	// joins may turn all n of them round, and moves them by 2C·√n.
	PerImage Clipping = "per-image"
)

// Sensitivity is that of n clipped rows under a relation.
func (c Clipping) Sensitivity(bound float64, n int, relation privacy.Relation) (privacy.Sensitivity, error) {
	switch c {
	case Whole:
		return clip.JointSensitivity(bound, relation)
	case PerImage:
		return clip.PerImageSensitivity(bound, n, relation)
	}
	return privacy.Sensitivity{}, fmt.Errorf("semidebiased: clipping %q; it is %q or %q", c, Whole, PerImage)
}

// Sanitise makes a gradient private, in place: its first n rows, which have met
// real ones, are clipped and get the noise of release step; the others, which have
// met generated rows alone, are clipped to the same size (001, Section 4.3). After an error
// byX is not private, and to be thrown away.
func (c Clipping) Sanitise(byX []float32, n, dim int, bound float64, release *privacy.Releaser, step int) error {
	settle, err := c.Begin(byX, n, dim, bound, release, step, &Buffers{})
	if err != nil {
		return err
	}
	return settle()
}

// Begin is Sanitise for those who go on computing until it is settled that the step may
// be released (privacy.Releaser.Begin).
func (c Clipping) Begin(byX []float32, n, dim int, bound float64, release *privacy.Releaser, step int, in *Buffers) (settle func() error, err error) {
	sensitivity, err := c.Sensitivity(bound, n, release.Relation())
	if err != nil {
		return nil, err
	}
	if n < 0 || dim < 1 || len(byX)%dim != 0 || len(byX)/dim < n {
		return nil, fmt.Errorf("semidebiased: a gradient of %d numbers; want [n + n′, dim] with n = %d and dim = %d, and n′ of 0 or more", len(byX), n, dim)
	}
	met, others := byX[:n*dim], byX[n*dim:]
	for _, rows := range [][]float32{met, others} {
		if len(rows) == 0 {
			continue
		}
		size := len(rows)
		if c == PerImage {
			size = dim
		}
		if err := clip.Rows(rows, size, bound); err != nil {
			return nil, err
		}
	}
	return in.begin(met, sensitivity, release, step)
}

// Buffers are where a release is made, to be taken again for the next once it is settled.
type Buffers struct{ exact, noisy []float64 }

// Release releases values in place. After an error they are not private, and to be thrown
// away.
func (b *Buffers) Release(values []float32, s privacy.Sensitivity, release *privacy.Releaser, step int) error {
	settle, err := b.begin(values, s, release, step)
	if err != nil {
		return err
	}
	return settle()
}

func (b *Buffers) begin(values []float32, s privacy.Sensitivity, release *privacy.Releaser, step int) (settle func() error, err error) {
	if len(b.exact) != len(values) {
		b.exact, b.noisy = make([]float64, len(values)), make([]float64, len(values))
	}
	for i, v := range values {
		b.exact[i] = float64(v)
	}
	settle, err = release.Begin(b.noisy, b.exact, s, step)
	if err != nil {
		return nil, err
	}
	for i, v := range b.noisy {
		values[i] = float32(v)
	}
	return settle, nil
}

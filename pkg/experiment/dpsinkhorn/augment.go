package dpsinkhorn

import (
	"math/rand/v2"

	"molehill/models/semidebiased"
	"molehill/transport"
)

// shift is how far a copy of an image is moved at most, in pixels.
const shift = 2

// multiply returns every image of a batch so many times, one after the other: as it is,
// and moved by up to shift pixels along both axes, where the pixels at its edge go on
// (augmentation multiplicity, De et al. 2022). All copies of a record come and go with
// it, and what is clipped is the gradient of all of them together: no promise changes.
func (d *Rows) multiply(b semidebiased.Batch, times int, rng *rand.Rand) semidebiased.Batch {
	if times == 1 {
		return b
	}
	all := semidebiased.Batch{Points: transport.NewPoints(b.Len()*times, b.Dim), Labels: make([]int, 0, b.Len()*times)}
	for i := range b.Len() {
		for copied := range times {
			all.Labels = append(all.Labels, b.Labels[i])
			down, right := 0, 0
			if copied > 0 {
				down, right = rng.IntN(2*shift+1)-shift, rng.IntN(2*shift+1)-shift
			}
			d.move(all.Row(i*times+copied), b.Row(i), down, right)
		}
	}
	return all
}

// move writes an image to another, moved by so many pixels.
func (d *Rows) move(to, from []float32, down, right int) {
	for y := range d.Height {
		for x := range d.Width {
			source := min(max(y-down, 0), d.Height-1)*d.Width + min(max(x-right, 0), d.Width-1)
			copy(to[(y*d.Width+x)*d.Channels:][:d.Channels], from[source*d.Channels:])
		}
	}
}

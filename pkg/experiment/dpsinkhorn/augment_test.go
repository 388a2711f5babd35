package dpsinkhorn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/semidebiased"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
	"molehill/transport"
)

// A copy is the image moved, with the pixels of its edge going on; the first copy is the
// image itself, and all of a record stand together, with its label.
func TestCopiesAreMovedImages(t *testing.T) {
	d := &Rows{Height: 3, Width: 4, Channels: 2}
	image := make([]float32, 24)
	for i := range image {
		image[i] = float32(i)
	}
	moved := make([]float32, 24)
	d.move(moved, image, 1, -2)
	want := [3][4]int{{2, 3, 3, 3}, {2, 3, 3, 3}, {6, 7, 7, 7}} // pixels of image, row by row
	for i := range 12 {
		for channel := range 2 {
			if got, from := moved[2*i+channel], image[2*want[i/4][i%4]+channel]; got != from {
				t.Errorf("pixel %d, channel %d: %v, want %v", i, channel, got, from)
			}
		}
	}

	b := rows(3, 24, 3, 1)
	const times = 50
	all := d.multiply(b, times, rand.New(rand.NewPCG(1, 1)))
	kinds := map[string]bool{}
	for i := range all.Len() {
		record := i / times
		if all.Labels[i] != b.Labels[record] {
			t.Fatalf("copy %d has label %d, its record %d", i, all.Labels[i], b.Labels[record])
		}
		if i%times == 0 && !slices.Equal(all.Row(i), b.Row(record)) {
			t.Errorf("the first copy of record %d is not the record", record)
		}
		found := ""
		for down := -shift; down <= shift; down++ {
			for right := -shift; right <= shift; right++ {
				if d.move(moved, b.Row(record), down, right); slices.Equal(moved, all.Row(i)) {
					found = fmt.Sprint(down, right)
				}
			}
		}
		if found == "" {
			t.Fatalf("copy %d is no moved image", i)
		}
		kinds[found] = true
	}
	// Of 147 copies each of 25 shifts is missed with probability 0.96¹⁴⁷ = 0.0025. (On this
	// small image some of them are alike.)
	if len(kinds) < 12 {
		t.Errorf("%d kinds of shifts", len(kinds))
	}
	if same := d.multiply(b, 1, nil); &same.Data[0] != &b.Data[0] {
		t.Error("multiplicity 1 copies")
	}
}

// However many copies of a record there are, and whatever it is, the release moves by the
// sensitivity of one record at most. The plan's noise is too small to see.
func TestCopiesLeaveTheSensitivity(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const side = 3
		c := tiny(t)
		c.Multiplicity = 4
		x := rows(9, side*side, 3, 2)
		guide := guiding(t, b, c, rows(6, side*side, 3, 1), nil) // compiled once
		guide.rows.Height, guide.rows.Width, guide.rows.Channels = side, side, 1
		var largest float64
		for record := range 20 {
			var released [2][]float32
			for world := range released {
				private := rows(6, side*side, 3, uint64(10+record))
				if world == 1 { // one record more, far from all others
					far := transport.NewPoints(7, side*side)
					copy(far.Data, private.Data)
					for i := range far.Row(6) {
						far.Row(6)[i] = float32(record-10) * 1e3
					}
					private = semidebiased.Batch{Points: far, Labels: append(private.Labels, record%3)}
				}
				plan := planned(t, c, private.Len(), c.Generated*side*side, 1, 1e-6)
				guide.rows.Private, guide.release = private, plan.Releaser(noise.Seeded(3))
				g, err := guide.gradient(0, x)
				if err != nil {
					t.Fatal(err)
				}
				released[world] = g[:c.Generated*side*side]
			}
			for i, v := range released[1] {
				released[0][i] -= v
			}
			moved := clip.Norm(released[0])
			largest = max(largest, moved)
			if bound := 2 * c.Bound; !(moved <= bound+1e-3) {
				t.Errorf("record %d moves the release by %v, more than %v", record, moved, bound)
			}
		}
		if !(largest >= c.Bound/10) {
			t.Errorf("no record moved the release by more than %v; the test sees nothing", largest)
		}
	})
}

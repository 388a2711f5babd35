package training

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// tally estimates how often each class occurs, from the counts that steps release.
type tally struct {
	sums  []float64 // of the released counts, in records, by class
	steps int
	batch float64 // records of a step
	// noise is the standard deviation of a released count over the batch's size.
	noise float64
}

func (t *tally) add(counts []float64) {
	for k, v := range counts {
		t.sums[k] += v
	}
	t.steps++
}

// frequencies are the estimates, of sum 1: means of what was released, with as many
// steps of equal frequencies before them as the noise of a step is large beside these.
func (t *tally) frequencies() []float64 {
	classes := float64(len(t.sums))
	before := t.noise * t.noise * classes * classes
	if t.steps == 0 {
		before = 1
	}
	f, sum := make([]float64, len(t.sums)), 0.
	for k, v := range t.sums {
		f[k] = max(0, (before/classes+v/t.batch)/(before+float64(t.steps)))
		sum += f[k]
	}
	for k := range f {
		if f[k] /= sum; !(sum > 0) {
			f[k] = 1 / classes
		}
	}
	return f
}

// draw draws the classes of n rows, each class as often as its frequency says, up to
// one more or less, in random order.
func draw(frequencies []float64, n int, rng *rand.Rand) []int {
	classes, at, reached := make([]int, n), 0, frequencies[0]
	start := rng.Float64()
	for i := range classes {
		for at < len(frequencies)-1 && (float64(i)+start)/float64(n) > reached {
			at++
			reached += frequencies[at]
		}
		classes[i] = at
	}
	rng.Shuffle(n, func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	return classes
}

// save writes what was counted; without classes, nothing.
func (t *tally) save(to io.Writer) error {
	if len(t.sums) < 2 {
		return nil
	}
	return binary.Write(to, binary.LittleEndian, t.sums)
}

// restore continues from what save has written after so many steps.
func (t *tally) restore(from io.Reader, done int) error {
	if t.steps = done; len(t.sums) < 2 {
		return nil
	}
	if err := binary.Read(from, binary.LittleEndian, t.sums); err != nil {
		return fmt.Errorf("training: the saved counts: %w", err)
	}
	return nil
}

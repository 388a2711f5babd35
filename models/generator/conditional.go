package generator

import (
	"fmt"

	"molehill/transport"
)

// Conditional returns the input of a generator that is told what class to make:
// each row of noise, [n, dim], followed by zeros and a one for its label,
// [n, dim+classes]. Such a generator has Config.Noise = dim+classes. Labels, [n],
// are numbers from 0 to classes−1.
func Conditional(noise transport.Points, labels []int, classes int) (transport.Points, error) {
	if len(labels) != noise.Len() {
		return transport.Points{}, fmt.Errorf("generator: %d labels of %d rows of noise; give one each", len(labels), noise.Len())
	}
	input := transport.NewPoints(noise.Len(), noise.Dim+classes)
	for i, label := range labels {
		if label < 0 || label >= classes {
			return transport.Points{}, fmt.Errorf("generator: row %d has the label %d; expected 0 to %d", i, label, classes-1)
		}
		row := input.Row(i)
		copy(row, noise.Row(i))
		row[noise.Dim+label] = 1
	}
	return input, nil
}

package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// Within says what is wrong with a setting that has to be from least to most, nil if it
// is; cmp.Or asks of several in turn. NaN never is.
func Within[T int | float64](name string, value, least, most T) error {
	if !(value >= least && value <= most) {
		return fmt.Errorf("%s is %v; it is from %v to %v", name, value, least, most)
	}
	return nil
}

// Fastest is the largest learning rate that Positive is asked of where an experiment knows no
// lower one. Weights begin below 1, and Adam moves each by the rate in a step, SGD by the rate
// times a gradient that is clipped, to a thousandth say. What goes farther comes to no number,
// and only after it has paid.
const Fastest = 1e6

// Farthest is the largest number of other settings, likewise: of what clips, weighs and blurs.
// Its square times what a network has numbers is still one of single precision.
const Farthest = 1e9

// Positive is Within for a number that has to be above 0.
func Positive(name string, value, most float64) error {
	if !(value > 0 && value <= most) {
		return fmt.Errorf("%s is %v; it is above 0 and at most %v", name, value, most)
	}
	return nil
}

// OneOf says what is wrong with a setting that has to be one of some words, nil if it is.
func OneOf[S ~string](name string, value S, choices ...S) error {
	if slices.Contains(choices, value) {
		return nil
	}
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = fmt.Sprintf("%q", c)
	}
	return fmt.Errorf("%s is %q; it is %s", name, value, strings.Join(quoted, " or "))
}

package experiment

import (
	"fmt"
	"math"
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

// Positive is Within for a number that has to be finite and above 0.
func Positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 0) {
		return fmt.Errorf("%s is %v; it must be finite and above 0", name, value)
	}
	return nil
}

// fastest is the largest learning rate of all. Weights begin below 1, and Adam moves each by
// the rate in a step, SGD by the rate times a gradient that is clipped, to a thousandth say.
// What goes farther comes to no number, and only after it has paid.
const fastest = 1e6

// Rate is Positive for a learning rate, which has a largest value, too. Experiments that know
// more of theirs have a lower one.
func Rate(name string, value float64) error {
	if !(value > 0 && value <= fastest) {
		return fmt.Errorf("%s is %v; it is above 0 and at most %g", name, value, float64(fastest))
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

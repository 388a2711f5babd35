package experiment

import (
	"fmt"
	"math"
)

// Within says what is wrong with a setting that has to be from least to most, nil if it
// is; cmp.Or asks of several in turn.
func Within(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d; it is from %d to %d", name, value, least, most)
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

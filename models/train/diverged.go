package train

import "fmt"

// ErrDiverged says that a training has come to numbers that are not finite. It is the one
// wording of that, behind what the numbers are ([Finite]).
var ErrDiverged error = diverged{}

type diverged struct{}

func (diverged) Error() string { return "no longer finite; train with a smaller learning_rate" }

// Recurs implements run.Recurring: the same settings, seed and noise come to the same numbers.
func (diverged) Recurs() {}

// Finite returns an error that wraps [ErrDiverged] unless all values are finite; what they
// are stands before it: "the loss".
func Finite[F ~float32 | ~float64](what string, values ...F) error {
	for _, v := range values {
		if v-v != 0 {
			return fmt.Errorf("%s is %w", what, ErrDiverged)
		}
	}
	return nil
}

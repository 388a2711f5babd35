package train

import (
	"fmt"
	"math"
)

// Schedule is how the learning rate goes with the steps.
type Schedule string

const (
	Constant Schedule = "constant"
	// Cosine falls to 0 along half a cosine (Loshchilov & Hutter 2017), so that the noise
	// of the last steps averages out.
	Cosine Schedule = "cosine"
)

// Check says what is wrong with the schedule.
func (s Schedule) Check() error {
	if s != Constant && s != Cosine {
		return fmt.Errorf("schedule is %q; it is %q or %q", s, Constant, Cosine)
	}
	return nil
}

// Rate is the learning rate of a step, from 0 on, of so many, where the highest is given.
func (s Schedule) Rate(highest float64, step, steps int) float64 {
	if s == Cosine {
		return highest / 2 * (1 + math.Cos(math.Pi*float64(step)/float64(steps)))
	}
	return highest
}

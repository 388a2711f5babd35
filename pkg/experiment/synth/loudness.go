package synth

import (
	"fmt"
	"io"

	"molehill/privacy"
)

// loud is a Method that knows how its noise compares with what it is on.
type loud interface {
	Plan(n int) (privacy.Plan, error)
	// Loudness is how many times as large the noise of a plan is, at least, as what it is on
	// can be, whatever the records are; and what that is.
	Loudness(p privacy.Plan) (times float64, of string)
}

// tellLoudness says where nothing that a method releases of so few records can stand above
// its noise: that is as large as one record asks for, however many there are. Nobody is
// refused what comes out.
func (t *Terms) tellLoudness(to io.Writer, method any, n int, records string) {
	m, ok := method.(loud)
	if !ok || !t.Budget().Private() || n < 1 {
		return
	}
	plan, err := m.Plan(n)
	if err != nil {
		return // the run says what is wrong with it, and pays nothing
	}
	if times, of := m.Loudness(plan); times >= 1 {
		fmt.Fprintf(to, "With %d %s and ε = %v the noise is at least %.2g times as large as %s can be: what is made will show little else.\n", n, records, t.Epsilon, times, of)
	}
}

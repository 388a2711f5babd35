package accountant

import (
	"errors"
	"slices"
)

// Tightest asks the sound accountants, the tightest first, and returns what the
// first one says that has a theorem: AnalyticGaussian, PLD, RDP. The result
// carries that one's name.
type Tightest struct{}

// sound are the accountants whose every ε is proved, the tightest first.
var sound = []Accountant{AnalyticGaussian{}, PLD{}, RDP{}}

// Name is "tightest".
func (Tightest) Name() string { return "tightest" }

// Epsilon is Accountant's.
func (a Tightest) Epsilon(e Event, rel Relation, delta float64) (r Result, err error) {
	for _, accountant := range sound {
		if r, err = accountant.Epsilon(e, rel, delta); !unsupported(err) {
			break
		}
	}
	return r, err
}

// Sound returns what every sound accountant says that has a theorem for e, the
// tightest accountant first; an error if none has one.
func Sound(e Event, rel Relation, delta float64) (results []Result, err error) {
	for _, accountant := range sound {
		var r Result
		if r, err = accountant.Epsilon(e, rel, delta); err == nil {
			results = append(results, r)
		} else if !unsupported(err) {
			return nil, err
		}
	}
	if len(results) > 0 {
		err = nil
	}
	return results, err
}

// All returns every accountant with its usual options: the sound ones first,
// then those that approximate, and those that papers used.
func All() []Accountant {
	return append(slices.Clone(sound), GDP{}, Moments{}, Moments{Cumulative: true}, Classic{})
}

func unsupported(err error) bool {
	var refusal *UnsupportedError
	return errors.As(err, &refusal)
}

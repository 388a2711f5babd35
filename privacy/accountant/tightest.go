package accountant

import (
	"errors"
	"slices"
	"strings"
)

// Tightest is the least ε of the sound accountants that have a theorem:
// AnalyticGaussian, which is exact, or else PLD and RDP. The result carries that
// one's name.
type Tightest struct{}

// sound are the accountants whose every ε is proved, the tightest first.
var sound = []Accountant{AnalyticGaussian{}, PLD{}, RDP{}}

// Name is "tightest".
func (Tightest) Name() string { return "tightest" }

// Epsilon is Accountant's.
func (a Tightest) Epsilon(e Event, rel Relation, delta float64) (r Result, err error) {
	if r, err = (AnalyticGaussian{}).Epsilon(e, rel, delta); !unsupported(err) {
		return r, err
	}
	results, err := Sound(e, rel, delta)
	if err != nil {
		return Result{}, err
	}
	r = results[0]
	for _, other := range results {
		if other.Epsilon < r.Epsilon {
			r = other
		}
	}
	return r, nil
}

// Sound returns what every sound accountant says that has a theorem for e, the
// tightest accountant first; an error if none has one.
func Sound(e Event, rel Relation, delta float64) (results []Result, err error) {
	var reasons []string
	for _, accountant := range sound {
		r, err := accountant.Epsilon(e, rel, delta)
		refusal, refused := errors.AsType[*UnsupportedError](err)
		switch {
		case refused:
			if !slices.Contains(reasons, refusal.Reason) {
				reasons = append(reasons, refusal.Reason)
			}
		case err != nil:
			return nil, err
		default:
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		return nil, &UnsupportedError{Tightest{}.Name(), e, rel, strings.Join(reasons, "; ")}
	}
	return results, nil
}

// All returns every accountant with its usual options: the sound ones first,
// then those that approximate, and those that papers used.
func All() []Accountant {
	return append(slices.Clone(sound), GDP{}, Moments{}, Moments{Cumulative: true}, Classic{})
}

func unsupported(err error) bool {
	_, ok := errors.AsType[*UnsupportedError](err)
	return ok
}

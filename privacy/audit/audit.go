// Package audit attacks private mechanisms and says what the attack proves: a
// lower bound on ε that holds with a stated confidence. A bound above what is
// claimed refutes the claim. A bound below it proves nothing of the claim; it
// says how much an attack of this size could see.
//
// A Game is a mechanism as an attacker meets it who chooses all records: some
// of them are canaries, each present in one of two forms by a secret fair bit,
// and from what the mechanism releases the attacker scores which. Flipping a
// bit must give a neighbour under the relation that the claim is made for:
//
//	add-remove   the canary is in the data, or not
//	zero-out     the canary is in the data, or the null record in its place
//	replace-one  one of two records, as far apart as the domain allows
//	k-end        one of two records of one category
//
// So a bound is for the game's relation and no other: under replace-one a
// canary that is only left out would move half as far, and the bound would be
// of the wrong ε. Three bounds come from the same scores:
//
//   - Guesses.Epsilon (Steinke, Nasr & Jagielski 2023) assumes nothing, and
//     allows many canaries in one execution;
//   - Errors.Epsilon counts the errors of a threshold test, and assumes that
//     trials are independent;
//   - Errors.GaussianEpsilon assumes in addition that the mechanism is Gaussian
//     (Nasr et al. 2023), and then sees far beyond what can be counted.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/privacy"
	"molehill/privacy/noise"
)

// Game is a mechanism set up for an attack.
type Game struct {
	Relation privacy.Relation // between the data before and after a bit is flipped
	Canaries int              // the most bits that an execution can hold

	// Apart says that the scores of one execution are independent given the
	// bits: no two canaries share noise or a sample. Otherwise the threshold
	// tests take one canary of each execution.
	Apart bool
	// Gaussian says that a bit is hidden by Gaussian noise of a fixed scale and
	// nothing else, such as a secret sample.
	Gaussian bool

	// Executions and Bits are how much is played if nobody asks for more or less.
	Executions, Bits int

	Tested    string   // the neighbours and the attack, in words
	NotTested []string // what a surviving claim must not be taken for

	// Play executes the mechanism afresh with the given bits and noise, and
	// returns the attacker's score of each bit: the log-likelihood ratio of one
	// against zero, or what the attacker has for it. It is positive where one is
	// likelier, and larger where that is surer. Run calls it once at a time.
	Play func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error)
}

// Options say how a game is played.
type Options struct {
	Executions int     // 0 for the game's own
	Canaries   int     // bits of each execution; 0 for the game's own
	Delta      float64 // of the claim
	Confidence float64 // that all bounds hold together, in (0, 1)

	Random *rand.Rand                                // draws the bits
	Secret func(execution int) (noise.Source, error) // nil for noise from the operating system
	Tell   func(done, total int)                     // is told of each execution; nil for nobody
}

// Bound is a lower bound on ε.
type Bound struct {
	Method  string  `json:"method"`
	Assumes string  `json:"assumes"` // beyond secret, fair bits
	Epsilon float64 `json:"epsilon"`
	Reach   float64 `json:"reach"` // the bound of an attack that made no mistake
	Seen    string  `json:"seen"`  // what was counted
}

// Report is what an attack proves.
type Report struct {
	Relation   string   `json:"relation"`
	Delta      float64  `json:"delta"`
	Confidence float64  `json:"confidence"`
	Executions int      `json:"executions"`
	Canaries   int      `json:"canaries"` // of each execution
	Bounds     []Bound  `json:"bounds"`
	Tested     string   `json:"tested"`
	NotTested  []string `json:"not_tested"`
}

// Best returns the largest bound, the zero one of a report without any.
func (r Report) Best() Bound {
	if len(r.Bounds) == 0 {
		return Bound{}
	}
	return slices.MaxFunc(r.Bounds, func(a, b Bound) int { return cmp.Compare(a.Epsilon, b.Epsilon) })
}

// Run plays a game and bounds ε from below. The bounds hold together with the
// confidence asked for: each has its part of the failure probability.
func Run(ctx context.Context, g Game, o Options) (Report, error) {
	if o.Executions == 0 {
		o.Executions = g.Executions
	}
	if o.Canaries == 0 {
		o.Canaries = min(g.Bits, g.Canaries)
	}
	switch {
	case o.Executions < 1:
		return Report{}, fmt.Errorf("audit: %d executions; play at least one", o.Executions)
	case o.Canaries < 1 || o.Canaries > g.Canaries:
		return Report{}, fmt.Errorf("audit: %d canaries; this mechanism takes 1 to %d in an execution", o.Canaries, g.Canaries)
	case o.Random == nil:
		return Report{}, errors.New("audit: no source of the canaries' secret bits; give Options a Random")
	case !(o.Delta > 0 && o.Delta < 1):
		return Report{}, fmt.Errorf("audit: δ = %v; want the δ of the claim, between 0 and 1", o.Delta)
	case !(o.Confidence > 0 && o.Confidence < 1):
		return Report{}, fmt.Errorf("audit: confidence %v; want it between 0 and 1, such as 0.95", o.Confidence)
	}
	trials, err := play(ctx, g, o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Relation: g.Relation.String(), Delta: o.Delta, Confidence: o.Confidence, Executions: o.Executions, Canaries: o.Canaries,
		Tested: g.Tested, NotTested: g.NotTested}
	count := 2
	if g.Gaussian {
		count = 3
	}
	each := 1 - (1-o.Confidence)/float64(count)
	guessed, err := guess(trials, o.Delta, each)
	if err != nil {
		return Report{}, err
	}
	alone := trials
	if !g.Apart {
		alone = nil // the first canary of each execution
		for i := 0; i < len(trials); i += o.Canaries {
			alone = append(alone, trials[i])
		}
	}
	r.Bounds = append(r.Bounds, guessed, counted(alone, o.Delta, each))
	if g.Gaussian {
		gaussian, err := gaussian(alone, o.Delta, each)
		if err != nil {
			return Report{}, err
		}
		r.Bounds = append(r.Bounds, gaussian)
	}
	return r, nil
}

// play returns the bits of all executions and their scores.
func play(ctx context.Context, g Game, o Options) ([]trial, error) {
	secret := o.Secret
	if secret == nil {
		secret = func(int) (noise.Source, error) { // of canaries, which nobody has to keep
			drawn, err := noise.Secure()
			if err != nil {
				return noise.Source{}, err
			}
			return noise.Keyed(drawn.Key(), true), nil
		}
	}
	trials := make([]trial, 0, o.Executions*o.Canaries)
	bits := make([]bool, o.Canaries)
	for execution := range o.Executions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range bits {
			bits[i] = o.Random.Uint64()&1 == 1
		}
		source, err := secret(execution)
		if err != nil {
			return nil, err
		}
		scores, err := g.Play(ctx, slices.Clone(bits), source)
		if err != nil {
			return nil, err
		}
		if len(scores) != len(bits) {
			return nil, fmt.Errorf("audit: %d scores of %d bits; the game must score each", len(scores), len(bits))
		}
		for i, score := range scores {
			if math.IsNaN(score) {
				return nil, fmt.Errorf("audit: the score of canary %d is no number; the game must score each", i)
			}
			trials = append(trials, trial{bits[i], score})
		}
		if o.Tell != nil {
			o.Tell(execution+1, o.Executions)
		}
	}
	return trials, nil
}

// guessed are the parts of the canaries that are guessed, the surest ones; the
// bound is the best of them.
var guessed = []float64{1, 1. / 4, 1. / 16, 1. / 64}

// guess is the bound of Steinke, Nasr & Jagielski on the bits of all executions:
// flipping one of them changes one execution. Canaries beyond 1/(20δ) are left
// out; the theorem's price for them would be a failure probability near 1.
func guess(trials []trial, delta, confidence float64) (Bound, error) {
	trials = trials[:max(1, int(min(1/(20*delta), float64(len(trials)))))]
	sure := slices.Clone(trials)
	slices.SortStableFunc(sure, func(a, b trial) int { return cmp.Compare(math.Abs(b.score), math.Abs(a.score)) })
	each := 1 - (1-confidence)/float64(len(guessed))
	best := Bound{Method: "guesses", Assumes: "nothing (Steinke, Nasr & Jagielski 2023, Theorem 5.2)", Epsilon: -1}
	for _, part := range guessed {
		g := Guesses{Canaries: len(sure), Made: max(1, int(part*float64(len(sure))))}
		perfect := g
		perfect.Right = g.Made
		for _, t := range sure[:g.Made] {
			if t.one == (t.score > 0) {
				g.Right++
			}
		}
		reach, err := perfect.Epsilon(delta, each)
		if err != nil {
			return best, err
		}
		epsilon, err := g.Epsilon(delta, each)
		if err != nil {
			return best, err
		}
		best.Reach = max(best.Reach, reach)
		if epsilon > best.Epsilon {
			best.Epsilon = epsilon
			best.Seen = fmt.Sprintf("%d of %d guesses right, of %d canaries", g.Right, g.Made, g.Canaries)
		}
	}
	return best, nil
}

// counted is by the threshold that does best on one half of the trials, tested
// on the other.
func counted(trials []trial, delta, confidence float64) Bound {
	e := split(trials, func(e Errors) float64 { return e.Epsilon(delta, confidence) })
	perfect := Errors{Zeros: e.Zeros, Ones: e.Ones}
	return Bound{Method: "threshold test", Assumes: "independent trials (Clopper–Pearson limits of both error rates)",
		Epsilon: e.Epsilon(delta, confidence), Reach: perfect.Epsilon(delta, confidence), Seen: e.String()}
}

// gaussian is by the test that calls one what is likelier to be one: of all
// thresholds it errs least, and it needs no trials to be chosen on.
func gaussian(trials []trial, delta, confidence float64) (Bound, error) {
	e := test(trials, 0)
	perfect := Errors{Zeros: e.Zeros, Ones: e.Ones}
	epsilon, err := e.GaussianEpsilon(delta, confidence)
	if err != nil {
		return Bound{}, err
	}
	reach, err := perfect.GaussianEpsilon(delta, confidence)
	return Bound{Method: "Gaussian test", Assumes: "independent trials of a Gaussian mechanism (Nasr et al. 2023, by μ)",
		Epsilon: epsilon, Reach: reach, Seen: fmt.Sprintf("%v, μ ≥ %.3g", e, max(0, e.mu(confidence)))}, err
}

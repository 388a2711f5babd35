package ledger

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// tally counts equal events, so that a thousand equal runs compose as fast as
// one.
type tally struct {
	runs      int
	relations []privacy.Relation // distinct
	events    []accountant.SelfComposed
	index     map[string]int // of an event's text in events
	research  int            // runs whose noise protects nothing
	none      int            // runs without noise
}

func newTally() tally { return tally{index: map[string]int{}} }

func (t tally) clone() tally {
	t.relations, t.events, t.index = slices.Clone(t.relations), slices.Clone(t.events), maps.Clone(t.index)
	return t
}

// add counts n runs like r.
func (t *tally) add(r Reservation, n int) {
	t.runs += n
	event, key := r.Event, fmt.Sprint(r.Event)
	if _, none := r.Event.(accountant.NonPrivate); none {
		t.none += n
	} else if r.Research {
		event, key = accountant.NonPrivate{}, fmt.Sprint(accountant.NonPrivate{})
		t.research += n
	}
	if !slices.Contains(t.relations, r.Relation) {
		t.relations = append(t.relations, r.Relation)
	}
	at, known := t.index[key]
	if !known {
		at = len(t.events)
		t.index[key] = at
		t.events = append(t.events, accountant.SelfComposed{Event: event})
	}
	t.events[at].Count += n
}

// with returns t and n runs like r.
func (t tally) with(r Reservation, n int) tally {
	t = t.clone()
	t.add(r, n)
	return t
}

// and is everything counted, and one more event.
func (t tally) and(more ...accountant.Event) accountant.Event {
	var all accountant.Composed
	for _, e := range t.events {
		all.Events = append(all.Events, e)
	}
	all.Events = append(all.Events, more...)
	return all
}

// epsilon composes everything counted, at the δ and under the relation of b.
func (t tally) epsilon(b Budget) (privacy.Epsilon, error) {
	if len(t.events) == 0 {
		return 0, nil
	}
	for _, r := range t.relations {
		if !b.Relation.Within(r) {
			return 0, fmt.Errorf("some are accounted for under %v, the budget is kept under %v, and the two do not compose", r, b.Relation)
		}
	}
	result, err := b.accountant().Epsilon(t.and(), b.Relation, b.Delta)
	if err != nil {
		return 0, err
	}
	if result.Approximate || math.IsNaN(result.Epsilon) || result.Epsilon < 0 {
		return 0, fmt.Errorf("accountant %s answers ε = %v, which is no proven bound (%s)", result.Accountant, result.Epsilon, result.Note)
	}
	return privacy.Epsilon(result.Epsilon), nil
}

// together composes everything counted where there is no budget: under the first of the
// runs' relations that all of them compose under. Where none does, or nothing is proved,
// it is ∞, and why.
func (t tally) together(delta float64) (spent privacy.Epsilon, under privacy.Relation, fault string) {
	if t.runs == 0 {
		return 0, under, ""
	}
	all := slices.IndexFunc(t.relations, func(r privacy.Relation) bool {
		return !slices.ContainsFunc(t.relations, func(other privacy.Relation) bool { return !r.Within(other) })
	})
	never := privacy.Epsilon(math.Inf(1))
	if all < 0 {
		return never, under, fmt.Sprintf("(they are accounted for under %s, which do not compose)", listed(t.relations))
	}
	under = t.relations[all]
	spent, err := t.epsilon(Budget{Relation: under, Delta: delta})
	if err != nil {
		return never, under, fmt.Sprintf("(%v)", err)
	}
	return spent, under, strings.TrimSpace(t.why())
}

// listed names two relations or more.
func listed(relations []privacy.Relation) string {
	var names []string
	for _, r := range relations {
		names = append(names, r.String())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// share is how much of a filter's room everything counted takes.
func (t tally) share(b Budget) (float64, error) {
	if len(t.events) == 0 {
		return 0, nil
	}
	spent, err := accountant.RDP{}.Divergence(t.and(), b.Relation, b.Order)
	return spent / accountant.FilterRoom(b.Order, b.Epsilon, b.Delta), err
}

// why explains an infinite ε.
func (t tally) why() string {
	if t.none+t.research == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d without noise, %s, whose noise follows from a seed)", t.none, count(t.research, "research run"))
}

// count says how many there are of a thing.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// plain bounds ε of everything counted and one more event by what is quick to
// compose: exact for Gaussians on all records, Rényi divergences for others.
// Advice about the future needs no more.
func (t tally) plain(b Budget, more ...accountant.Event) (float64, error) {
	event := t.and(more...)
	quick := []accountant.Accountant{accountant.AnalyticGaussian{}, accountant.RDP{}}
	if b.Order != 0 {
		quick = nil // its own is
	}
	for _, a := range quick {
		if result, err := a.Epsilon(event, b.Relation, b.Delta); err == nil {
			return result.Epsilon, nil
		}
	}
	result, err := b.accountant().Epsilon(event, b.Relation, b.Delta)
	return result.Epsilon, err
}

// room is the ε, by itself, of a Gaussian release that fits b beside everything
// counted: the largest, to 1 %, that plain can prove; 0 if it proves none.
func (t tally) room(b Budget) privacy.Epsilon {
	one := func(multiplier float64) accountant.Event { return accountant.Gaussian{NoiseMultiplier: multiplier} }
	fits := func(multiplier float64) bool {
		epsilon, err := t.plain(b, one(multiplier))
		return err == nil && epsilon <= b.Epsilon
	}
	// With nothing else counted, few would fit.
	few, err := accountant.CalibrateNoise(b.Epsilon, b.Delta, one, b.Relation, b.accountant())
	if spent, fault := t.epsilon(b); err != nil || fault != nil || float64(spent) >= b.Epsilon {
		return 0
	}
	enough := few
	for !fits(enough) {
		if few, enough = enough, 2*enough; enough > 1e6 {
			return 0
		}
	}
	for enough > 1.003*few {
		if middle := math.Sqrt(few * enough); fits(middle) {
			enough = middle
		} else {
			few = middle
		}
	}
	result, err := accountant.Tightest{}.Epsilon(one(enough), b.Relation, b.Delta)
	if err != nil {
		return 0
	}
	return privacy.Epsilon(result.Epsilon)
}

// fit is how many more runs like r fit b at least, as far as plain can prove, and
// at most mostRuns.
func (t tally) fit(b Budget, r Reservation) int {
	fits := func(n int) bool {
		after, err := t.with(r, n).plain(b)
		return err == nil && after <= b.Epsilon
	}
	if !fits(1) {
		return 0
	}
	few, many := 1, 2 // few fit; many do not, when the loop is done
	for fits(many) {
		if few, many = many, 2*many; few >= mostRuns {
			return mostRuns
		}
	}
	for many-few > 1 {
		if middle := few + (many-few)/2; fits(middle) {
			few = middle
		} else {
			many = middle
		}
	}
	return few
}

// mostRuns is where counting how many more runs fit ends.
const mostRuns = 1 << 20

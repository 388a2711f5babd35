package ledger

import (
	"fmt"
	"strings"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// account is what the entries of one data set come to.
type account struct {
	budget    *Budget        // nil: none declared
	entries   []Entry        // all of the data set, in order
	from      int            // index of the budget's entry
	first     int            // index of the first entry that counts, but for those that are carried
	carried   map[int]bool   // indices of reservations before it that count too
	reserved  map[string]int // by ID, index of the last reservation
	committed map[string]int
	spent     tally // by what counts
}

func newAccount() *account {
	return &account{reserved: map[string]int{}, committed: map[string]int{}, spent: newTally()}
}

// check says why an entry cannot be added, and returns what it reserves.
func (a *account) check(e Entry) (r Reservation, err error) {
	switch e.Kind {
	case Declared:
		if e.Budget == nil || a.budget != nil {
			return r, fmt.Errorf("it declares no budget, or a second one, of %s", e.Dataset)
		}
		return r, e.Budget.check()
	case Reserved:
		if r, err = e.reservation(); err != nil {
			return r, &unreadError{err}
		}
	case Committed:
	default:
		return r, &unreadError{fmt.Errorf("it is of the kind %q", e.Kind)}
	}
	return r, nil
}

// add takes in an entry that the chain has checked.
func (a *account) add(e Entry) error {
	at := len(a.entries)
	r, err := a.check(e)
	if err != nil {
		return err
	}
	switch e.Kind {
	case Declared:
		a.budget, a.from = e.Budget, at
		if e.Budget.FromNow {
			a.first, a.spent = at, newTally()
			if e.Budget.Carries || e.Epsilon != nil && *e.Epsilon > 0 { // first versions carried nothing
				var err error
				if a.carried, a.spent, err = a.open(); err != nil {
					return err
				}
			}
		}
	case Reserved:
		a.reserved[e.ID] = at
		a.spent.add(r, 1)
	case Committed:
		a.committed[e.ID] = at
	}
	a.entries = append(a.entries, e)
	return nil
}

// reservation returns the entry of ID, if it counts and nobody has said that its run is
// over: one that goes on all the same pays again.
func (a *account) reservation(id string) (Entry, bool) {
	at, ok := a.reserved[id]
	if !ok || !a.counts(at) || !a.isOpen(at) && a.entries[a.committed[id]].Ended {
		return Entry{}, false
	}
	return a.entries[at], true
}

// counts says whether the reservation with this index does.
func (a *account) counts(at int) bool { return at >= a.first || a.carried[at] }

// isOpen says whether the run of the reservation with this index may still release.
func (a *account) isOpen(at int) bool {
	done, ok := a.committed[a.entries[at].ID]
	return !ok || done < at
}

// open is all reservations whose runs may still release, and what they come to. A
// budget that counts from now on counts them: what they will release is not of before.
func (a *account) open() (indices map[int]bool, spent tally, err error) {
	indices, spent = map[int]bool{}, newTally()
	for at, e := range a.entries {
		if e.Kind != Reserved || !a.isOpen(at) {
			continue
		}
		r, err := e.reservation()
		if err != nil {
			return nil, spent, err
		}
		indices[at] = true
		spent.add(r, 1)
	}
	return indices, spent, nil
}

// declared returns what has been spent of b, which is about to be declared.
func (a *account) declared(b Budget) (privacy.Epsilon, error) {
	counted, which := a.spent, "earlier"
	advice := "nothing was created; to leave what was released before out of the budget, and to say so in the ledger, count from now on (--from-now)"
	if b.FromNow {
		var err error
		if _, counted, err = a.open(); err != nil {
			return 0, err
		}
		which = "open"
		advice = fmt.Sprintf("nothing was created; they count from now on too, since their runs may still release: finish those, or say that they are over (molehill budget end %[1]s ID; molehill budget status %[1]s has the IDs)", b.Dataset)
	}
	if len(counted.events) == 0 {
		return 0, nil
	}
	spent, err := counted.epsilon(b)
	if err != nil {
		return 0, fmt.Errorf("ledger: what is reserved for %s (%s) cannot be counted: %w; %s", b.Dataset, count(counted.runs, which+" reservation"), err, advice)
	}
	if float64(spent) > b.Epsilon {
		return 0, fmt.Errorf("ledger: what is reserved for %s (%s) comes to ε = %v at δ = %g already, more than the budget of %v%s; %s",
			b.Dataset, count(counted.runs, which+" reservation"), spent, b.Delta, privacy.Epsilon(b.Epsilon), counted.why(), advice)
	}
	return spent, nil
}

// admit returns what will be spent with r, or why it must not be.
func (a *account) admit(r Reservation) (privacy.Epsilon, error) {
	b := *a.budget
	if !b.Relation.Within(r.Relation) {
		advice := fmt.Sprintf("a run that is accounted for under %v would fit", b.Relation)
		if r.Relation.Within(b.Relation) {
			advice = fmt.Sprintf("it protects less, so that only a budget under %v takes both", r.Relation)
		}
		return 0, fmt.Errorf("ledger: the budget of %s is kept under %v, the run is accounted for under %v; the two do not compose, %s", b.Dataset, b.Relation, r.Relation, advice)
	}
	after, err := a.spent.with(r, 1).epsilon(b)
	if err != nil {
		return 0, fmt.Errorf("ledger: %s, on top of what is reserved for %s, cannot be accounted for: %w", r.ID, r.Dataset, err)
	}
	if float64(after) > b.Epsilon {
		return after, &ExceededError{Budget: b, Reservation: r, After: after, spent: a.spent.clone()}
	}
	return after, nil
}

// ExceededError says that a reservation was refused because it would exceed the
// budget. Nothing was recorded.
type ExceededError struct {
	Budget      Budget
	Reservation Reservation
	Spent       privacy.Epsilon // before
	After       privacy.Epsilon // what it would have come to
	Fits        privacy.Epsilon // the ε, by itself, of the largest Gaussian release that would fit

	spent tally
}

// explain completes the error.
func (e *ExceededError) explain() {
	// What cannot be reckoned stays 0: it only makes the advice poorer.
	e.Spent, _ = e.spent.epsilon(e.Budget)
	e.Fits = e.spent.room(e.Budget)
}

func (e *ExceededError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "ledger: %s would exceed the budget of %s, %v: ", e.Reservation.ID, e.Budget.Dataset, e.Budget)
	have := "have"
	if e.spent.runs == 1 {
		have = "has"
	}
	fmt.Fprintf(&s, "%s %s spent ε = %v, with this one it would be %v; ", count(e.spent.runs, "run"), have, e.Spent, e.After)
	switch _, none := e.Reservation.Event.(accountant.NonPrivate); {
	case none:
		s.WriteString("a run without noise protects nothing, so it fits no budget")
	case e.Reservation.Research:
		s.WriteString("a research run's noise can be recomputed from its seed, so it protects nothing and fits no budget; run it without --research, or on public data")
	case e.Fits > 0:
		fmt.Fprintf(&s, "one release of ε = %v by itself, at δ = %g, would still fit", e.Fits.Down(), e.Budget.Delta)
	default:
		s.WriteString("nothing more fits")
	}
	return s.String()
}

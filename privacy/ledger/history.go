package ledger

import (
	"context"
	"slices"

	"molehill/privacy"
)

// Status is where a data set's budget stands.
type Status struct {
	Dataset string   `json:"dataset"`
	Budget  *Budget  `json:"budget,omitempty"` // nil: none declared
	Note    string   `json:"note,omitempty"`   // of the budget
	Runs    int      `json:"runs"`             // reservations that count
	Earlier int      `json:"earlier"`          // reservations that were over when a budget was declared that counts from then on
	Open    []string `json:"open,omitempty"`   // IDs of reservations that count and are not committed: computing, or crashed

	// Spent is the ε of all runs that count together, at Delta: the budget's, or
	// UnbudgetedDelta without one, under the relation of all runs. It is ∞, and Fault says
	// why, where nothing better is proved.
	Spent privacy.Epsilon `json:"spent"`
	Delta float64         `json:"delta"`
	// Relation is the one that Spent is under, which all runs keep to; 0 before any.
	Relation privacy.Relation `json:"relation,omitempty"`
	Fault    string           `json:"fault,omitempty"`

	// The rest is known with a budget only, else nil.

	// Remaining is the ε, by itself, of a Gaussian release that still fits: mostly
	// more than the difference, since releases compose better than adding.
	Remaining *privacy.Epsilon `json:"remaining,omitempty"`
	// LikeLast is how many more runs like the last one fit, at least.
	LikeLast *int `json:"like_last,omitempty"`
	// Share is how much of its room a budget that is a filter has spent, from 0 to 1: at a
	// fixed order even little comes to a large ε, so that Spent says less than it.
	Share *float64 `json:"share,omitempty"`
}

// UnbudgetedDelta is the δ at which Status composes runs on data that have no budget.
const UnbudgetedDelta = 1e-6

// Status returns where the named data sets stand, or all that have an entry.
// One without entries has no budget and no runs.
func (l *Ledger) Status(ctx context.Context, datasets ...string) ([]Status, error) {
	var all []Status
	err := l.look(ctx, func(c *chain) error {
		if len(datasets) == 0 {
			datasets = slices.Sorted(slices.Values(c.names))
		}
		for _, name := range datasets {
			s, err := c.account(name).status(name)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

func (a *account) status(name string) (Status, error) {
	s := Status{Dataset: name, Budget: clone(a.budget)}
	var last *Entry
	for at, e := range a.entries {
		switch {
		case e.Kind != Reserved:
		case !a.counts(at):
			s.Earlier++
		default:
			s.Runs++
			last = &a.entries[at]
			if a.isOpen(at) {
				s.Open = append(s.Open, e.ID)
			}
		}
	}
	if a.budget == nil {
		s.Delta = UnbudgetedDelta
		s.Spent, s.Relation, s.Fault = a.spent.together(s.Delta)
		return s, nil
	}
	s.Note, s.Delta, s.Relation = a.budget.Note, a.budget.Delta, a.budget.Relation
	var err error
	if s.Spent, err = a.spent.epsilon(*a.budget); err != nil {
		return s, err
	}
	if a.budget.Order != 0 {
		share, err := a.spent.share(*a.budget)
		if err != nil {
			return s, err
		}
		s.Share = &share
	}
	room, more := a.spent.room(*a.budget), 0
	s.Remaining, s.LikeLast = &room, &more
	if last != nil {
		r, err := last.reservation()
		if err != nil {
			return s, err
		}
		more = a.spent.fit(*a.budget, r)
	}
	return s, nil
}

// History is all that happened to a data set: the picture of its budget.
type History struct {
	Dataset string  `json:"dataset"`
	Budget  *Budget `json:"budget,omitempty"` // nil: none declared
	Entries []Entry `json:"entries"`
}

// History returns the entries of a data set, in order.
func (l *Ledger) History(ctx context.Context, dataset string) (History, error) {
	h := History{Dataset: dataset}
	err := l.look(ctx, func(c *chain) error {
		a := c.account(dataset)
		h.Budget = clone(a.budget)
		for _, e := range a.entries {
			h.Entries = append(h.Entries, e.clone())
		}
		return nil
	})
	return h, err
}

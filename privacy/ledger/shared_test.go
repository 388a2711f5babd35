package ledger

import (
	"path/filepath"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// What a ledger hands out is the caller's: no change to it moves a budget, or lets the
// noise of a reservation serve another query.
func TestWhatALedgerHandsOutIsNotWhatItGoesBy(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	var all []Entry
	keep := func(e Entry, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	keep(l.Create(t.Context(), ten))
	keep(l.Reserve(t.Context(), gaussian("a", 5)))
	keep(l.Reserve(t.Context(), gaussian("a", 5))) // found again
	keep(l.Commit(t.Context(), "rows", "a"))
	keep(l.Commit(t.Context(), "rows", "a"))
	keep(l.Reserve(t.Context(), gaussian("b", 5)))
	keep(l.End(t.Context(), "rows", "b"))
	h, err := l.History(t.Context(), "rows")
	if err != nil {
		t.Fatal(err)
	}
	before := status(t, l)
	budgets := []*Budget{h.Budget, status(t, l).Budget}
	other, err := accountant.Encode(gaussian("a", 4).Event)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(all, h.Entries...) {
		if e.Budget != nil {
			budgets = append(budgets, e.Budget)
		}
		if e.Epsilon != nil {
			*e.Epsilon = 0
		}
		copy(e.Event, other)
	}
	if len(budgets) != 4 {
		t.Fatalf("%d budgets were handed out", len(budgets))
	}
	for _, b := range budgets {
		b.Epsilon, b.Delta, b.Relation = 1e6, 0.1, privacy.AddRemove
	}
	after := status(t, l)
	if *after.Budget != *before.Budget || after.Spent != before.Spent || *after.LikeLast != *before.LikeLast {
		t.Errorf("the budget is %+v with %v spent, and was %+v with %v", *after.Budget, after.Spent, *before.Budget, before.Spent)
	}
	_, err = l.Reserve(t.Context(), gaussian("c", 0.1))
	wantError(t, err, "would exceed the budget")
	_, err = l.Reserve(t.Context(), gaussian("a", 4))
	wantError(t, err, "the same noise on other queries")
	mustReserve(t, l, gaussian("a", 5))
	sound(t, l)
}

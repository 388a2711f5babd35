package ledger

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// What was released before there was a budget counts when there is one.
func TestBudgetsCountWhatWasBefore(t *testing.T) {
	for name, c := range map[string]struct {
		before Reservation
		want   string // of the error; "" for none
	}{
		"little":         {gaussian("a", 5), ""},
		"too much":       {gaussian("a", 0.1), "what is reserved for rows (1 earlier reservation) comes to ε ="},
		"no noise":       {Reservation{Dataset: "rows", ID: "a", Relation: privacy.ReplaceOne, Event: accountant.NonPrivate{}}, "(1 without noise, 0 research"},
		"other relation": {Reservation{Dataset: "rows", ID: "a", Relation: privacy.AddRemove, Event: accountant.Gaussian{NoiseMultiplier: 9}}, "accounted for under add-remove"},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
			if e := mustReserve(t, l, c.before); e.Epsilon != nil {
				t.Errorf("ε = %v of no budget", *e.Epsilon)
			}
			if s := status(t, l); s.Runs != 1 || s.Budget != nil {
				t.Errorf("%+v; want a run and no budget", s)
			}
			e, err := l.Create(t.Context(), ten)
			if c.want == "" {
				if err != nil || !(*e.Epsilon > 0) || status(t, l).Spent != *e.Epsilon {
					t.Errorf("%v, %v; want what was spent before", err, e.Epsilon)
				}
				return
			}
			wantError(t, err, c.want, "nothing was created", "--from-now")
			fromNow := ten
			fromNow.FromNow = true
			if _, err = l.Create(t.Context(), fromNow); err == nil {
				t.Error("a run that may still release was left out")
			}
			wantError(t, err, "1 open reservation)", "molehill budget end rows")
			if _, err := l.Commit(t.Context(), "rows", "a"); err != nil { // it is over
				t.Fatal(err)
			}
			mustCreate(t, l, fromNow)
			if s := status(t, l); s.Spent != 0 || s.Earlier != 1 || s.Runs != 0 || !s.Budget.FromNow {
				t.Errorf("%+v; want nothing spent from now on", s)
			}
			// A reservation that was over is no ticket for the new budget.
			if _, err := l.Reserve(t.Context(), gaussian("a", 0.01)); err == nil {
				t.Error("a reservation of before was found again")
			}
			mustReserve(t, l, gaussian("b", 3))
			sound(t, l)
		})
	}
}

// A run that is computing when a budget is declared from now on releases under it.
func TestOpenRunsCountFromNowOn(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	mustReserve(t, l, gaussian("over", 0.2))
	if _, err := l.Commit(t.Context(), "rows", "over"); err != nil {
		t.Fatal(err)
	}
	running := mustReserve(t, l, gaussian("running", 3))
	fromNow := ten
	fromNow.FromNow = true
	declared := mustCreate(t, l, fromNow)
	s := status(t, l)
	if s.Spent != *declared.Epsilon || !(s.Spent > 1) || s.Runs != 1 || s.Earlier != 1 || !slices.Equal(s.Open, []string{"running"}) {
		t.Errorf("%+v; want what the running one spends", s)
	}
	if again := mustReserve(t, l, gaussian("running", 3)); again.Seq != running.Seq {
		t.Errorf("resumed it paid again, entry %d", again.Seq)
	}
	reopened := open(t, l.String()) // another process reads the same of the entries
	if other := status(t, reopened); other.Spent != s.Spent || other.Runs != 1 {
		t.Errorf("%+v, was %+v", other, s)
	}
	if _, err := l.Commit(t.Context(), "rows", "running"); err != nil {
		t.Fatal(err)
	}
	if after := status(t, l); after.Spent != s.Spent || len(after.Open) != 0 {
		t.Errorf("%+v; want what it spent to stay spent", after)
	}
	sound(t, l)
}

// A run that spends no ε beside the budget's δ spends of that, and counts from now on too:
// here with the same once more ε would be thousands.
func TestOpenRunsCountAlsoWithoutEpsilon(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	rare := func(id string) Reservation {
		return Reservation{Dataset: "rows", ID: id, Relation: privacy.AddRemove, Event: accountant.PoissonSampled{Rate: 9e-6, Event: accountant.Gaussian{NoiseMultiplier: 0.01}}}
	}
	mustReserve(t, l, rare("running"))
	fromNow := ten
	fromNow.FromNow, fromNow.Relation = true, privacy.AddRemove
	if declared := mustCreate(t, l, fromNow); *declared.Epsilon != 0 {
		t.Fatalf("ε = %v; the test is of one that spends 0", *declared.Epsilon)
	}
	if s := status(t, l); s.Runs != 1 || s.Earlier != 0 || !slices.Equal(s.Open, []string{"running"}) {
		t.Errorf("%+v; want the running one to count", s)
	}
	var exceeded *ExceededError
	if _, err := l.Reserve(t.Context(), rare("again")); !errors.As(err, &exceeded) {
		t.Errorf("the same once more: %v; want it refused", err)
	}
	sound(t, l)
}

// Budgets from now on of first versions carried nothing, and wrote ε = 0.
func TestOldBudgetsFromNowOnStay(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	mustReserve(t, l, Reservation{Dataset: "rows", ID: "crashed", Relation: privacy.AddRemove, Event: accountant.NonPrivate{}})
	fromNow, nothing := ten, privacy.Epsilon(0)
	fromNow.FromNow = true
	if _, err := l.append(t.Context(), func(*chain) (Entry, error) {
		return Entry{Kind: Declared, Dataset: "rows", Budget: &fromNow, Epsilon: &nothing}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); s.Runs != 0 || s.Earlier != 1 || s.Spent != 0 {
		t.Errorf("%+v; want nothing of before", s)
	}
	mustReserve(t, l, gaussian("b", 3))
	sound(t, l)
}

// Who is said to be over and goes on all the same pays again, before a budget and after.
func TestRunsThatWereEndedPayAgain(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	first := mustReserve(t, l, gaussian("a", 3))
	for range 2 { // saying it again changes nothing
		if e, err := l.End(t.Context(), "rows", "a"); err != nil || e.Seq != first.Seq+1 || !e.Ended {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if held, err := l.Holds(t.Context(), gaussian("a", 3)); held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
	again := mustReserve(t, l, gaussian("a", 3))
	if same := mustReserve(t, l, gaussian("a", 3)); again.Seq == first.Seq || same.Seq != again.Seq {
		t.Errorf("entries %d, %d and %d; want the second to be new and the third that", first.Seq, again.Seq, same.Seq)
	}
	if held, err := l.Holds(t.Context(), gaussian("a", 3)); !held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
	if s := status(t, l); s.Runs != 2 || !slices.Equal(s.Open, []string{"a"}) {
		t.Errorf("%+v; want both paid, and the second open", s)
	}
	fromNow := ten
	fromNow.FromNow = true
	if e := mustCreate(t, l, fromNow); !(*e.Epsilon > 0) {
		t.Error("the run that goes on is not counted")
	}
	if _, err := l.Commit(t.Context(), "rows", "a"); err != nil {
		t.Fatal(err)
	}
	if s := status(t, l); len(s.Open) != 0 || s.Runs != 1 {
		t.Errorf("%+v; want it complete", s)
	}
	sound(t, open(t, l.String()))
}

// A budget under k-end takes what is proved under replace-one too, and composes both.
func TestABudgetUnderKEnd(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	weaker := ten
	weaker.Relation = privacy.KEnd
	mustCreate(t, l, weaker)
	within := gaussian("within", 1)
	within.Relation = privacy.KEnd
	for _, r := range []Reservation{within, gaussian("any", 1)} {
		if _, err := l.Reserve(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	together, err := accountant.Tightest{}.Epsilon(accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 2}, privacy.KEnd, ten.Delta)
	if s := status(t, l); err != nil || s.Runs != 2 || !(math.Abs(float64(s.Spent)-together.Epsilon) <= 1e-6*together.Epsilon) {
		t.Errorf("%+v; want two runs of ε = %v (%v)", s, together.Epsilon, err)
	}
	other := gaussian("other", 100)
	other.Relation = privacy.AddRemove
	_, err = l.Reserve(t.Context(), other)
	wantError(t, err, "the two do not compose, a run that is accounted for under k-end would fit")
}

// Without a budget the runs on a data set are still composed; what does not compose, or is
// not proved, is ∞ and says why.
func TestWithoutABudgetRunsAreComposedToo(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	if s := status(t, l); s.Spent != 0 || s.Remaining != nil || s.LikeLast != nil || s.Fault != "" {
		t.Errorf("before any run: %+v", s)
	}
	mustReserve(t, l, gaussian("one", 1))
	mustReserve(t, l, gaussian("two", 1))
	s := status(t, l)
	together, err := accountant.Tightest{}.Epsilon(accountant.SelfComposed{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 2}, gaussian("", 1).Relation, UnbudgetedDelta)
	if err != nil || !(math.Abs(float64(s.Spent)-together.Epsilon) <= 1e-6*together.Epsilon) || s.Delta != UnbudgetedDelta || s.Relation != privacy.ReplaceOne || s.Fault != "" || s.Remaining != nil {
		t.Errorf("%+v; want two runs of ε = %v (%v)", s, together.Epsilon, err)
	}
	research := gaussian("research", 1)
	research.Research = true
	mustReserve(t, l, research)
	if s := status(t, l); !math.IsInf(float64(s.Spent), 1) || !strings.Contains(s.Fault, "1 research run,") {
		t.Errorf("with a research run: %+v", s)
	}
	other := gaussian("other", 1)
	other.Relation = privacy.AddRemove
	mustReserve(t, l, other)
	if s := status(t, l); !math.IsInf(float64(s.Spent), 1) || !strings.Contains(s.Fault, "accounted for under replace-one and add-remove, which do not compose") {
		t.Errorf("under two relations: %+v", s)
	}
}

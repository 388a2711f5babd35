package ledger

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger/ledgertest"
)

// onBothStores runs a test on a file and on a server, on an empty ledger each.
func onBothStores(t *testing.T, test func(t *testing.T, where string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "new", "ledger.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, newDatabase(t)) })
}

// server is the tests' one server, started when it is first needed.
var (
	server     = sync.OnceValues(ledgertest.Start)
	stopServer = func() error { return nil } // there is nothing to stop
)

func newDatabase(t testing.TB) string {
	t.Helper()
	s, err := server()
	if err == nil {
		stopServer = s.Stop
	}
	ledgertest.Skip(t, err)
	return s.Database(t)
}

func open(t testing.TB, where string) *Ledger {
	t.Helper()
	l, err := Open(where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// gaussian is one Gaussian release on the data set "rows".
func gaussian(id string, multiplier float64) Reservation {
	return Reservation{Dataset: "rows", ID: id, Relation: privacy.ReplaceOne, Event: accountant.Gaussian{NoiseMultiplier: multiplier}}
}

var ten = Budget{Dataset: "rows", Relation: privacy.ReplaceOne, Epsilon: 10, Delta: 1e-5}

func mustCreate(t testing.TB, l *Ledger, b Budget) Entry {
	t.Helper()
	e, err := l.Create(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustReserve(t testing.TB, l *Ledger, r Reservation) Entry {
	t.Helper()
	e, err := l.Reserve(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func status(t testing.TB, l *Ledger) Status {
	t.Helper()
	all, err := l.Status(t.Context(), "rows")
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func wantError(t testing.TB, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant it to say %q", err, want)
		}
	}
}

func sound(t testing.TB, l *Ledger) Report {
	t.Helper()
	report, err := l.Verify(t.Context(), nil)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v, %+v", err, report.Problems)
	}
	return report
}

// k Gaussian releases of multiplier σ are one of σ/√k: what the ledger says of
// four releases of σ = 2 is what is known of one of σ = 1, and the budget is
// spent by exactly as many as fit.
func TestReservationsComposeByTheAccountant(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := open(t, where)
		mustCreate(t, l, ten)
		for _, id := range []string{"a", "b", "c", "d"} {
			mustReserve(t, l, gaussian(id, 2))
		}
		one, err := accountant.AnalyticGaussian{}.Epsilon(accountant.Gaussian{NoiseMultiplier: 1}, privacy.ReplaceOne, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		s := status(t, l)
		if got := float64(s.Spent); math.Abs(got/one.Epsilon-1) > 1e-6 {
			t.Errorf("four releases of σ = 2 come to ε = %v, one of σ = 1 to %v", got, one.Epsilon)
		}
		if s.Runs != 4 || len(s.Open) != 4 || s.LikeLast < 10 {
			t.Errorf("%+v; want 4 runs, none committed, and room for 10 more", s)
		}
		// What is said to fit does, and nothing more.
		for range s.LikeLast {
			mustReserve(t, l, gaussian(s.Open[0]+string(rune('A'+s.Runs)), 2))
			s.Runs++
		}
		_, err = l.Reserve(t.Context(), gaussian("over", 2))
		var exceeded *ExceededError
		if !errors.As(err, &exceeded) {
			t.Fatalf("one run more than fits: %v", err)
		}
		wantError(t, err, "over would exceed the budget of rows, ε = 10", "have spent ε = 9.", "would still fit")
		// So does the release that the error says would fit, and only it.
		fits, err := accountant.CalibrateNoise(float64(exceeded.Fits), 1e-5, func(m float64) accountant.Event {
			return accountant.Gaussian{NoiseMultiplier: m}
		}, privacy.ReplaceOne, accountant.AnalyticGaussian{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Reserve(t.Context(), gaussian("slightly over", 0.99*fits)); !errors.As(err, &exceeded) {
			t.Errorf("more than fits: %v", err)
		}
		mustReserve(t, l, gaussian("just", 1.001*fits))
		if s := status(t, l); float64(s.Spent) > 10 || s.Spent < 9.9 || s.LikeLast != 0 {
			t.Errorf("%+v; want the budget spent", s)
		}
		sound(t, l)
	})
}

// A run that goes on after a crash pays once, another noise key pays again, and
// the same key for another event is refused.
func TestTheSameNoiseIsPaidOnce(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := open(t, where)
		mustCreate(t, l, ten)
		first := mustReserve(t, l, gaussian("run/key", 1))
		// Another process, which knows nothing of the first.
		again := mustReserve(t, open(t, where), gaussian("run/key", 1))
		if first.Seq != again.Seq || first.Hash != again.Hash {
			t.Errorf("the same reservation is entry %d and entry %d", first.Seq, again.Seq)
		}
		spent := status(t, l).Spent
		fresh := mustReserve(t, l, gaussian("run/other key", 1))
		if fresh.Seq == first.Seq || !(status(t, l).Spent > spent) {
			t.Error("fresh noise costs nothing")
		}
		_, err := l.Reserve(t.Context(), gaussian("run/key", 1.1))
		wantError(t, err, "run/key is reserved for", "delete the run")
		research := gaussian("run/key", 1)
		research.Research = true
		_, err = l.Reserve(t.Context(), research)
		wantError(t, err, "research: true")

		if _, err := l.Commit(t.Context(), "rows", "nobody"); err == nil {
			t.Error("what was never reserved was committed")
		}
		done, err := l.Commit(t.Context(), "rows", "run/key")
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := open(t, where).Commit(t.Context(), "rows", "run/key"); err != nil || twice.Seq != done.Seq {
			t.Errorf("committed again as entry %d, then %d, %v", done.Seq, twice.Seq, err)
		}
		if s := status(t, l); len(s.Open) != 1 || s.Open[0] != "run/other key" || s.Runs != 2 {
			t.Errorf("%+v; want one of two runs open", s)
		}
		if report := sound(t, l); report.Entries != 4 {
			t.Errorf("%d entries, want a budget, two reservations and a commit", report.Entries)
		}
	})
}

func TestWhatProtectsNothingFitsNoBudget(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	mustCreate(t, l, ten)
	research := gaussian("research", 100)
	research.Research = true
	none := gaussian("none", 1)
	none.Event = accountant.NonPrivate{}
	other := gaussian("other", 100)
	other.Relation = privacy.AddRemove
	within := gaussian("within", 100)
	within.Relation = privacy.KEnd
	sampled := gaussian("sampled", 100) // samples of samples have no theorem
	sampled.Event = accountant.PoissonSampled{Rate: 0.1, Event: accountant.PoissonSampled{Rate: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 100}}}
	for want, r := range map[string]Reservation{
		"research run's noise can be recomputed":    research,
		"a run without noise protects nothing":      none,
		"under replace-one, the run is accounted":   other,
		"sampled, on top of what is reserved for":   sampled,
		"noise multiplier":                          gaussian("zero", 0),
		"the reservation is called \"\"":            gaussian("", 1),
		"only a budget under k-end takes both":      within,
		"want the relation add-remove, replace-one": {Dataset: "rows", ID: "x", Event: accountant.Gaussian{NoiseMultiplier: 1}},
		"accountant": {Dataset: "rows", ID: "x", Relation: privacy.ReplaceOne},
	} {
		_, err := l.Reserve(t.Context(), r)
		wantError(t, err, want)
	}
	if s := status(t, l); s.Runs != 0 || s.Spent != 0 {
		t.Errorf("refused runs were counted: %+v", s)
	}
	for want, change := range map[string]func(*Budget){
		"ε = 0":                     func(b *Budget) { b.Epsilon = 0 },
		"ε = NaN":                   func(b *Budget) { b.Epsilon = math.NaN() },
		"keeps nothing":             func(b *Budget) { b.Epsilon = math.Inf(1) },
		"δ = 0":                     func(b *Budget) { b.Delta = 0 },
		"δ = NaN":                   func(b *Budget) { b.Delta = math.NaN() },
		"want the relation":         func(b *Budget) { b.Relation = 0 },
		"the data set is called \"": func(b *Budget) { b.Dataset = " rows" },
		"has a budget already":      func(*Budget) {},
	} {
		b := ten
		change(&b)
		_, err := l.Create(t.Context(), b)
		wantError(t, err, want)
	}
}

// What was released before there was a budget counts when there is one.
func TestBudgetsCountWhatWasBefore(t *testing.T) {
	for name, c := range map[string]struct {
		before Reservation
		want   string // of the error; "" for none
	}{
		"little":         {gaussian("a", 5), ""},
		"too much":       {gaussian("a", 0.1), "the 1 earlier reservations of rows come to ε ="},
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
			wantError(t, err, "open reservations", "molehill budget end rows")
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

func TestHistoryIsAStaircase(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	mustReserve(t, l, gaussian("before", 9))
	b := ten
	b.Note = "for the paper"
	mustCreate(t, l, b)
	mustReserve(t, l, gaussian("a", 3))
	other := gaussian("x", 3)
	other.Dataset = "columns"
	mustReserve(t, l, other)
	if _, err := l.Commit(t.Context(), "rows", "a"); err != nil {
		t.Fatal(err)
	}
	mustReserve(t, l, gaussian("b", 3))
	h, err := l.History(t.Context(), "rows")
	if err != nil || len(h.Entries) != 5 || h.Budget.Note != "for the paper" || h.Budget.Dataset != "rows" {
		t.Fatalf("%v, %+v", err, h)
	}
	entries, epsilon := h.Spending()
	if len(entries) != 3 || entries[0].Kind != Declared || !(0 < epsilon[0] && epsilon[0] < epsilon[1] && epsilon[1] < epsilon[2] && epsilon[2] < 10) {
		t.Errorf("spending %v", epsilon)
	}
	if s := status(t, l); float64(s.Spent) != epsilon[2] {
		t.Errorf("the history ends at ε = %v, the status is %v", epsilon[2], s.Spent)
	}
	if all, err := l.Status(t.Context()); err != nil || len(all) != 2 || all[0].Dataset != "columns" {
		t.Errorf("%v, %+v; want both data sets", err, all)
	}
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
	if s := status(t, l); err != nil || s.Runs != 2 || math.Abs(float64(s.Spent)-together.Epsilon) > 1e-6*together.Epsilon {
		t.Errorf("%+v; want two runs of ε = %v (%v)", s, together.Epsilon, err)
	}
	other := gaussian("other", 100)
	other.Relation = privacy.AddRemove
	_, err = l.Reserve(t.Context(), other)
	wantError(t, err, "the two do not compose, a run that is accounted for under k-end would fit")
}

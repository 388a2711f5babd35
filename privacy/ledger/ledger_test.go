package ledger

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger/ledgertest"
	_ "molehill/privacy/ledger/postgres"
	_ "molehill/privacy/ledger/sqlite"
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
		if got := float64(s.Spent); !(math.Abs(got/one.Epsilon-1) <= 1e-6) {
			t.Errorf("four releases of σ = 2 come to ε = %v, one of σ = 1 to %v", got, one.Epsilon)
		}
		if s.Runs != 4 || len(s.Open) != 4 || *s.LikeLast < 10 {
			t.Errorf("%+v; want 4 runs, none committed, and room for 10 more", s)
		}
		// What is said to fit does, and nothing more.
		for range *s.LikeLast {
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
		if s := status(t, l); !(float64(s.Spent) <= 10 && s.Spent >= 9.9) || *s.LikeLast != 0 {
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
		weaker := gaussian("run/key", 1)
		weaker.Relation = privacy.KEnd
		_, err = l.Reserve(t.Context(), weaker)
		wantError(t, err, "run/key is reserved for", "under k-end")

		if complete, err := l.Complete(t.Context(), "rows", "nobody"); err != nil || complete {
			t.Errorf("what nobody has reserved is complete: %v, %v", complete, err)
		}
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
		"accountant":        {Dataset: "rows", ID: "x", Relation: privacy.ReplaceOne},
		`is called "x\xff"`: gaussian("x\xff", 1),
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
		`called "rows\xff"`:         func(b *Budget) { b.Dataset = "rows\xff" }, // JSON would have it another name
		"has a budget already":      func(*Budget) {},
	} {
		b := ten
		change(&b)
		_, err := l.Create(t.Context(), b)
		wantError(t, err, want)
	}
}

// What is written can be read: an event as deep as no reader of JSON goes is refused, not
// written and then taken for damage by everybody.
func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, where)
	r := gaussian("", 100)
	refused := 0
	for depth := range 10_000 {
		if depth > 0 {
			r.Event = accountant.PostProcessed{Event: r.Event, What: "x"}
		}
		if depth < 9_998 {
			continue
		}
		r.ID = fmt.Sprint("depth ", depth)
		if _, err := l.Reserve(t.Context(), r); err != nil {
			refused++
		}
	}
	if refused == 0 || refused == 2 {
		t.Errorf("%d of 2 depths were refused; the test has lost its power", refused)
	}
	if h, err := open(t, where).History(t.Context(), "rows"); err != nil || len(h.Entries) != 2-refused {
		t.Errorf("read back: %d entries, %v; want %d", len(h.Entries), err, 2-refused)
	}
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
	var entries []Entry
	var epsilon []float64
	for _, e := range h.Entries {
		if e.Epsilon != nil {
			entries, epsilon = append(entries, e), append(epsilon, float64(*e.Epsilon))
		}
	}
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

// Whether a ledger can be written is seen without writing anything.
func TestWritableWritesNothing(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := open(t, where)
		if err := l.Writable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Create(t.Context(), ten); err != nil {
			t.Fatal(err)
		}
		head := func() string {
			text, err := open(t, where).Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(text)
		}
		before := head()
		for range 2 {
			if err := l.Writable(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after := head(); after != before {
			t.Errorf("the head was %s and is %s", before, after)
		}
		if _, err := l.Reserve(t.Context(), gaussian("a", 10)); err != nil {
			t.Error(err)
		}
	})
}

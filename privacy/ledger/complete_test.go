package ledger

import (
	"path/filepath"
	"testing"
)

// A run that has committed stays complete, also where it has to pay again under a budget
// that counts from now on. One that a person has ended is not: it may go on, and pays.
func TestCompleteIsForEver(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	complete := func(id string) bool {
		t.Helper()
		is, err := l.Complete(t.Context(), "rows", id)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, id := range []string{"done", "ended"} {
		mustReserve(t, l, gaussian(id, 5))
		if complete(id) {
			t.Errorf("%s is complete when it has reserved", id)
		}
	}
	if _, err := l.Commit(t.Context(), "rows", "done"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.End(t.Context(), "rows", "ended"); err != nil {
		t.Fatal(err)
	}
	fromNow := ten
	fromNow.FromNow = true
	mustCreate(t, l, fromNow)
	for range 2 {
		if !complete("done") || complete("ended") || complete("nobody") {
			t.Errorf("complete: done %v, ended %v, nobody %v; want the first alone", complete("done"), complete("ended"), complete("nobody"))
		}
		mustReserve(t, l, gaussian("done", 5)) // and again
		mustReserve(t, l, gaussian("ended", 5))
	}
	if s := status(t, l); s.Runs != 2 {
		t.Errorf("%+v; want both paid again, once", s)
	}
}

package runs

import (
	"errors"
	"strings"
	"testing"

	"molehill/pkg/run"
)

// A failure of a run that has paid says so.
func TestAFailureTellsWhatItHasPaid(t *testing.T) {
	r, err := run.Store{Dir: t.TempDir()}.Create(run.Spec{Experiment: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the loss is NaN")
	if err := withReceipt(r, broken); err != broken || paid(r) != "" {
		t.Errorf("before it pays: %v%s", err, paid(r))
	}
	if err := r.KeepReceipt("entry 7 of the ledger"); err != nil {
		t.Fatal(err)
	}
	if err := withReceipt(r, broken); !errors.Is(err, broken) || !strings.Contains(err.Error(), "It has paid: entry 7 of the ledger.") {
		t.Errorf("after it has paid: %v", err)
	}
	if text := paid(r); text != "\nIt has paid: entry 7 of the ledger. To continue costs nothing more" {
		t.Errorf("where it is interrupted: %q", text)
	}
	if err := r.Fail(diverged{broken}); err != nil {
		t.Fatal(err)
	}
	if err := withReceipt(r, r.Failure()); !strings.Contains(err.Error(), "The same request would fail again; with other data or settings it is another run") || strings.Contains(err.Error(), "no further cost") {
		t.Errorf("what recurs: %v", err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := r.Fail(broken); err != nil {
		t.Fatal(err)
	}
	if err := withReceipt(r, r.Failure()); !strings.Contains(err.Error(), "The same request on the same data goes on from there at no further cost; with other") {
		t.Errorf("what need not recur: %v", err)
	}
	if err := withReceipt(r, nil); err != nil {
		t.Error(err)
	}
}

// diverged is an error that recurs.
type diverged struct{ error }

func (diverged) Recurs() {}

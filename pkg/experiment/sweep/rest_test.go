package sweep_test

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
)

// The row of a run that was stopped on one backend and went on with another tells of both,
// and of the time that both took.
func TestARowTellsOfEarlierComputations(t *testing.T) {
	r, err := run.Store{Dir: t.TempDir()}.Create(run.Spec{Experiment: "a", Config: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	ok := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const nap = 20 * time.Millisecond
	ok(r.Acquire(), r.ComputedOn("a device", t.TempDir()))
	time.Sleep(nap)
	ok(r.Rest(7, func(io.Writer) error { return nil }), r.Release())
	time.Sleep(5 * nap) // nobody computes
	ok(r.Acquire(), r.Release())
	ok(r.Acquire(), r.ComputedOn("a processor", "rows"))
	if _, _, err := r.Restore(func(int, io.Reader) error { return nil }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(nap)
	ok(r.Finish(run.Result{Metrics: run.Values{"loss": 1}}))
	row, err := sweep.Finished(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(row.Earlier) != 1 || row.Earlier[0].Backend != "a device" || row.Earlier[0].Rested != 7 || row.Computed.Backend != "a processor" {
		t.Errorf("earlier %+v, then %+v", row.Earlier, row.Computed)
	}
	if row.Earlier[0].Host != "" || len(row.Earlier[0].Data) > 3 { // a base name of numbers
		t.Errorf("the row names a machine or a path: %+v", row.Earlier[0])
	}
	if least, all := 2*nap, time.Since(row.Earlier[0].Started); !(row.Seconds >= least.Seconds() && row.Seconds <= (all-5*nap).Seconds()) {
		t.Errorf("%v s; want at least %v, and not the time between", row.Seconds, least)
	}
}

package ledger

import (
	"slices"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// Runs that cost the same are one event and how often it was, so that the accountant's
// work does not grow with them. Those whose noise protects nothing are all the same.
func TestEqualRunsAreOneEvent(t *testing.T) {
	research, none := gaussian("d", 2), gaussian("e", 2)
	research.Research, none.Event = true, accountant.NonPrivate{}
	before, all := newTally(), newTally()
	for _, r := range []Reservation{gaussian("a", 2), gaussian("b", 3), gaussian("c", 2), research, none} {
		before, all = all, all.with(r, 1)
	}
	want := []accountant.SelfComposed{
		{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 2},
		{Event: accountant.Gaussian{NoiseMultiplier: 3}, Count: 1},
		{Event: accountant.NonPrivate{}, Count: 2},
	}
	if !slices.Equal(all.events, want) || all.runs != 5 {
		t.Errorf("%d runs are %v, want %v", all.runs, all.events, want)
	}
	if before.events[2].Count != 1 || before.runs != 4 {
		t.Errorf("the tally without the last run is %v now", before.events)
	}
}

// Advice asks for ε many times over, so what is quick has to do: exact for Gaussians, by
// Rényi divergences for others, and a filter by its own order.
func TestAdviceIsByWhatIsQuick(t *testing.T) {
	filter := ten
	filter.Order = 3.4
	sampled := gaussian("a", 5)
	sampled.Event = accountant.SelfComposed{Count: 100, Event: accountant.FixedSizeSampled{Size: 10, Population: 1000, Event: sampled.Event}}
	for what, c := range map[string]struct {
		run  Reservation
		b    Budget
		want accountant.Accountant
	}{
		"a Gaussian":              {gaussian("a", 5), ten, accountant.AnalyticGaussian{}},
		"a sampled one":           {sampled, ten, accountant.RDP{}},
		"a Gaussian, of a filter": {gaussian("a", 5), filter, accountant.RDP{Orders: []float64{filter.Order}}},
	} {
		got, err := newTally().with(c.run, 1).plain(c.b)
		want, fault := c.want.Epsilon(c.run.Event, privacy.ReplaceOne, ten.Delta)
		if err != nil || fault != nil || got != want.Epsilon {
			t.Errorf("%s: ε = %v (%v), want the %v of %s (%v)", what, got, err, want.Epsilon, c.want.Name(), fault)
		}
	}
}

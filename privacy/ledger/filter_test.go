package ledger

import (
	"math"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// A budget that is a filter takes runs, sampled ones too, until their divergences at its
// order come to its room, and never more, whatever order they come in.
func TestFiltersKeepTheirRoom(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		b := ten
		var err error
		if b.Order, err = accountant.FilterOrder(b.Epsilon, b.Delta); err != nil {
			t.Fatal(err)
		}
		l := open(t, where)
		mustCreate(t, l, b)
		if s := status(t, l); s.Share == nil || *s.Share != 0 || s.Spent != 0 {
			t.Fatalf("%+v; want nothing spent of a filter", s)
		}
		training := Reservation{Dataset: "rows", ID: "training", Relation: privacy.ReplaceOne,
			Event: accountant.SelfComposed{Count: 500, Event: accountant.FixedSizeSampled{Size: 100, Population: 10_000, Event: accountant.Gaussian{NoiseMultiplier: 1.5}}}}
		spent := 0.
		for _, r := range []Reservation{gaussian("a", 2), training, gaussian("b", 1)} {
			mustReserve(t, l, r)
			d, err := accountant.RDP{}.Divergence(r.Event, b.Relation, b.Order)
			if err != nil {
				t.Fatal(err)
			}
			spent += d
		}
		s := status(t, open(t, where)) // as another process reads it
		if want := spent / accountant.FilterRoom(b.Order, b.Epsilon, b.Delta); !(math.Abs(*s.Share-want) <= 1e-9) || s.Budget.Order != b.Order {
			t.Errorf("%+v has spent %v; want %v of the room", s.Budget, *s.Share, want)
		}
		// By order, and as tightly as can be: the latter is no filter's to say.
		at, err := accountant.RDP{Orders: []float64{b.Order}}.Epsilon(accountant.Composed{Events: []accountant.Event{gaussian("a", 2).Event, training.Event, gaussian("b", 1).Event}}, b.Relation, b.Delta)
		if err != nil || !(math.Abs(float64(s.Spent)-at.Epsilon) <= 1e-9) {
			t.Errorf("ε = %v, %v; want %v", s.Spent, err, at.Epsilon)
		}
		more := *s.LikeLast
		for i := range more {
			mustReserve(t, l, gaussian(string(rune('c'+i)), 1))
		}
		if s = status(t, l); more < 1 || !(*s.Share <= 1 && float64(s.Spent) <= b.Epsilon) || *s.LikeLast != 0 {
			t.Errorf("%d more runs: %+v", more, s)
		}
		_, err = l.Reserve(t.Context(), gaussian("too much", 1))
		wantError(t, err, "would exceed the budget of rows", "kept by a Rényi filter of order")
		if !(*s.Remaining <= 0) {
			if multiplier, err := accountant.CalibrateNoise(float64(*s.Remaining), b.Delta, func(m float64) accountant.Event { return accountant.Gaussian{NoiseMultiplier: m} }, b.Relation, accountant.AnalyticGaussian{}); err != nil {
				t.Error(err)
			} else {
				mustReserve(t, l, gaussian("the rest", 1.01*multiplier))
			}
		}
		sound(t, l)
	})
}

// What Rényi divergences have no theorem for does not fit a filter, and an order without
// room is no filter.
func TestFiltersRefuse(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		b := ten
		b.Order = 1.5
		l := open(t, where)
		_, err := l.Create(t.Context(), b)
		wantError(t, err, "order 1.5 has no room")
		b.Order = 3.4
		mustCreate(t, l, b)
		poisson := Reservation{Dataset: "rows", ID: "a", Relation: privacy.ReplaceOne, Event: accountant.PoissonSampled{Rate: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 5}}}
		_, err = l.Reserve(t.Context(), poisson)
		wantError(t, err, "cannot be accounted for")
		if s := status(t, l); s.Runs != 0 {
			t.Errorf("%+v; want nothing reserved", s)
		}
	})
}

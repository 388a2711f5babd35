package accountant

import (
	"encoding"
	"errors"
	"math"
	"strings"
	"testing"
)

var (
	_ encoding.TextMarshaler   = AddRemove
	_ encoding.TextUnmarshaler = new(Relation)
)

func TestCompositionIsSelfComposition(t *testing.T) {
	one := PoissonSampled{0.01, Gaussian{1.1}}
	shapes := []Event{
		SelfComposed{one, 6},
		Composed{[]Event{one, one, one, one, one, one}},
		SelfComposed{SelfComposed{one, 3}, 2},
		Composed{[]Event{SelfComposed{one, 2}, Composed{[]Event{one, SelfComposed{one, 3}}}}},
		SelfComposed{PoissonSampled{0.01, SelfComposed{Gaussian{1.1 * math.Sqrt2}, 2}}, 6},
		Composed{[]Event{SelfComposed{one, 6}, PoissonSampled{0, Gaussian{1e-3}}}}, // nothing sampled, nothing lost
	}
	want := epsilon(t, RDP{}, shapes[0], AddRemove, 1e-5)
	for _, e := range shapes {
		if got := epsilon(t, RDP{}, e, AddRemove, 1e-5); !(math.Abs(got/want-1) <= 1e-12) {
			t.Errorf("%v: ε = %v, want %v", e, got, want)
		}
	}
	two := epsilon(t, AnalyticGaussian{}, Composed{[]Event{Gaussian{3}, Gaussian{4}}}, AddRemove, 1e-5)
	if want := epsilon(t, AnalyticGaussian{}, Gaussian{12. / 5}, AddRemove, 1e-5); !(math.Abs(two/want-1) <= 1e-12) {
		t.Errorf("Gaussians of 3 and 4: ε = %v, want that of 12/5, %v", two, want)
	}
}

func TestZeroOutIsAddRemoveForPoissonSamples(t *testing.T) {
	e := SelfComposed{PoissonSampled{0.01, Gaussian{1}}, 100}
	if a, z := epsilon(t, RDP{}, e, AddRemove, 1e-5), epsilon(t, RDP{}, e, ZeroOut, 1e-5); a != z {
		t.Errorf("add-remove %v, zero-out %v", a, z)
	}
}

// What zero-out costs on Poisson samples is said of queries to which a null record is none.
// One that answers 0 to an empty batch, 100 to a record and 99 to a null one moves by 1
// between neighbours, and by far more when the record is drawn: what is drawn shows, and the
// δ of that is the rate times the whole of a Gaussian's.
func TestZeroOutSaysOfWhichQueriesItIs(t *testing.T) {
	const rate, delta = 0.01, 1e-3
	e := PoissonSampled{rate, Gaussian{1}}
	for _, a := range []Accountant{PLD{}, RDP{}, Tightest{}} {
		for _, event := range []Event{e, Composed{[]Event{Gaussian{3}, SelfComposed{e, 10}}}} {
			zero, err := a.Epsilon(event, ZeroOut, delta)
			if err != nil || !strings.Contains(zero.Note, "a null record in the batch is none") {
				t.Errorf("%s: %v under zero-out is said with %q, %v", a.Name(), event, zero.Note, err)
			}
			if other, err := a.Epsilon(event, AddRemove, delta); err != nil || other.Note != "" {
				t.Errorf("%s: %v under add-remove is said with %q, %v", a.Name(), event, other.Note, err)
			}
		}
	}
	if r, err := (RDP{}).Epsilon(RepeatAndSelect{e, 10, 1}, ZeroOut, delta); err != nil || r.Note == "" {
		t.Errorf("a selection under zero-out is said with %q, %v", r.Note, err)
	}
	if r, err := (RDP{}).Epsilon(Gaussian{1}, ZeroOut, delta); err != nil || r.Note != "" {
		t.Errorf("all records under zero-out are said with %q, %v", r.Note, err)
	}
	whole, err := GaussianDelta(1, epsilon(t, PLD{}, e, ZeroOut, delta))
	if err != nil || !(rate*whole > 3*delta) {
		t.Errorf("such a query has δ = %v, %v; it should be far more than %v, or nothing need be said", rate*whole, err, delta)
	}
}

func TestNonPrivateIsInfinite(t *testing.T) {
	for _, a := range []Accountant{RDP{}, Moments{}, AnalyticGaussian{}, Classic{}} {
		if got := epsilon(t, a, Composed{[]Event{Gaussian{1}, NonPrivate{}}}, AddRemove, 1e-5); !math.IsInf(got, 1) {
			t.Errorf("%s: ε = %v", a.Name(), got)
		}
	}
	if d, err := (RDP{}).Divergence(NonPrivate{}, AddRemove, 2); err != nil || !math.IsInf(d, 1) {
		t.Errorf("divergence %v, %v", d, err)
	}
}

func TestAccountantsRefuseWhatTheyHaveNoTheoremFor(t *testing.T) {
	poisson := PoissonSampled{0.1, Gaussian{1}}
	fixed := FixedSizeSampled{10, 100, Gaussian{1}}
	for _, c := range []struct {
		a   Accountant
		e   Event
		rel Relation
	}{
		{RDP{}, poisson, ReplaceOne},
		{RDP{}, fixed, AddRemove},
		{RDP{}, fixed, ZeroOut},
		{RDP{}, Composed{[]Event{fixed, poisson}}, ReplaceOne},
		{RDP{}, Composed{[]Event{fixed, poisson}}, AddRemove},
		{RDP{}, PoissonSampled{0.1, poisson}, AddRemove},
		{RDP{}, PoissonSampled{0.1, NonPrivate{}}, AddRemove},
		{RDP{}, FixedSizeSampled{10, 100, fixed}, ReplaceOne},
		{Moments{}, Gaussian{1}, ReplaceOne},
		{Moments{}, fixed, ReplaceOne},
		{AnalyticGaussian{}, poisson, AddRemove},
		{Classic{}, fixed, ReplaceOne},
	} {
		_, err := c.a.Epsilon(c.e, c.rel, 1e-5)
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Accountant != c.a.Name() || unsupported.Relation != c.rel || unsupported.Reason == "" {
			t.Errorf("%s of %v under %v: %v, want an UnsupportedError", c.a.Name(), c.e, c.rel, err)
		}
	}
}

func TestBadEventsAreErrors(t *testing.T) {
	nan := math.NaN()
	for _, e := range []Event{
		nil, Gaussian{}, Gaussian{-1}, Gaussian{nan}, Gaussian{math.Inf(1)}, &Gaussian{1}, (*Gaussian)(nil),
		PoissonSampled{1.1, Gaussian{1}}, PoissonSampled{-0.1, Gaussian{1}}, PoissonSampled{nan, Gaussian{1}}, PoissonSampled{0.1, nil},
		FixedSizeSampled{2, 1, Gaussian{1}}, FixedSizeSampled{-1, 1, Gaussian{1}}, FixedSizeSampled{0, 0, Gaussian{1}}, FixedSizeSampled{1, 2, Gaussian{0}},
		SelfComposed{Gaussian{1}, 0}, SelfComposed{Gaussian{1}, -3}, SelfComposed{nil, 1}, Composed{}, Composed{[]Event{Gaussian{1}, nil}},
	} {
		for _, a := range []Accountant{RDP{}, Moments{}, AnalyticGaussian{}, Classic{}} {
			if r, err := a.Epsilon(e, AddRemove, 1e-5); err == nil || !strings.Contains(err.Error(), "want") || r != (Result{}) {
				t.Errorf("%s of %T: %+v, %v", a.Name(), e, r, err)
			}
		}
	}
	for _, delta := range []float64{0, 1, -1, nan, 2} {
		if _, err := (RDP{}).Epsilon(Gaussian{1}, AddRemove, delta); err == nil {
			t.Errorf("δ = %v: no error", delta)
		}
	}
	for _, rel := range []Relation{0, 5, -1} {
		if _, err := (RDP{}).Epsilon(Gaussian{1}, rel, 1e-5); err == nil {
			t.Errorf("relation %v: no error", rel)
		}
	}
}

func TestRelationReadsWhatItWrites(t *testing.T) {
	for _, rel := range []Relation{AddRemove, ReplaceOne, ZeroOut, KEnd} {
		text, err := rel.MarshalText()
		var back Relation
		if err2 := back.UnmarshalText(text); err != nil || err2 != nil || back != rel {
			t.Errorf("%v: %q, %v, %v", rel, text, err, err2)
		}
	}
	var rel Relation
	if err := rel.UnmarshalText([]byte("swap")); err == nil {
		t.Error("swap: no error")
	}
	if _, err := rel.MarshalText(); err == nil {
		t.Error("the zero relation: no error")
	}
}

func TestEventsPrint(t *testing.T) {
	e := Composed{[]Event{SelfComposed{PoissonSampled{0.01, Gaussian{1.1}}, 10}, FixedSizeSampled{5, 50, Gaussian{2}}, NonPrivate{}}}
	const want = "Composed(10 × PoissonSampled(0.01, Gaussian(1.1)) + FixedSizeSampled(5 of 50, Gaussian(2)) + NonPrivate)"
	if e.String() != want {
		t.Errorf("got %s, want %s", e, want)
	}
}

// Neighbours under k-end are neighbours under replace-one, and nothing else is within
// another relation; what is proved is the same number.
func TestKEndIsWithinReplaceOne(t *testing.T) {
	all := []Relation{AddRemove, ReplaceOne, ZeroOut, KEnd}
	for _, r := range all {
		for _, other := range all {
			if got, want := r.Within(other), r == other || r == KEnd && other == ReplaceOne; got != want {
				t.Errorf("%v within %v: %v", r, other, got)
			}
		}
	}
	for _, e := range []Event{Gaussian{1}, FixedSizeSampled{1, 10, Gaussian{1}}, PoissonSampled{0.1, Gaussian{1}}} {
		for _, a := range []Accountant{RDP{}, GDP{}, PLD{}, Tightest{}} {
			one, err := a.Epsilon(e, ReplaceOne, 1e-5)
			same, fault := a.Epsilon(e, KEnd, 1e-5)
			if one != same || (err == nil) != (fault == nil) {
				t.Errorf("%s of %v: %v (%v) under replace-one, %v (%v) under k-end", a.Name(), e, one, err, same, fault)
			}
		}
	}
}

package privacy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

func TestEpsilonSurvivesJSON(t *testing.T) {
	for _, e := range []Epsilon{0, 0.1, 10, Epsilon(math.Inf(1))} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back Epsilon
		if err := json.Unmarshal(text, &back); err != nil || back != e {
			t.Errorf("%v became %s and then %v, %v", e, text, back, err)
		}
	}
	for _, bad := range []string{"-1", `"NaN"`, "null", `"much"`} {
		var e Epsilon
		if err := json.Unmarshal([]byte(bad), &e); err == nil {
			t.Errorf("%s was read as ε = %v", bad, e)
		}
	}
}

// A δ that people read has few digits, and is none that is smaller.
func TestDeltaIsShortAndNotUnderstated(t *testing.T) {
	for delta, want := range map[float64]string{1. / 300_000: "3.334e-06", 1e-6: "1e-06", 0: "0", 2.5e-5: "2.5e-05", 1.0001e-5: "1.001e-05", 0.1 + 0.2: "0.3"} {
		if got := DeltaText(delta); got != want {
			t.Errorf("%v is told as %s, want %s", delta, got, want)
		}
		if s := (Statement{Delta: delta}).String(); !strings.Contains(s, "δ = "+want+")") {
			t.Errorf("%v: %s", delta, s)
		}
	}
}

func TestStatementSaysBothClaims(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Statement(noise.Seeded(rand.New(rand.NewPCG(1, 1)).Uint64()), []Claim{{Label: "as published", Accountant: "theirs", Epsilon: 1}}, "tuning")
	if err != nil {
		t.Fatal(err)
	}
	if published, ok := s.Published(); !ok || published.Epsilon != 1 {
		t.Errorf("published claim %v, %v", published, ok)
	}
	if !(s.Epsilon() >= 1.9) {
		t.Errorf("ε = %v; the published claim must not count as proved", s.Epsilon())
	}
	if s.NoiseMultiplier != p.NoiseMultiplier() || !(s.NoiseMultiplier > 0) || s.NoiseStd != p.NoiseStd || s.Steps != p.Steps || s.Sensitivity != p.Sensitivity {
		t.Errorf("the statement is not that of the plan:\n%v", s)
	}
	for _, want := range []string{"as proved", "as published", "replace", "not covered", "tuning", "research run", "a mean", "the test"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("the statement does not say %q:\n%s", want, s)
		}
	}
	text, err := json.Marshal(s)
	var back Statement
	if err != nil || json.Unmarshal(text, &back) != nil || back.String() != s.String() {
		t.Errorf("the statement does not survive JSON (%v):\n%s", err, back)
	}
}

// A δ of one over the number of records allows a method that publishes one of
// them outright: a statement must say so, and not of a small one.
func TestStatementSaysThatADeltaIsLarge(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	for delta, large := range map[float64]bool{0.1 / float64(p.Records): false, 1 / float64(p.Records): true, 0.5: true} {
		p.Budget.Delta = delta
		notCovered := append(make([]string, 0, 8), "tuning")
		s, err := p.Statement(noise.Seeded(1), nil, notCovered...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(s.String(), "a δ that says little"); got != large {
			t.Errorf("δ = %g of %d records: said to be large: %v, expected %v", delta, p.Records, got, large)
		}
		if notCovered[:2][1] != "" {
			t.Error("the caller's slice was written to")
		}
	}
}

// Being in a Poisson batch may move a coupled query as far as any two answers
// are apart, of which replace-one says nothing.
func TestPoissonSamplesUnderReplaceOneAskForSumsOverRecords(t *testing.T) {
	p := Plan{
		Sensitivity: Sensitivity{Value: 2, Relation: ReplaceOne, Query: "a coupled gradient"},
		Sampler:     sampling.Poisson{Rate: 0.05}, Records: 1000, Steps: 1, Budget: Budget{1, 1e-5},
	}
	if _, err := Calibrate(p); err == nil || !strings.Contains(err.Error(), "one vector a record") {
		t.Errorf("a coupled query on Poisson samples under replace-one: %v, want it refused", err)
	}
	p.Sensitivity.PerRecord = true
	if _, err := Calibrate(p); err != nil {
		t.Errorf("a sum over records: %v", err)
	}
	p.Sensitivity.PerRecord, p.Sensitivity.Relation = false, AddRemove
	if _, err := Calibrate(p); err != nil {
		t.Errorf("under add-remove: %v", err)
	}
	// A null record in the batch is not as if there were none either.
	p.Sensitivity.Relation = ZeroOut
	if _, err := Calibrate(p); err == nil || !strings.Contains(err.Error(), "one vector a record") {
		t.Errorf("a coupled query on Poisson samples under zero-out: %v, want it refused", err)
	}
}

// dressed passes for a sampler of another type.
type dressed struct{ sampling.Sampler }

// What a plan may claim is decided by its sampler's type: a pointer to one, or one inside
// another, does not get around it.
func TestSamplersInDisguiseAreRefused(t *testing.T) {
	poisson := sampling.Poisson{Rate: 0.01}
	for _, sampler := range []sampling.Sampler{&poisson, dressed{poisson}, &sampling.Stratified{}, &sampling.All{}} {
		p := Plan{
			Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne, Query: "coupled"},
			Sampler:     sampler, Records: 1000, Steps: 10, Budget: Budget{1, 1e-5},
		}
		_, err := Calibrate(p)
		p.NoiseStd = 1
		_, stated := p.Statement(noise.Seeded(1), nil)
		released := p.Releaser(noise.Seeded(1)).Release([]float64{1}, p.Sensitivity, 0)
		for _, err := range []error{err, stated, released} {
			if err == nil || !strings.Contains(err.Error(), "by value") {
				t.Errorf("%T: %v, want it refused", sampler, err)
			}
		}
	}
}

// Sensitivities of a plan are those that it was made a releaser of, whatever becomes of
// the slice.
func TestAReleaserKeepsItsSensitivities(t *testing.T) {
	p := example()
	p.Steps, p.Each = 2, []float64{p.Sensitivity.Value, 1e-6}
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releaser(noise.Seeded(1))
	p.Each[1] = p.Sensitivity.Value
	if err := r.Release([]float64{1}, p.Sensitivity, 1); err == nil || !strings.Contains(err.Error(), "in a plan for 1e-06") {
		t.Errorf("a release more sensitive than was planned for: %v", err)
	}
}

// Samples of each category fix which record is of which, so that a plan on them is one
// under k-end, and what is said of it does not tell who is where, while its noise is its
// own.
func TestSamplesOfCategories(t *testing.T) {
	plan := func(relation Relation, categories ...int) (Plan, error) {
		sampler, err := sampling.NewStratified(categories, []int{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		return Calibrate(Plan{Sensitivity: Sensitivity{Value: 2, Relation: relation, Query: "a gradient"}, Sampler: sampler, Records: len(categories), Steps: 1,
			Budget: Budget{1, 1e-5}})
	}
	if _, err := plan(ReplaceOne, 0, 0, 1, 1); err == nil || !strings.Contains(err.Error(), "under k-end") {
		t.Errorf("under replace-one: %v", err)
	}
	var said, noisy [2]string
	for i, categories := range [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}} {
		p, err := plan(KEnd, categories...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Statement(noise.Seeded(1), nil)
		if err != nil || s.Relation != "k-end" {
			t.Fatal(s, err)
		}
		values, err := json.Marshal(s.Sampling)
		if err != nil || string(values) != `{"kind":"stratified","records":4,"strata":[{"taken":1,"of":2},{"taken":1,"of":2}]}` {
			t.Errorf("as values: %s, %v", values, err)
		}
		released := []float64{0}
		if err := p.Releaser(noise.Seeded(1)).Release(released, p.Sensitivity, 0); err != nil {
			t.Fatal(err)
		}
		said[i], noisy[i] = s.String(), fmt.Sprint(released)
	}
	if said[0] != said[1] || noisy[0] == noisy[1] {
		t.Errorf("two divisions of four records:\n%s%s\nnoise %s and %s; want one statement, and two noises", said[0], said[1], noisy[0], noisy[1])
	}
}

// What is printed is never below what was proved.
func TestEpsilonIsRoundedUp(t *testing.T) {
	for e, want := range map[Epsilon]string{
		1: "1", 1.00049: "1.001", 10: "10", 9.99999: "10", 3.18: "3.18", 3.1801: "3.181", 0.0012344: "0.001235", 1.0000000001: "1", 6865.2: "6866", 0: "0", 123456: "1.235e+05",
	} {
		if got := e.String(); got != want {
			t.Errorf("%v is printed as %s, want %s", float64(e), got, want)
		}
		if up := e.Up(); strconv.FormatFloat(up, 'g', 4, 64) != want || !(up >= float64(e)*(1-1e-9)) {
			t.Errorf("%v as a number people get is %v, want %s", float64(e), up, want)
		}
	}
}

// What still fits, or is reached at least, is told in four digits, and never as more than it is.
func TestEpsilonIsRoundedDown(t *testing.T) {
	for v, want := range map[Epsilon]string{1.29999: "1.299", 0.99999: "0.9999", 1: "1", 0.0123456: "0.01234", 123456: "123400", 2.4648: "2.464", 0.3: "0.3", 9.9996: "9.999", 2.4: "2.4", 0: "0", Epsilon(math.Inf(1)): "+Inf"} {
		if got := v.Down(); fmt.Sprint(got) != want || !(got <= float64(v)) {
			t.Errorf("%v is told as %v, want %s", float64(v), got, want)
		}
	}
}

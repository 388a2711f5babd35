package accounting_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"molehill/pkg/accounting"
	"molehill/pkg/plugin"
	"molehill/privacy"
	"molehill/privacy/accountant"
)

// guess is an accountant that answers what a test wants.
type guess struct {
	name string
	f    func(delta float64) (accountant.Result, error)
}

func (g guess) Describe() plugin.Info { return plugin.Info{Name: g.name, Version: "1"} }
func (g guess) Name() string          { return "rdp" } // whose name it would like to have
func (g guess) Epsilon(_ accountant.Event, _ accountant.Relation, delta float64) (accountant.Result, error) {
	return g.f(delta)
}

func TestFaultyAccountantsAreNamedAndProveNothing(t *testing.T) {
	answer := func(epsilon float64) func(float64) (accountant.Result, error) {
		return func(delta float64) (accountant.Result, error) {
			return accountant.Result{Epsilon: epsilon, Delta: delta, Accountant: "rdp", Note: "trust me"}, nil
		}
	}
	event, wants := accountant.Gaussian{NoiseMultiplier: 1}, map[string]string{}
	register := func(name, want string, f func(float64) (accountant.Result, error)) {
		accounting.Registry.Register(guess{name, f})
		wants[name] = want
	}
	register("guess-good", "", answer(0.001))
	register("guess-panics", "panicked in Epsilon: no cheese", func(float64) (accountant.Result, error) { panic("no cheese") })
	register("guess-nan", "answers ε = NaN", answer(math.NaN()))
	register("guess-negative", "answers ε = -1", answer(-1))
	register("guess-delta", "it was asked for δ = 1e-05", func(float64) (accountant.Result, error) { return accountant.Result{Delta: 0.5}, nil })
	for _, a := range accounting.All() {
		want, ours := wants[a.Name()]
		if !ours {
			continue
		}
		delete(wants, a.Name())
		r, err := a.Epsilon(event, accountant.AddRemove, 1e-5)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), a.Name())):
			t.Errorf("%s: %v, want it to say %q", a.Name(), err, want)
		case want == "" && (err != nil || !r.Approximate || r.Accountant != "guess-good" || !strings.Contains(r.Note, "has not checked; trust me")):
			t.Errorf("%+v, %v; want an answer of guess-good's that proves nothing", r, err)
		}
	}
	if len(wants) > 0 {
		t.Errorf("not among all accountants: %v", wants)
	}
	// No statement rests on them.
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne}, Records: 5, Steps: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	if results, err := accountant.Sound(plan.Event(), privacy.ReplaceOne, 1e-5); err != nil || !(results[0].Epsilon >= 0.99) {
		t.Errorf("the plan proves %+v, %v", results, err)
	}
}

func TestOwnAccountantsAreRegistered(t *testing.T) {
	own := accountant.All()
	if all := accounting.All(); len(all) < len(own) {
		t.Fatalf("%d of %d accountants", len(all), len(own))
	}
	for i, a := range own {
		if got := accounting.All()[i].Name(); got != a.Name() {
			t.Errorf("accountant %d is %s, want %s", i, got, a.Name())
		}
		registered, err := accounting.Registry.Lookup(a.Name())
		if err != nil || registered.Describe().Summary == "" || registered.Describe().Source == "" {
			t.Errorf("%s: %v, without a summary or a source", a.Name(), err)
		}
	}
	var unknown *plugin.UnknownError
	if _, err := accounting.Registry.Lookup("rpd"); !errors.As(err, &unknown) {
		t.Errorf("rpd: %v", err)
	}
}

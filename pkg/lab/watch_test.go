package lab

import (
	"encoding/json"
	"testing"

	"molehill/pkg/run"
	"molehill/privacy"
)

// A run is called by what its statement proves, not by a setting that may be for a
// part of what it releases.
func TestTitleIsOfTheStatement(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Config: json.RawMessage(`{"epsilon":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if got := title(r, run.Event{}); got != "made-up, ε = 1" {
		t.Errorf("before it has a statement the run is %q", got)
	}
	statement := privacy.Statement{Sensitivity: privacy.Sensitivity{Relation: privacy.AddRemove}, Claims: []privacy.Claim{{Label: "as proved", Epsilon: 2, Sound: true}}}
	if err := r.WritePrivacy(statement); err != nil {
		t.Fatal(err)
	}
	if got := title(r, run.Event{}); got != "made-up, ε = 2" {
		t.Errorf("with a statement of 2 the run is %q", got)
	}
	if got := title(r, run.Event{Message: "encoding"}); got != "encoding" {
		t.Errorf("an event that has words is %q", got)
	}
}

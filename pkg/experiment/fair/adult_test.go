package fair

import (
	"errors"
	"math"
	"strings"
	"testing"

	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy/ledger"
)

// Adult is private: a training reserves its ε in the ledger, and predicts.
func TestAdultRun(t *testing.T) {
	train, test, err := adultRecords(&Config{Held: 2000, Records: 8000})
	if errors.As(err, new(*dataset.NotFoundError)) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A quarter earn much and two thirds are men.
	for _, r := range []*Records{train, test} {
		rich, men := 0., 0.
		for i := range r.Len() {
			rich, men = rich+float64(r.Label[i])/float64(r.Len()), men+float64(r.Group[i])/float64(r.Len())
		}
		if !(math.Abs(rich-0.24) <= 0.03 && math.Abs(men-0.67) <= 0.03) || r.Check() != nil {
			t.Errorf("%v have Y = 1 and %v have A = 1: %v", rich, men, r.Check())
		}
	}
	t.Setenv(ledger.Variable, t.TempDir()+"/ledger.db")
	t.Setenv("GOMLX_BACKEND", "go")
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "fair-adult", Seed: 1, Settings: map[string]string{
		"records": "8000", "held": "2000", "steps": "60", "share": "0.1", "alpha": "0.3", "delta": "1e-5", "epsilon": "9"}})
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	m := experimenttest.Metrics(t, r)
	// Deciding against everybody is right for 0.76 of them.
	if !(m["accuracy"] >= 0.78 && m["parity gap"] <= 0.25) || m["parity gap"] == 0 {
		t.Errorf("measured %v", m)
	}
	l, err := ledger.Open(ledgerPath(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	status, err := l.Status(t.Context(), "adult")
	if err != nil || len(status) != 1 || status[0].Runs != 1 || len(status[0].Open) != 0 {
		t.Errorf("the ledger has %+v, %v", status, err)
	}
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Step > 0 && len(e.Values) > 0 {
			t.Fatalf("step %d tells %v of private records", e.Step, e.Values)
		}
	}
}

func ledgerPath(t *testing.T) string {
	t.Helper()
	path, err := ledger.Default()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Limits are as far as a record can go, or less: of a record with 7 features of 1 and 5 of
// up to 1, and a bias, the gradients are up to √13 and √13/4, and M is what a centred
// score can be.
func TestAdultLimits(t *testing.T) {
	c := adultSettings(experiment.Quick)
	if norm := math.Sqrt(7 + 5 + 1); !(c.LossLimit <= norm && c.Jacobian <= norm/4) || c.Limit != 0.5 {
		t.Errorf("limits C = %v, M = %v, L = %v", c.LossLimit, c.Limit, c.Jacobian)
	}
	if features := len(dataset.AdultFeatures()); features < 100 {
		t.Errorf("%d features", features)
	}
	if want := 1 / (32561. * 32561); !(math.Abs(c.Delta-want) <= 1e-15) {
		t.Errorf("δ = %v, want 1/n² = %v", c.Delta, want)
	}
	var m matching.Model = centredLogistic(&c, 3)
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if _, _, err := adultRecords(&Config{Held: 20_000, Records: 10}); err == nil || !strings.Contains(err.Error(), "held is 20000") {
		t.Errorf("error %v of too many records for testing", err)
	}
}

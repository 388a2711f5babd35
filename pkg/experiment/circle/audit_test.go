package circle

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Claims survive the audit, which proves much of them where steps look at all points; half
// of the noise is then refuted. Confidence 1 − 1e-6 a bound: a false alarm in 150,000 runs
// of the test.
func TestAuditOfBothWays(t *testing.T) {
	const claimed = 8
	for _, c := range []struct {
		name  string
		both  bool
		least float64 // of what is claimed
	}{{"circle", false, 0.3}, {"circle", true, 0.3}, {"circle-projections", false, 0.5}} {
		s := settings(c.name)
		s.Records, s.Batch, s.Steps, s.Delta, s.Epsilon, s.Both = 30, 30, 2, 1e-4, claimed, c.both
		public := noise.Seeded(3)
		w, claims, err := s.kind.new(s, open(t), normal(30, public, "X"), Points(30, public, "Z"), public)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		statement, err := w.promise().Statement(noise.Seeded(1), claims)
		if err != nil {
			t.Fatal(err)
		}
		lower := func(twin float64) float64 {
			s, statement := s, statement
			statement.NoiseStd /= twin
			game, err := s.kind.game(s, 3, statement)
			if err != nil {
				t.Fatal(err)
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: s.Delta, Confidence: 1 - 1e-6, Executions: 4000, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return report.Best().Epsilon
		}
		honest, twin := lower(1), lower(2)
		t.Logf("%s, both %v: ε ≥ %.3g, with half of the noise %.3g", c.name, c.both, honest, twin)
		if !(honest > c.least*claimed && honest <= claimed) || !(twin > claimed) {
			t.Errorf("%s, both %v: audited ε ≥ %v of %v claimed, with half of the noise ≥ %v", c.name, c.both, honest, claimed, twin)
		}
		experimenttest.ReadsValues(t, statement, func(statement privacy.Statement) (audit.Game, error) { return s.kind.game(s, 3, statement) })
		statement.Sensitivity.Value *= 2
		if _, err := s.kind.game(s, 3, statement); err == nil {
			t.Errorf("%s: another sensitivity was taken", c.name)
		}
		if _, err := s.kind.game(s, 3, privacy.Statement{Sensitivity: w.promise().Sensitivity, Sampling: sampling.Describe(sampling.All{}, 30)}); err == nil {
			t.Errorf("%s: other samples were taken", c.name)
		}
	}
}

// checkAudit audits a finished run: its settings and its statement are enough. Its result
// tells what noise there was.
func checkAudit(t *testing.T, r *run.Run) {
	t.Helper()
	game, statement, err := experiment.Game(r)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 0.999999, Executions: 200, Random: rand.New(rand.NewPCG(1, 2))})
	if err != nil || !(report.Best().Epsilon <= float64(statement.Epsilon())) {
		t.Errorf("%s: %+v, %v", r.ID, report, err)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	std, norm := result.Metrics["noise"], result.Metrics["noise norm"]
	if gradients := r.Spec.Experiment == "circle"; std != statement.NoiseStd || gradients != (norm > std) || gradients != strings.Contains(result.Note, "Corollary 4.2") {
		t.Errorf("%s: %v, %q; the statement has noise %v", r.ID, result.Metrics, result.Note, statement.NoiseStd)
	}
}

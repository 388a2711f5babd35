package training

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// The claim survives the audit, whose bound is not 0; a twin with an eighth of the
// noise that its statement tells of is refuted. Confidence 1 − 1e-6 a bound: a false
// alarm in 500,000 runs of the test.
func TestAuditOfATraining(t *testing.T) {
	for _, classes := range []int{1, 3} {
		m := small(classes, func(m *Method) { m.Budget.Epsilon, m.Batch, m.Generated, m.Steps = 2, 90, 4, 4 })
		plan, err := m.Plan(100)
		if err != nil {
			t.Fatal(err)
		}
		lower := func(twin bool) (found, claimed float64) {
			s, err := plan.Statement(noise.Seeded(1), nil)
			if err != nil {
				t.Fatal(err)
			}
			if twin {
				s.NoiseStd /= 8
			}
			game, err := m.Game(s)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(game.Tested, "another class") != (classes > 1) {
				t.Error(game.Tested)
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: m.Budget.Delta, Confidence: 1 - 1e-6, Executions: 12_000, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return report.Best().Epsilon, float64(s.Epsilon())
		}
		found, claimed := lower(false)
		if !(found > 0 && found <= claimed) {
			t.Errorf("%d classes: audited ε ≥ %v of %v claimed", classes, found, claimed)
		}
		if found, claimed := lower(true); !(found > claimed) {
			t.Errorf("%d classes: an eighth of the noise was not caught: ε ≥ %v of %v claimed", classes, found, claimed)
		}
		for _, s := range []privacy.Statement{{}, {Sampler: "All of 100 records"}, {Sampler: "FixedSize(3) of 100 records"}, {Sampler: "FixedSize(90) of 100 records"}} {
			if _, err := m.Game(s); err == nil {
				t.Errorf("%+v was taken", s)
			}
		}
	}
}

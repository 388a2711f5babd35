package training

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
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
			if !twin {
				experimenttest.ReadsValues(t, s, m.Game)
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
		for _, sampler := range []sampling.Sampler{nil, sampling.All{}, sampling.FixedSize{Size: 3}, sampling.Poisson{Rate: 0.9}} {
			s := privacy.Statement{Sensitivity: plan.Sensitivity, Sampling: sampling.Describe(sampler, 100)}
			if _, err := m.Game(s); err == nil || !strings.Contains(err.Error(), "audit it with the version that made it") {
				t.Errorf("%T: %v", sampler, err)
			}
		}
		other := privacy.Statement{Sampling: sampling.Describe(sampling.FixedSize{Size: 90}, 100)}
		if _, err := m.Game(other); err == nil || !strings.Contains(err.Error(), "has the sensitivity") {
			t.Errorf("another sensitivity: %v", err)
		}
	}
}

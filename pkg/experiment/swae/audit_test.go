package swae

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// The claim survives the audit, which proves much of it where steps look at all images; half of the noise that its statement tells of is then refuted. Confidence
// 1 − 1e-6 a bound: a false alarm in 500,000 runs of the test.
func TestAuditOfATraining(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	for latent, least := range map[int]float64{1: 5, 6: 2.5} {
		c := config(experiment.Quick)
		c.Latent, c.Batch, c.Steps, c.Labels, c.Epsilon = latent, 50, 3, 1, 8
		plan, claims, err := c.plan(50, 100)
		if err != nil {
			t.Fatal(err)
		}
		lower := func(twin float64) float64 {
			s, err := plan.Statement(noise.Seeded(1), claims)
			if err != nil {
				t.Fatal(err)
			}
			s.NoiseStd /= twin
			game, err := Experiment{}.Game(nil, &c, s)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(game.NotTested, "; "), "the first 3 of 4") { // labels
				t.Errorf("not tested: %q", game.NotTested)
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: c.Delta, Confidence: 1 - 1e-6, Executions: 20_000, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return report.Best().Epsilon
		}
		honest, twin := lower(1), lower(2)
		t.Logf("%d numbers a code: ε ≥ %.3g, with half of the noise %.3g", latent, honest, twin)
		if !(honest > least && honest <= 8) || !(twin > 8) {
			t.Errorf("%d numbers a code: audited ε ≥ %v of 8 claimed, with half of the noise ≥ %v", latent, honest, twin)
		}
		for _, s := range []privacy.Statement{{}, {Sensitivity: plan.Sensitivity}, {Sensitivity: plan.Sensitivity, Sampler: "all 50 records"}} {
			if _, err := (Experiment{}).Game(nil, &c, s); err == nil || !strings.Contains(err.Error(), "the version that made it") {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

// checkAudit audits a finished run: its statement and settings are enough. Its result
// tells what noise there was.
func checkAudit(t *testing.T, r *run.Run) {
	t.Helper()
	game, statement, err := experiment.Game(r)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 0.999999, Executions: 100, Random: rand.New(rand.NewPCG(1, 2))})
	if err != nil || report.Best().Epsilon > float64(statement.Epsilon()) {
		t.Errorf("%+v, %v", report, err)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if std, bound := result.Metrics["noise"], result.Metrics["noise norm"]; std != statement.NoiseStd || !(bound > 470*std && bound < 480*std) { // about √226,000 parameters
		t.Errorf("noise %v with norm %v; the statement has %v", std, bound, statement.NoiseStd)
	}
	if !strings.Contains(result.Note, "Corollary 4.2") {
		t.Errorf("the note does not say what the noise norm is: %s", result.Note)
	}
}

package swae

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

// The claim survives the audit, which proves much of it where steps look at all images; half of the noise that its statement tells of is then refuted. Confidence
// 1 − 1e-6 a bound: a false alarm in 500,000 runs of the test.
func TestAuditOfATraining(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	for _, k := range []struct {
		latent, steps, labels, law, executions int
		least                                  float64
		says                                   []string
	}{
		{1, 3, 1, 0, 20_000, 5, []string{"first 3 steps, and of 1 that learn labels, 100 % apart;"}},
		{6, 3, 1, 0, 20_000, 2.5, []string{"first 3 steps, and of 1 that learn labels, 100 % apart;"}},
		{4, 1, 1, 8, 3000, 4, []string{"the first 1 steps, and of 1 that learn labels, 100 % apart, and of 8 that tell where codes lie, 100 % apart;"}},
		{4, 60, 50, 200, 100, -1, []string{"the first 34 steps, and of 33 that learn labels, 100 % apart, and of 33 that tell where codes lie, 100 % apart;", "210 of its 310 steps"}},
	} {
		c := config(experiment.Quick)
		latent, least := k.latent, k.least
		c.Latent, c.Batch, c.Steps, c.Labels, c.Law, c.Epsilon = latent, 50, k.steps, k.labels, k.law, 8
		if c.Law > 0 {
			c.Alpha = 0
		}
		plan, claims, err := c.plan(50, 100)
		if err != nil {
			t.Fatal(err)
		}
		lower := func(twin float64) float64 {
			s, err := plan.Statement(noise.Seeded(1), claims)
			if err != nil {
				t.Fatal(err)
			}
			if twin == 1 {
				experimenttest.ReadsValues(t, s, func(s privacy.Statement) (audit.Game, error) { return Experiment{}.Game(nil, &c, s) })
			}
			s.NoiseStd /= twin
			game, err := Experiment{}.Game(nil, &c, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, says := range k.says {
				if all := game.Tested + strings.Join(game.NotTested, "; "); !strings.Contains(all, says) {
					t.Errorf("it says %q, want %q", all, says)
				}
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: c.Delta, Confidence: 1 - 1e-6, Executions: k.executions, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return report.Best().Epsilon
		}
		honest, twin := lower(1), lower(2)
		t.Logf("%d numbers a code: ε ≥ %.3g, with half of the noise %.3g", latent, honest, twin)
		if !(honest > least && honest <= 8) || !(twin > 8 || least < 0) {
			t.Errorf("%d numbers a code: audited ε ≥ %v of 8 claimed, with half of the noise ≥ %v", latent, honest, twin)
		}
		for _, s := range []privacy.Statement{{}, {Sensitivity: plan.Sensitivity}, {Sensitivity: plan.Sensitivity, Sampling: sampling.Describe(sampling.All{}, 50)}} {
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
	if err != nil || !(report.Best().Epsilon <= float64(statement.Epsilon())) {
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

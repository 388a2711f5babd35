package dpsinkhorn

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// The claim survives the audit, whose bound is not 0; a twin with half the noise that its
// statement tells of is refuted where each step draws everybody, and one with an eighth
// where the attacker does not know who was drawn. Confidence 1 − 1e-6 a bound: a false
// alarm in 250,000 runs of the test.
func TestAuditOfNoisyGradients(t *testing.T) {
	for _, way := range []struct {
		perturbed string
		clipping  semidebiased.Clipping
		batch     int // of 100 records
		twin      float64
	}{{ByImages, semidebiased.Whole, 100, 2}, {ByImages, semidebiased.PerImage, 100, 2}, {ByParameters, semidebiased.Whole, 100, 2}, {ByImages, semidebiased.Whole, 90, 8}} {
		c := config(t, "dp-sinkhorn", experiment.Quick)
		c.Batch, c.Generated, c.Steps, c.Epsilon, c.Perturbed, c.Clipping = way.batch, 4, 4, 2, way.perturbed, way.clipping
		plan, claims, err := c.Plan(100, 4)
		if err != nil {
			t.Fatal(err)
		}
		lower := func(twin bool) (epsilon, claimed float64) {
			s, err := plan.Statement(noise.Seeded(1), claims)
			if err != nil {
				t.Fatal(err)
			}
			claimed = float64(s.Epsilon())
			if twin {
				s.NoiseStd /= way.twin
			}
			if !twin {
				experimenttest.ReadsValues(t, s, func(s privacy.Statement) (audit.Game, error) { return Experiment{}.Game(nil, c, s) })
			}
			game, err := Experiment{}.Game(nil, c, s)
			if err != nil {
				t.Fatal(err)
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: c.Delta, Confidence: 1 - 1e-6, Executions: 10_000, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			best := 0.
			for _, b := range report.Bounds {
				best = max(best, b.Epsilon)
			}
			t.Logf("%v, twin %v: %v", way, twin, best)
			return best, claimed
		}
		if found, claimed := lower(false); !(found > 0 && found <= claimed) {
			t.Errorf("%v: audited ε ≥ %v of %v claimed", way, found, claimed)
		}
		if found, claimed := lower(true); !(found > claimed) {
			t.Errorf("%v: so little noise was not caught: ε ≥ %v of %v claimed", way, found, claimed)
		}
	}
}

// The release of a kind that looks at records once survives its audit, whose bound comes
// near the claim: less than two thirds of the noise would be caught. What its settings do
// not come to is refused. Confidence as above.
func TestAuditOfOneRelease(t *testing.T) {
	dataset.Register("digits-for-audits", "digits that are drawn in no time", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 600
		return dataset.Load(ctx, "glyphs", o)
	})
	for name, settings := range map[string]map[string]string{
		"dp-merf-images":  {"features": "20"},
		"sinkhorn-sketch": {"weights": "ten"},
	} {
		settings["dataset"], settings["steps"], settings["epsilon"] = "digits-for-audits", "2", "3"
		r := compute(t, name, settings, 0)
		game, s, err := experiment.Game(r)
		if err != nil {
			t.Fatal(err)
		}
		report, err := audit.Run(t.Context(), game, audit.Options{Delta: s.Delta, Confidence: 1 - 1e-6, Executions: 20_000, Random: rand.New(rand.NewPCG(1, 2)),
			Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
		if err != nil {
			t.Fatal(err)
		}
		claimed, found := float64(s.Epsilon()), report.Best().Epsilon
		t.Logf("%s: ε ≥ %v of %v", name, found, claimed)
		if !(found > claimed*2/3 && found <= claimed) {
			t.Errorf("%s: audited ε ≥ %v of %v claimed", name, found, claimed)
		}
		k := kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.Name == name })]
		c := config(t, name, experiment.Quick)
		if err := json.Unmarshal(r.Spec.Config, c); err != nil {
			t.Fatal(err)
		}
		experimenttest.ReadsValues(t, s, func(s privacy.Statement) (audit.Game, error) { return Experiment{k}.Game(r, c, s) })
		of := domain{records: 300, dim: 10, classes: 10, public: noise.Seeded(1)}
		if _, err := k.game(config(t, name, experiment.Quick), of, s); err == nil || !strings.Contains(err.Error(), "another plan") {
			t.Errorf("%s: other settings: %v", name, err)
		}
	}
}

// What has no Poisson samples, or other settings than its statement, is refused.
func TestAuditRefusesOtherPlans(t *testing.T) {
	c := config(t, "dp-sinkhorn", experiment.Quick)
	sensitivity, err := c.sensitivity()
	if err != nil {
		t.Fatal(err)
	}
	for want, sampler := range map[string]sampling.Sampler{
		"only trainings on Poisson batches":                  sampling.All{},
		"offer their mechanism to audits":                    sampling.FixedSize{Size: c.Batch},
		"audit it with the version that made it":             &sampling.All{}, // nothing
		fmt.Sprintf("batches of %d; audit it with", c.Batch): sampling.Poisson{Rate: 0.1},
	} {
		s := privacy.Statement{Sensitivity: sensitivity, Sampling: sampling.Describe(sampler, 100)}
		if _, err := (Experiment{}).Game(nil, c, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", sampler, err, want)
		}
		s.Sensitivity.Value++
		if _, err := (Experiment{}).Game(nil, c, s); err == nil {
			t.Errorf("%T: another sensitivity was taken", sampler)
		}
	}
}

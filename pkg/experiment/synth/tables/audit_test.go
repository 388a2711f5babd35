package tables

import (
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// The claim of a run survives its audit, whose bound comes near it where a single
// release is seen; another statement than that of the settings is not audited.
// Confidence 1 − 1e-6 a bound: a false alarm in 100,000 runs of the test.
func TestAuditOfARun(t *testing.T) {
	for method, near := range map[string]float64{Pairs: 0.25, Quantiles: 0.25, Sinkhorn: -1} {
		data, schema := people(t, 200, nil)
		q := request(data, schema, "2", "method", method)
		if method == Sinkhorn {
			q.Settings["steps"], q.Settings["batch"] = "4", "190"
		}
		r := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
		game, statement, err := experiment.Game(r)
		if err != nil {
			t.Fatal(err)
		}
		report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 1 - 1e-6, Random: rand.New(rand.NewPCG(1, 2)),
			Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
		if err != nil {
			t.Fatal(err)
		}
		found, claimed := report.Best().Epsilon, float64(statement.Epsilon())
		t.Logf("%s: %v", method, found)
		if !(found > near*claimed && found <= claimed) {
			t.Errorf("%s: audited ε ≥ %v of %v claimed", method, found, claimed)
		}
		another := statement
		another.NoiseStd /= 2
		another.Sensitivity.Value /= 2
		c := settings()
		if err := experiment.Apply(c, q.Settings); err != nil {
			t.Fatal(err)
		}
		experimenttest.ReadsValues(t, statement, func(s privacy.Statement) (audit.Game, error) { return Experiment{}.Game(r, c, s) })
		for _, s := range []privacy.Statement{{}, another} {
			if _, err := (Experiment{}).Game(r, c, s); err == nil || !strings.Contains(err.Error(), "audit it with the version that made it") {
				t.Errorf("%s: %+v was taken: %v", method, s, err)
			}
		}
	}
}

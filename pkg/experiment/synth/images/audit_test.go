package images

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// The claim of a run survives its audit, by each method, with classes and without;
// neighbours that differ in a label come near what is claimed. Another statement than
// that of the settings is not audited. Confidence 1 − 1e-6 a bound: a false alarm in
// 100,000 runs of the test.
func TestAuditOfARun(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	for _, method := range Methods {
		for _, classes := range []bool{true, false} {
			data, schema := spots(t, 60, nil)
			if !classes {
				data = filepath.Join(data, "left")
				if err := os.WriteFile(schema, []byte(withoutClasses), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			q := request(data, schema, "2", "method", method)
			least := 0.2
			if method == Sinkhorn {
				q.Settings["batch"], q.Settings["steps"], least = "28", "3", -1
			}
			r := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
			game, statement, err := experiment.Game(r)
			if err != nil {
				t.Fatal(err)
			}
			if game.Relation != privacy.ReplaceOne || strings.Contains(game.Tested, "class") != classes {
				t.Errorf("%s: %+v", method, game)
			}
			report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 1 - 1e-6, Random: rand.New(rand.NewPCG(1, 2)),
				Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
			if err != nil {
				t.Fatal(err)
			}
			found, claimed := report.Best().Epsilon, float64(statement.Epsilon())
			t.Logf("%s, classes %v: %v", method, classes, found)
			if !(found > least*claimed && found <= claimed) {
				t.Errorf("%s, classes %v: audited ε ≥ %v of %v claimed", method, classes, found, claimed)
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
}

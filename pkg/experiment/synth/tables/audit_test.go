package tables

import (
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// The claim of a run survives its audit, whose bound comes near it where a single
// release is seen; another statement than that of the settings is not audited.
func TestAuditOfARun(t *testing.T) {
	for method, near := range map[string]float64{Pairs: 0.25, Quantiles: 0.25, Sinkhorn: -1} {
		data, schema := people(t, 200, nil)
		q := request(data, schema, "2", "method", method)
		if method == Sinkhorn {
			q.Settings["steps"], q.Settings["batch"] = "4", "190"
		}
		r := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
		c := settings()
		if err := experiment.Apply(c, q.Settings); err != nil {
			t.Fatal(err)
		}
		experimenttest.Audited(t, r, near, func(s privacy.Statement) (audit.Game, error) { return Experiment{}.Game(r, c, s) })
	}
}

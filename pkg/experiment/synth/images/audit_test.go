package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
)

// The claim of a run survives its audit, by each method, with classes and without;
// neighbours that differ in a label come near what is claimed. Another statement than
// that of the settings is not audited.
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
			c := settings()
			if err := experiment.Apply(c, q.Settings); err != nil {
				t.Fatal(err)
			}
			game := experimenttest.Audited(t, r, least, func(s privacy.Statement) (audit.Game, error) { return Experiment{}.Game(r, c, s) })
			if game.Relation != privacy.ReplaceOne || strings.Contains(game.Tested, "class") != classes {
				t.Errorf("%s: %+v", method, game)
			}
		}
	}
}

package runs

import (
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/audit"
)

// An audit tells of no ε that it has not reached, in any of its digits.
func TestWhatAnAuditReachesIsRoundedDown(t *testing.T) {
	bound := audit.Bound{Method: "guesses", Epsilon: 1.23456, Reach: 5}
	a := Audited{Run: "a", Audit: audit.Report{Bounds: []audit.Bound{bound}, Confidence: 0.95, Delta: 1e-5},
		Claims: []Verdict{{Claim: privacy.Claim{Label: "replace-one", Epsilon: 1}, Refuted: true}}}
	var out strings.Builder
	if err := a.print(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "1.234") != 3 || strings.Contains(text, "1.235") {
		t.Errorf("ε ≥ 1.23456 is told as\n%s", text)
	}
}

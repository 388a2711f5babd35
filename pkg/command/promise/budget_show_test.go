package promise

import (
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/ledger"
)

// Who asks for what is said to remain is not refused for the last digit.
func TestWhatRemainsIsRoundedDown(t *testing.T) {
	remaining, more := privacy.Epsilon(1.23456), 0
	s := ledger.Status{Dataset: "rows", Budget: &ledger.Budget{Dataset: "rows"}, Spent: 1.23456, Remaining: &remaining, LikeLast: &more}
	var out strings.Builder
	if err := printStatus(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ε = 1.235\n", "ε = 1.234 for one more release"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

package ledger

import (
	"fmt"
	"testing"
)

// What would still fit is told in three digits, and never as more than it is.
func TestWhatFitsIsRoundedDown(t *testing.T) {
	for v, want := range map[float64]string{1.2999: "1.29", 0.99999: "0.999", 1: "1", 0.0123456: "0.0123", 12345: "12300", 2.464: "2.46", 0.3: "0.3", 9.996: "9.99"} {
		if got := below(v); fmt.Sprint(got) != want || !(got <= v) {
			t.Errorf("%v is told as %v, want %s", v, got, want)
		}
	}
}

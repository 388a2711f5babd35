package run

import (
	"testing"
	"time"
)

func TestInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Minute, "often": time.Minute, "-1s": time.Minute, "0s": 0, "90ms": 90 * time.Millisecond} {
		t.Setenv(IntervalVariable, text)
		if got := Interval(time.Minute); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

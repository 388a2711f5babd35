package circle

import (
	"math"
	"testing"

	"molehill/privacy"
)

// What pictures say that is proved is never less than what is.
func TestProvedIsRoundedUpInPictures(t *testing.T) {
	for epsilon, want := range map[float64]string{0: "0", 0.0311: "0.032", 0.99: "0.99", 1: "1", 1 - 1e-12: "1", 1.0001: "1.1", 3.72: "3.8", 9.91: "10", 12.4: "13", 3214.2: "3215", math.Inf(1): "∞"} {
		if got := short(privacy.Epsilon(epsilon)); got != want {
			t.Errorf("%v is written %s, want %s", epsilon, got, want)
		}
	}
}

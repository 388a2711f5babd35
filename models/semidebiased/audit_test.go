package semidebiased

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The two gradients point opposite ways and are long enough to be clipped, however many
// numbers they have.
func TestTheWorstGradientIsTurnedRound(t *testing.T) {
	for _, size := range []int{1, 4, 784} {
		straight, round := Turned(size, false), Turned(size, true)
		var norm float64
		for i, v := range straight {
			if v >= 0 || round[i] != -v {
				t.Fatalf("%d numbers: %v, turned round %v", size, straight, round)
			}
			norm = math.Hypot(norm, float64(v))
		}
		if len(straight) != size || !(math.Abs(norm-1e3) < 1e-3) {
			t.Errorf("%d numbers of norm %v, want %d of 1000", len(straight), norm, size)
		}
	}
	if not := NotAudited(500, 20_000); !strings.Contains(not[0], "the Sinkhorn loss itself") || !slices.Contains(not, "19500 of its 20000 steps") {
		t.Errorf("not tested: %q", not)
	}
}

package train

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// What diverges says what did, what helps, and that it would diverge again.
func TestFinite(t *testing.T) {
	if err := errors.Join(Finite("the loss", 1.), Finite[float32]("the loss"), Finite("the loss", -math.MaxFloat64, math.MaxFloat64)); err != nil {
		t.Errorf("finite values: %v", err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, err := range []error{Finite("the loss", 0, v), Finite("the loss", 0, float32(v))} {
			if !errors.Is(err, ErrDiverged) || !strings.HasPrefix(err.Error(), "the loss is no longer finite; train with a smaller") {
				t.Errorf("%v: %v", v, err)
			}
		}
	}
}

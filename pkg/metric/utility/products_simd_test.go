//go:build goexperiment.simd && amd64

package utility

import (
	"testing"

	"molehill/transport/vectorstest"
)

func TestNoScalarsAmongVectors(t *testing.T) {
	vectorstest.NoScalarsAmongVectors(t, multiply256, accumulate256)
}

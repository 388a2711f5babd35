package sliced

import (
	"math"
	"math/big"
	"testing"

	"molehill/transport"
)

// Bin means of a million records are those of exact arithmetic, but for the rounding
// of a few operations: plain sums are a hundred times further off, and their error
// grows with n while the sensitivity falls.
func TestBinMeansDoNotDependOnHowManyRecordsThereAre(t *testing.T) {
	const n, bins = 1_000_000, 3 // no mass is a sum of few powers of 2, and borders of bins cut records
	sorted := make([]float32, n)
	for i := range sorted {
		sorted[i] = float32(math.Sqrt(float64(i) / n))
	}
	content := transport.Couple(nil, transport.Levels(nil, n), transport.Levels(nil, bins))
	exact := make([]*big.Float, bins)
	for b := range exact {
		exact[b] = new(big.Float).SetPrec(300)
	}
	term := new(big.Float).SetPrec(300)
	value := new(big.Float).SetPrec(300)
	for _, pair := range content {
		term.SetFloat64(pair.Mass * bins)
		exact[pair.J].Add(exact[pair.J], term.Mul(term, value.SetFloat64(float64(sorted[pair.I]))))
	}
	for b, mean := range binMeans(sorted, content, bins) {
		want, _ := exact[b].Float64()
		if off := math.Abs(mean - want); !(off <= 0x1p-51*want) {
			t.Errorf("bin %d is %v off of %v", b, off, want)
		}
	}
}

package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

func TestSlicedW2OfATranslation(t *testing.T) {
	// Over orthonormal bases the squared distance of a translate by v is ‖v‖²/d.
	rng := rand.New(rand.NewPCG(1, 1))
	x := transport.NewPoints(200, 3)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	y := x.Clone()
	for i := range y.Data {
		y.Data[i] += 2
	}
	m, err := Registry.Lookup("sliced-w2")
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Measure(x, y, rng)
	if err != nil || !(math.Abs(v.Value-2) <= 1e-4) {
		t.Errorf("%+v, %v; want 2", v, err)
	}
	if _, err := m.Measure(transport.Points{Dim: 3}, y, rng); err == nil {
		t.Error("no points were measured")
	}
	if _, err := m.Measure(x, transport.Points{}, rng); err == nil {
		t.Error("no real points were measured against")
	}
}

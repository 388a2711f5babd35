package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/transport"
)

func normals(rng *rand.Rand, n, dim int) transport.Points {
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = float32(rng.NormFloat64())
	}
	return p
}

func TestW2OfATranslation(t *testing.T) {
	// The distance of a translate by v is ‖v‖, whatever the order of the points.
	rng := rand.New(rand.NewPCG(1, 2))
	x := normals(rng, 150, 3)
	y := x.Subset(rng.Perm(x.Len()))
	for i := range y.Data {
		y.Data[i] += 2
	}
	m, err := Registry.Lookup("w2")
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Measure(x, y, rng)
	if want := math.Sqrt(12); err != nil || !(math.Abs(v.Value-want) <= 1e-6) {
		t.Errorf("%+v, %v; want %v", v, err, want)
	}
}

func TestW2DrawsSubsamplesOfEqualSize(t *testing.T) {
	// All points but one lie at 0 on both sides and that one at 1 on the
	// generated side alone: W₂² is 1/Sample where it is drawn and 0 elsewhere,
	// which happens with probability Sample/n = ½.
	x, y := transport.NewPoints(20, 1), transport.NewPoints(35, 1)
	x.Data[7] = 1
	const trials = 400
	drawn := 0
	for seed := range uint64(trials) {
		v, err := W2{Sample: 10}.Measure(x, y, rand.New(rand.NewPCG(seed, 3)))
		switch {
		case err != nil:
			t.Fatal(err)
		case math.Abs(v.Value-math.Sqrt(0.1)) < 1e-12:
			drawn++
		case v.Value != 0:
			t.Fatalf("%v; want 0 or the root of 1/10", v.Value)
		}
		again, err := W2{Sample: 10}.Measure(x, y, rand.New(rand.NewPCG(seed, 3)))
		if err != nil || again != v {
			t.Fatalf("%v, then %v with the same seed, %v", v, again, err)
		}
	}
	// Five standard deviations of the binomial: false alarms once in a million.
	if drawn < 150 || drawn > 250 {
		t.Errorf("the point was drawn %d times of %d; want about half", drawn, trials)
	}
	// The smaller side sets the size: 3 points of each.
	if v, err := (W2{Sample: 10}).Measure(transport.Points{Dim: 1, Data: []float32{1, 1, 1}}, y, rand.New(rand.NewPCG(1, 3))); err != nil || v.Value != 1 {
		t.Errorf("%v, %v; want 1", v, err)
	}
}

func TestW2Refuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	x := normals(rng, 5, 2)
	nan := x.Clone()
	nan.Data[3] = float32(math.NaN())
	for name, try := range map[string]func() (Value, error){
		"no generated points": func() (Value, error) { return W2{Sample: 5}.Measure(transport.Points{Dim: 2}, x, rng) },
		"no real points":      func() (Value, error) { return W2{Sample: 5}.Measure(x, transport.Points{}, rng) },
		"two dimensions":      func() (Value, error) { return W2{Sample: 5}.Measure(x, normals(rng, 5, 3), rng) },
		"NaN":                 func() (Value, error) { return W2{Sample: 1}.Measure(nan, x, rng) },
		"no sample":           func() (Value, error) { return W2{}.Measure(x, x, rng) },
		"too large a sample":  func() (Value, error) { return W2{Sample: 1 << 20}.Measure(x, x, rng) },
	} {
		if v, err := try(); err == nil {
			t.Errorf("%s: measured %v", name, v)
		}
	}
}

package accountant

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// randomEvent is a valid event of some depth.
func randomEvent(rng *rand.Rand, depth int) Event {
	if depth == 0 {
		return []Event{Gaussian{rng.ExpFloat64() + 1e-3}, Laplace{rng.ExpFloat64() + 1e-3}, Pure{rng.ExpFloat64() + 1e-3}, NonPrivate{}}[rng.IntN(4)]
	}
	inner := randomEvent(rng, depth-1)
	switch rng.IntN(6) {
	case 0:
		return PoissonSampled{rng.Float64(), inner}
	case 1:
		n := 1 + rng.IntN(1000)
		return FixedSizeSampled{rng.IntN(n + 1), n, inner}
	case 2:
		return Composed{[]Event{inner, randomEvent(rng, rng.IntN(depth))}}
	case 3:
		return SelfComposed{inner, 1 + rng.IntN(1e6)}
	case 4:
		return PostProcessed{inner, `what "people" say`}
	}
	return RepeatAndSelect{inner, 1 + rng.ExpFloat64(), []float64{1, 0, -0.5, math.Inf(1)}[rng.IntN(4)]}
}

func TestEventsSurviveJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 0))
	for range 500 {
		e := randomEvent(rng, rng.IntN(5))
		text, err := Encode(e)
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		back, err := Decode(text)
		if err != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%v became %v, %v, by way of %s", e, back, err, text)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `{"kind":"gaussian"}`, `{"kind":"gaussian","noise_multiplier":0}`, `{"kind":"gaussian","noise_multiplier":-1}`,
		`{"kind":"gaussian","noise_multiplier":1,"rate":0.5}`, `{"kind":"gaussian","noise_multiplier":1,"more":2}`,
		`{"kind":"gaussian","noise_multiplier":1} {"kind":"non_private"}`, `{"kind":"exponential","noise_multiplier":1}`,
		`{"kind":"poisson_sampled","event":{"kind":"gaussian","noise_multiplier":1}}`, // without a rate, which is not 0
		`{"kind":"poisson_sampled","rate":0.5}`, `{"kind":"composed"}`, `{"kind":"composed","events":[null]}`,
		`{"kind":"self_composed","count":0,"event":{"kind":"non_private"}}`, `{"kind":"fixed_size_sampled","size":3,"population":2,"event":{"kind":"non_private"}}`,
	} {
		if e, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s was read as %v", text, e)
		}
	}
	if _, err := Encode(Gaussian{math.NaN()}); err == nil {
		t.Error("noise of NaN was written")
	}
}

func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(10, 0))
	for range 20 {
		text, _ := Encode(randomEvent(rng, 3))
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(e)
		if err != nil {
			t.Fatalf("%s was read as %v, which cannot be written: %v", text, e, err)
		}
		if back, err := Decode(again); err != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%s was read as %v and then as %v, %v", text, e, back, err)
		}
	})
}

package audit

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

type golden struct {
	PValues [][6]float64 `json:"p_values"` // m, r, v, ε, δ, p
	Bounds  [][6]float64 `json:"bounds"`   // m, r, v, δ, β, ε
	Limits  [][4]float64 `json:"limits"`   // hits, n, β, limit
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.PValues) < 100 || len(g.Bounds) < 30 || len(g.Limits) < 10 {
		t.Fatalf("%d p-values, %d bounds and %d limits in golden.json", len(g.PValues), len(g.Bounds), len(g.Limits))
	}
	return g
}

// near compares with a relative error, and with an absolute one where a
// probability is too small to refute anything with.
func near(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*math.Abs(want)+1e-250
}

// The bounds are held against the theorem's formula in 40 digits, with every
// window tried (testdata/golden.py).
func TestBoundsAreTheTheorems(t *testing.T) {
	g := readGolden(t)
	for _, v := range g.PValues {
		guesses := Guesses{int(v[0]), int(v[1]), int(v[2])}
		want := v[5]
		if got := guesses.PValue(v[3], v[4]); !near(got, want, 1e-9) {
			t.Errorf("%+v at ε = %v, δ = %v: p = %v, want %v", guesses, v[3], v[4], got, want)
		}
	}
	for _, v := range g.Bounds {
		guesses := Guesses{int(v[0]), int(v[1]), int(v[2])}
		if got, err := guesses.Epsilon(v[3], 1-v[4]); err != nil || !(math.Abs(got-v[5]) <= 1e-7) {
			t.Errorf("%+v at δ = %v, β = %v: ε ≥ %v, %v; want %v", guesses, v[3], v[4], got, err, v[5])
		}
	}
	for _, v := range g.Limits {
		if got := UpperLimit(int(v[0]), int(v[1]), v[2]); !near(got, v[3], 1e-9) {
			t.Errorf("%v hits of %v at β = %v: limit %v, want %v", v[0], v[1], v[2], got, v[3])
		}
	}
}

// More right guesses and less confidence give a larger bound, more δ and more
// canaries a smaller one; half right gives 0; and p grows with ε.
func TestGuessesAreMonotone(t *testing.T) {
	bound := func(g Guesses, delta, confidence float64) float64 {
		e, err := g.Epsilon(delta, confidence)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		made := 1 + rng.IntN(2000)
		g := Guesses{Canaries: made + rng.IntN(2000), Made: made, Right: rng.IntN(made)}
		delta := math.Pow(10, -2-8*rng.Float64())
		e := bound(g, delta, 0.95)
		better, crowd := g, g
		better.Right++
		crowd.Canaries += 100
		if b := bound(better, delta, 0.95); !(b >= e) {
			t.Errorf("%+v gives %v, one more right guess %v", g, e, b)
		}
		for name, less := range map[string]float64{"more confidence": bound(g, delta, 0.99), "more δ": bound(g, 2*delta, 0.95), "more canaries": bound(crowd, delta, 0.95)} {
			if !(less <= e) {
				t.Errorf("%+v at δ = %v gives %v, %s %v", g, delta, e, name, less)
			}
		}
		if half := (Guesses{g.Canaries, made, made / 2}); bound(half, delta, 0.95) != 0 {
			t.Errorf("%+v gives a bound", half)
		}
		p := 0.
		for epsilon := 0.; epsilon < 8; epsilon += 0.25 {
			next := g.PValue(epsilon, delta)
			if !(next >= p*(1-1e-9)) {
				t.Errorf("%+v at δ = %v: p falls from %v to %v at ε = %v", g, delta, p, next, epsilon)
			}
			p = next
		}
	}
}

func TestWithoutDeltaItIsTheBinomialTail(t *testing.T) {
	for _, g := range []Guesses{{10, 10, 7}, {500, 100, 80}, {2000, 1000, 900}} {
		for _, epsilon := range []float64{0, 0.5, 2} {
			w := distuv.Binomial{N: float64(g.Made), P: 1 / (1 + math.Exp(-epsilon))}
			var tail float64
			for k := g.Right; k <= g.Made; k++ {
				tail += w.Prob(float64(k))
			}
			if p := g.PValue(epsilon, 0); !near(p, tail, 1e-9) {
				t.Errorf("%+v at ε = %v: p = %v, the tail is %v", g, epsilon, p, tail)
			}
		}
	}
}

// Mechanisms whose guesses have a known distribution, enumerated: randomised
// response attains the bound at δ = 0; one that tells each bit with probability
// δ, and one that tells all of them at once with probability δ, are
// (ε, δ)-private and must stay below it.
func TestNoPrivateMechanismPassesThePValue(t *testing.T) {
	for _, m := range []int{1, 3, 20, 200} {
		for _, epsilon := range []float64{0, 0.3, 2} {
			q := 1 / (1 + math.Exp(-epsilon))
			response := distuv.Binomial{N: float64(m), P: q}
			for _, delta := range []float64{0, 1e-6, 1e-3} {
				each := distuv.Binomial{N: float64(m), P: q + delta*(1-q)}
				var plain, single float64
				for v := m; v >= 1; v-- {
					plain += response.Prob(float64(v))
					single += each.Prob(float64(v))
					p := Guesses{m, m, v}.PValue(epsilon, delta)
					if delta == 0 && !near(p, min(1, plain), 1e-8) {
						t.Errorf("m = %d, v = %d, ε = %v: p = %v, randomised response has %v", m, v, epsilon, p, plain)
					}
					if together := plain*(1-delta) + delta; !(p >= min(1, together)*(1-1e-9) && p >= min(1, single)*(1-1e-9)) {
						t.Errorf("m = %d, v = %d, ε = %v, δ = %v: p = %v is below what a private mechanism does, %v and %v", m, v, epsilon, delta, p, together, single)
					}
				}
			}
		}
	}
}

func TestLargeCountsStayFinite(t *testing.T) {
	for _, g := range []Guesses{{1e6, 1e6, 1e6}, {1e6, 1e6, 999_000}, {1e6, 1e6, 600_000}, {1e6, 1e6, 500_000}, {1e6, 1e5, 0}} {
		e, err := g.Epsilon(1e-9, 0.95)
		if err != nil || math.IsNaN(e) || !(e >= 0 && e <= 15) {
			t.Errorf("%+v gives %v, %v", g, e, err)
		}
		// ln(v/(r−v)) is what the guesses look like, the bound a little less.
		if wrong := g.Made - g.Right; g.Right > wrong && wrong > 0 {
			if looks := math.Log(float64(g.Right) / float64(wrong)); !(e <= looks && e >= 0.97*looks) {
				t.Errorf("%+v looks like ε = %v, the bound is %v", g, looks, e)
			}
		}
	}
}

// The chance that the bounds of a Gaussian mechanism pass its true ε is at most
// what is promised: 300 audits at confidence 0.9 fail 30 times at most, up to
// chance (a count above 55 has probability 10⁻⁵). And they are of use: the
// Gaussian one comes within a fifth of the truth.
func TestBoundsHoldWithTheirConfidence(t *testing.T) {
	const audits, size, mu, delta = 300, 2000, 1.5, 1e-5
	rng := rand.New(rand.NewPCG(3, 3))
	truth := gaussianEpsilon(t, mu, delta)
	var failed [2]int
	var sum float64
	for range audits {
		trials := make([]trial, size)
		for i := range trials {
			trials[i].one = rng.Uint64()&1 == 1
			trials[i].score = rng.NormFloat64() - mu/2
			if trials[i].one {
				trials[i].score += mu
			}
		}
		byMu, err := test(trials, 0).GaussianEpsilon(delta, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		sum += byMu
		if byMu > truth {
			failed[0]++
		}
		if e := split(trials, func(e Errors) float64 { return e.Epsilon(delta, 0.9) }); e.Epsilon(delta, 0.9) > truth {
			failed[1]++
		}
	}
	if failed[0] > 55 || failed[1] > 55 {
		t.Errorf("of %d bounds at confidence 0.9, %v passed the true ε", audits, failed)
	}
	if mean := sum / audits; !(mean >= 0.8*truth) {
		t.Errorf("the mean bound is %v, the truth %v", mean, truth)
	}
}

func TestBadCountsAreErrors(t *testing.T) {
	for _, c := range []struct {
		g                 Guesses
		delta, confidence float64
	}{
		{Guesses{10, 11, 3}, 0, 0.9}, {Guesses{10, 5, 6}, 0, 0.9}, {Guesses{10, 5, -1}, 0, 0.9},
		{Guesses{10, 5, 3}, -1, 0.9}, {Guesses{10, 5, 3}, math.NaN(), 0.9}, {Guesses{10, 5, 3}, 1, 0.9},
		{Guesses{10, 5, 3}, 0, 1}, {Guesses{10, 5, 3}, 0, 0}, {Guesses{10, 5, 3}, 0, math.NaN()},
	} {
		if e, err := c.g.Epsilon(c.delta, c.confidence); err == nil {
			t.Errorf("%+v gives %v", c, e)
		}
	}
}

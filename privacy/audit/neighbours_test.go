package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Against a mechanism that does what its plan says an attack on two worlds that are as
// far apart as any never proves more than is claimed, and of a single release it
// proves much of it; too little noise is caught. Steps that a secret sample decides
// leave less to prove. Confidence 1 − 1e-6: a false alarm in 100,000 runs of the test.
func TestNeighboursAreToldApartAsTheirPlanSays(t *testing.T) {
	const delta = 1e-5
	far := privacy.Sensitivity{Value: 2, Relation: privacy.ReplaceOne, Query: "two numbers"}
	once, err := privacy.Calibrate(privacy.Plan{Sensitivity: far, Records: 10, Steps: 1, Coordinates: 2, Budget: privacy.Budget{Epsilon: 2, Delta: delta}})
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := privacy.Calibrate(privacy.Plan{Sensitivity: far, Records: 10, Steps: 3, Coordinates: 2, Sampler: sampling.FixedSize{Size: 8}, Budget: privacy.Budget{Epsilon: 2, Delta: delta}})
	if err != nil {
		t.Fatal(err)
	}
	worlds := Worlds{{1, 5}, {1 + math.Sqrt2, 5 - math.Sqrt2}}
	for name, c := range map[string]struct {
		plan        privacy.Plan
		rate, noise float64
		least, most float64 // of the bound, in units of ε
	}{
		"once": {once, 1, 1, 0.35, 1}, "sampled": {sampled, 0.8, 1, 0, 1},
		"once, half the noise": {once, 1, 0.5, 1.001, 9}, "sampled, an eighth of it": {sampled, 0.8, 0.125, 1.001, 9},
	} {
		n := Neighbours{Plan: c.plan, Rate: c.rate, Worlds: []Worlds{worlds}, Release: func(world int, release *privacy.Releaser, step int) ([]float64, error) {
			rows, err := release.Draw(step)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(rows, 0) {
				world = 0
			}
			values := slices.Clone(worlds[world])
			err = release.Release(values, far, step)
			for i, v := range values { // the noise, made smaller
				values[i] = worlds[world][i] + c.noise*(v-worlds[world][i])
			}
			return values, err
		}}
		game := n.Game(8000, "two worlds", "nothing else")
		if game.Gaussian != (c.rate == 1) || game.Relation != privacy.ReplaceOne {
			t.Errorf("%s: %+v", name, game)
		}
		report, err := Run(t.Context(), game, Options{Delta: delta, Confidence: 1 - 1e-6, Random: rand.New(rand.NewPCG(1, 3)),
			Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
		if err != nil {
			t.Fatal(err)
		}
		if found := report.Best().Epsilon / 2; !(found >= c.least && found <= c.most) {
			t.Errorf("%s: ε ≥ %v of 2, want %v to %v times it", name, 2*found, c.least, c.most)
		}
	}
}

// The score is the log-likelihood ratio of what was released: of two Gaussians, or of
// one and the mixture that a secret sample makes, added up over the steps.
func TestTheScoreIsALikelihoodRatio(t *testing.T) {
	density := func(y, mean, std float64) float64 { return math.Exp(-(y - mean) * (y - mean) / (2 * std * std)) }
	for _, rate := range []float64{1, 0.3} {
		for _, y := range []float64{-1, 2, 3.5} {
			const std = 1.7
			plan := privacy.Plan{Steps: 2, Records: 3, NoiseStd: std, Coordinates: 1, Sensitivity: privacy.Sensitivity{Value: 3, Relation: privacy.ReplaceOne}}
			n := Neighbours{Plan: plan, Rate: rate, Worlds: []Worlds{{{1}, {4}}}, Release: func(int, *privacy.Releaser, int) ([]float64, error) { return []float64{y}, nil }}
			scores, err := n.Game(1, "").Play(t.Context(), []bool{true}, noise.Seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			want := 2 * math.Log(((1-rate)*density(y, 1, std)+rate*density(y, 4, std))/density(y, 1, std))
			if len(scores) != 1 || !(math.Abs(scores[0]-want) <= 1e-12) {
				t.Errorf("rate %v: the score of %v is %v, want %v", rate, y, scores, want)
			}
		}
	}
}

// A mechanism that under noise releases what it does not without, before the noise or
// behind it, is not one that an audit knows.
func TestOnceKnowsItsMechanism(t *testing.T) {
	s := privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "a number"}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: 10, Steps: 1, Coordinates: 1, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before float64
		known  bool
	}{{0, true}, {0.1, false}} {
		n, err := Once(plan, func(world int, release *privacy.Releaser) error {
			values := []float64{float64(world)}
			if release.NoiseStd() > 0 {
				values[0] += c.before
			}
			return release.Release(values, s, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		if w := n.Worlds[0]; w[0][0] != 0 || w[1][0] != 1 {
			t.Errorf("worlds are %v", n.Worlds)
		}
		game := n.Game(2, "")
		for range 2 { // by the mechanism, then by its noise alone: the same
			first, err := game.Play(t.Context(), []bool{true}, noise.Seeded(1))
			if (err == nil) != c.known {
				t.Fatalf("%+v: %v", c, err)
			}
			if again, _ := game.Play(t.Context(), []bool{true}, noise.Seeded(1)); c.known && !slices.Equal(first, again) {
				t.Errorf("%v, then %v of the same noise", first, again)
			}
		}
	}
}

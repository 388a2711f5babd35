package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

func gaussianEpsilon(t *testing.T, mu, delta float64) float64 {
	t.Helper()
	e, err := accountant.GaussianEpsilon(1/mu, delta)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sum is the sampled sum of records clipped to norm 1, one release a step. Each
// canary is alone on its coordinate: e_i, and under replace-one −e_i in its
// place, else nothing.
type sum struct {
	plan privacy.Plan
	bits int // canaries

	// What the broken twins change.
	noise  float64 // the noise's scale over the plan's
	times  int     // noise is redrawn so often over one release; 1
	replay int     // batches of the one partition that is replayed; 0 for the plan's sampler
}

// planned is a plan for sums of 2,000 records at δ = 10⁻⁹. With δ not far below
// the failure probability of an audit, Theorem 5.2 says nothing.
func planned(t *testing.T, relation privacy.Relation, sampler sampling.Sampler, steps int, epsilon float64) sum {
	t.Helper()
	sensitivity := privacy.Sensitivity{Value: 1, Relation: relation, Query: "the sum of clipped records", Source: "the clip"}
	if relation == privacy.ReplaceOne {
		sensitivity.Value = 2
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: sensitivity, Sampler: sampler, Records: 2000, Steps: steps, Coordinates: 500,
		Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-9}})
	if err != nil {
		t.Fatal(err)
	}
	return sum{plan: plan, bits: 500, noise: 1, times: 1}
}

// strata samples the first 500 records, the canaries, more densely than the rest.
func strata(t *testing.T) sampling.Stratified {
	t.Helper()
	categories := make([]int, 2000)
	for i := 500; i < len(categories); i++ {
		categories[i] = 1
	}
	s, err := sampling.NewStratified(categories, []int{50, 30})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s sum) zero() float64 {
	if s.plan.Sensitivity.Relation.Replaces() {
		return -1
	}
	return 0
}

func (s sum) rate() float64 {
	switch sampler := s.plan.Sampler.(type) {
	case sampling.Poisson:
		return sampler.Rate
	case sampling.FixedSize:
		return float64(sampler.Size) / float64(s.plan.Records)
	case sampling.Stratified: // of the category that is sampled most densely
		event := sampler.Event(s.plan.Records, accountant.Gaussian{NoiseMultiplier: 1}).(accountant.FixedSizeSampled)
		return float64(event.Size) / float64(event.Population)
	}
	return 1
}

func (s sum) game() Game {
	_, fixed := s.plan.Sampler.(sampling.FixedSize)
	_, stratified := s.plan.Sampler.(sampling.Stratified)
	return Game{
		Relation: s.plan.Sensitivity.Relation, Canaries: s.bits, Bits: s.bits, Executions: 10,
		Apart: !fixed && !stratified && s.replay == 0, Gaussian: s.plan.Sampler == nil, Play: s.play,
	}
}

func (s sum) play(_ context.Context, bits []bool, secret noise.Source) ([]float64, error) {
	released := s.plan
	released.NoiseStd *= s.noise
	variance := released.NoiseStd * released.NoiseStd
	form := func(one bool) float64 {
		if one {
			return 1
		}
		return s.zero()
	}
	// The evidence of y for x against nothing.
	evidence := func(y, x float64) float64 { return (2*x*y - x*x) / (2 * variance) }
	scores := make([]float64, len(bits))
	batches := make([][]float64, s.replay)
	for b := range batches {
		batches[b] = make([]float64, len(bits))
	}
	partition := secret.Stream("partition", 0).Perm(s.plan.Records)
	values := make([]float64, len(bits))
	for repeat := range s.times {
		key := secret.Key()
		key[0] ^= byte(repeat)
		releaser := released.Releaser(noise.Keyed(key, true))
		for step := range s.plan.Steps {
			rows, err := releaser.Draw(step)
			if s.replay > 0 {
				size := s.plan.Records / s.replay
				from := step % s.replay * size
				rows = partition[from : from+size]
			}
			if err != nil {
				return nil, err
			}
			clear(values)
			for _, row := range rows {
				if row < len(bits) {
					values[row] += form(bits[row])
				}
			}
			if err := releaser.Release(values, s.plan.Sensitivity, step); err != nil {
				return nil, err
			}
			q := s.rate()
			for i, y := range values {
				one, zero := evidence(y, 1), evidence(y, s.zero())
				switch {
				case s.replay > 0:
					batches[step%s.replay][i] += one - zero
				case q == 1:
					scores[i] += one - zero
				default:
					scores[i] += math.Log((1 - q + q*math.Exp(one)) / (1 - q + q*math.Exp(zero)))
				}
			}
		}
	}
	// Who was in which batch is not known, but it is the same one each time.
	for _, batch := range batches {
		for i, evidence := range batch {
			scores[i] += math.Exp(min(evidence, 300)) / float64(s.replay)
		}
	}
	if s.replay > 0 {
		for i := range scores {
			scores[i] = math.Log(scores[i])
		}
	}
	return scores, nil
}

// confidence makes the 20 audits of each of eight mechanisms (here and in
// privateflow) fail in fewer than 160·5·10⁻⁶ = 8·10⁻⁴ of all series.
const confidence = 1 - 5e-6

// seeds are those of a mechanism that keeps its claim.
const seeds = 20

// twins is how many seeds must catch a broken twin.
func twins() int {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		return 4
	}
	return 20
}

// audited plays and returns how often the bound passed the claim.
func audited(t *testing.T, name string, g Game, claim float64, seeds int) (refuted int) {
	t.Helper()
	least, most := math.Inf(1), 0.
	for seed := range uint64(seeds) {
		report, err := Run(t.Context(), g, Options{Delta: 1e-9, Confidence: confidence, Random: rand.New(rand.NewPCG(seed, 7)),
			Secret: func(execution int) (noise.Source, error) { return noise.Seeded(seed<<32 + uint64(execution)), nil }})
		if err != nil {
			t.Fatal(name, err)
		}
		best := report.Best().Epsilon
		least, most = min(least, best), max(most, best)
		if best > claim {
			refuted++
		}
		if seed == 0 {
			t.Logf("%s: %+v", name, report.Bounds)
		}
	}
	t.Logf("%s: claim %.3f, bounds %.3f to %.3f, refuted %d of %d", name, claim, least, most, refuted, seeds)
	return refuted
}

func claim(t *testing.T, p privacy.Plan) float64 {
	t.Helper()
	s, err := p.Statement(noise.Seeded(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return float64(s.Epsilon())
}

func TestSumsKeepTheirClaims(t *testing.T) {
	for name, s := range map[string]sum{
		"all records":             planned(t, privacy.ReplaceOne, nil, 1, 4),
		"all records, add-remove": planned(t, privacy.AddRemove, nil, 5, 4),
		"Poisson":                 planned(t, privacy.AddRemove, sampling.Poisson{Rate: 0.05}, 100, 4),
		"fixed size":              planned(t, privacy.ReplaceOne, sampling.FixedSize{Size: 100}, 100, 4),
		"stratified":              planned(t, privacy.KEnd, strata(t), 100, 4),
	} {
		if refuted := audited(t, name, s.game(), claim(t, s.plan), seeds); refuted > 0 {
			t.Errorf("%s: the claim was refuted %d times of %d", name, refuted, seeds)
		}
	}
}

func TestBrokenSumsAreCaught(t *testing.T) {
	half := planned(t, privacy.ReplaceOne, nil, 1, 4)
	half.noise = 0.5
	mean := planned(t, privacy.AddRemove, sampling.Poisson{Rate: 0.05}, 20, 2)
	mean.noise = 1. / 100 // that of the mean of 100 records, on their sum
	fixed := planned(t, privacy.ReplaceOne, sampling.FixedSize{Size: 100}, 20, 2)
	fixed.noise = 1. / 100
	again := planned(t, privacy.ReplaceOne, nil, 1, 4)
	again.times = 50
	replayed := planned(t, privacy.AddRemove, sampling.Poisson{Rate: 0.01}, 3000, 3)
	replayed.replay, replayed.bits = 100, 300
	for name, s := range map[string]sum{
		"half the noise": half, "noise of a mean on a Poisson sum": mean, "noise of a mean on a fixed-size sum": fixed,
		"noise redrawn": again, "batches replayed": replayed,
	} {
		if refuted := audited(t, name, s.game(), claim(t, s.plan), twins()); refuted < twins() {
			t.Errorf("%s: caught %d times of %d", name, refuted, twins())
		}
	}
}

// Counts that cannot be refute nothing, and no bound is no bound.
func TestImpossibleCountsRefuteNothing(t *testing.T) {
	for _, g := range []Guesses{{Canaries: 10, Made: 5, Right: 6}, {Canaries: 10, Made: 5, Right: -1}} {
		if p := g.PValue(0.1, 1e-6); p != 1 {
			t.Errorf("%+v has the p-value %v", g, p)
		}
	}
	if limit := UpperLimit(-3, 10, 0.05); limit != UpperLimit(0, 10, 0.05) {
		t.Errorf("less than no hits have the limit %v", limit)
	}
	if limit := UpperLimit(3, 0, 0.05); limit != 1 {
		t.Errorf("hits of no trials have the limit %v", limit)
	}
	if best := (Report{}).Best(); best != (Bound{}) {
		t.Errorf("the best of no bounds is %+v", best)
	}
	// At a δ of next to nothing every canary counts.
	trials := make([]trial, 200)
	for i := range trials {
		trials[i] = trial{i%2 == 0, float64(1 - 2*(i%2))}
	}
	if least, err := guess(trials, 1e-300, 0.95); err != nil || !(least.Epsilon >= 3) {
		t.Errorf("200 right guesses bound ε by %v, %v", least.Epsilon, err)
	}
	none := Sampled(privacy.Plan{}, 1)
	if _, err := none.Release(0, nil, 0); err == nil || !strings.Contains(err.Error(), "no worlds") {
		t.Errorf("a release of nothing: %v", err)
	}
}

func TestBadGamesAreErrors(t *testing.T) {
	good := planned(t, privacy.ReplaceOne, nil, 1, 4).game()
	options := Options{Delta: 1e-5, Confidence: 0.95, Random: rand.New(rand.NewPCG(1, 1))}
	for want, change := range map[string]func(*Game, *Options){
		"takes 1 to 500":        func(_ *Game, o *Options) { o.Canaries = 501 },
		"takes 1 to 500 in":     func(_ *Game, o *Options) { o.Canaries = -1 },
		"-2 executions":         func(_ *Game, o *Options) { o.Executions = -2 },
		"give Options a Random": func(_ *Game, o *Options) { o.Random = nil },
		"δ = 0":                 func(_ *Game, o *Options) { o.Delta = 0 },
		"confidence 1;":         func(_ *Game, o *Options) { o.Confidence = 1 },
		"confidence NaN;":       func(_ *Game, o *Options) { o.Confidence = math.NaN() },
		"0 scores of 500": func(g *Game, _ *Options) {
			g.Play = func(context.Context, []bool, noise.Source) ([]float64, error) { return nil, nil }
		},
		"is no number": func(g *Game, _ *Options) {
			g.Play = func(_ context.Context, b []bool, _ noise.Source) ([]float64, error) {
				return append(make([]float64, len(b)-1), math.NaN()), nil
			}
		},
		"the mechanism broke": func(g *Game, _ *Options) {
			g.Play = func(context.Context, []bool, noise.Source) ([]float64, error) {
				return nil, fmt.Errorf("the mechanism broke")
			}
		},
	} {
		g, o := good, options
		change(&g, &o)
		if _, err := Run(t.Context(), g, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

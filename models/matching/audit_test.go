package matching_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/matching"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport/sliced"
)

// trainings are of each kind that is made, a few records a batch.
var trainings = []struct {
	name     string
	training matching.Training
	takes    []int
	least    int // records in a sample of a pair
}{
	{"one number and public points", matching.Training{Outputs: 1, Query: matching.Query{Records: 6, Alpha: 0.4, Pairs: []sliced.Sizes{{A: 6, B: 6, Public: true}}}}, []int{6}, 6},
	{"codes of six numbers", matching.Training{Outputs: 6, Query: matching.Query{Records: 60, Alpha: 0.1, Frame: 1. / 6, Pairs: []sliced.Sizes{{A: 60, B: 60, Public: true}}}}, []int{60}, 60},
	{"two groups", matching.Training{Outputs: 1, Query: matching.Query{Records: 13, Alpha: 0.5, Pairs: []sliced.Sizes{{A: 8, B: 5}}}}, []int{8, 5}, 5},
	{"two groups in the plane", matching.Training{Outputs: 2, Query: matching.Query{Records: 20, Alpha: 0.5, Frame: 0.5, Pairs: []sliced.Sizes{{A: 8, B: 12}}}}, []int{8, 12}, 8},
	{"groups of two labels", matching.Training{Outputs: 1, Query: matching.Query{Records: 20, Alpha: 0.7, Pairs: []sliced.Sizes{{A: 5, B: 6}, {A: 5, B: 4}}}}, []int{5, 6, 5, 4}, 4},
	{"a loss alone", matching.Training{Outputs: 3, Query: matching.Query{Records: 7, Pairs: []sliced.Sizes{{A: 3, B: 4}}}}, []int{3, 4}, 3},
	{"fixed points", matching.Training{Outputs: 2, Query: matching.Query{Records: 9, Alpha: 1, Frame: 0.5, Pairs: []sliced.Sizes{{A: 9, B: 9, Fixed: true}}}}, []int{9, 9}, 9},
}

// share is what their attack should come to of the sensitivity: all of the losses' part,
// and of the distances' what neighbours reach in d dimensions, all of it in one.
func share(t matching.Training, least int) float64 {
	c, q, d := t.Clipping, t.Query, float64(t.Outputs)
	far := (1/math.Sqrt(d) + 1/d) * 4 * c.Output * c.Jacobian / float64(least) / float64(len(q.Pairs))
	return ((1-q.Alpha)*2*c.Loss/float64(q.Records) + q.Alpha*far) / t.Sensitivity.Value
}

// statement is that of a training which draws a share of its records, 1 or half.
func statement(t *testing.T, training *matching.Training, takes []int, parts int, epsilon float64) privacy.Statement {
	t.Helper()
	var categories []int
	for k, n := range takes {
		categories = append(categories, slices.Repeat([]int{k}, n*parts)...)
	}
	strata, err := sampling.NewStratified(categories, takes)
	if err != nil {
		t.Fatal(err)
	}
	var sampler sampling.Sampler = strata
	if len(takes) == 1 {
		sampler = sampling.FixedSize{Size: takes[0]}
	}
	training.Clipping, training.Steps = matching.Clipping{Output: 1.5, Jacobian: 0.8, Loss: 2, Exact: training.Outputs%2 == 0}, 3
	if training.Sensitivity, err = training.Clipping.Sensitivity(training.Query); err != nil {
		t.Fatal(err)
	}
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: training.Sensitivity, Sampler: sampler, Records: len(categories), Steps: 3,
		Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, Coordinates: 100})
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Statement(noise.Seeded(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lower is what an attack proves, at confidence 1 − 1e-6.
func lower(t *testing.T, game audit.Game, runs int) float64 {
	t.Helper()
	report, err := audit.Run(t.Context(), game, audit.Options{Delta: 1e-5, Confidence: 1 - 1e-6, Executions: runs, Random: rand.New(rand.NewPCG(1, 2)),
		Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return report.Best().Epsilon
}

// No attack proves more than is claimed. Where steps look at all records, neighbours are
// as far apart as they should be, the attack proves half of what that allows and more,
// and half of the noise is caught; where steps look at half of the records, an eighth of
// it is. Confidence 1 − 1e-6 a bound: a false alarm in 70,000 runs of the test.
func TestAuditOfNoisyGradients(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range trainings {
			for parts, claimed := range map[int]float64{1: 8, 2: 2} {
				training := c.training
				s := statement(t, &training, c.takes, parts, claimed)
				share, least := share(training, c.least), 0.
				if parts == 1 {
					least = 0.5 * claimed * share
				}
				honest, err := training.Game(b, s)
				if err != nil {
					t.Fatal(err)
				}
				if says := fmt.Sprintf(" %.0f %% of the sensitivity", 100*share); !strings.Contains(honest.Tested, says) {
					t.Errorf("%s: it says %q, want%s", c.name, honest.Tested, says)
				}
				found := lower(t, honest, 3000)
				if !(found <= claimed && found >= least) {
					t.Errorf("%s, all in %d parts: ε ≥ %v of %v claimed; want %v at least", c.name, parts, found, claimed, least)
				}
				s.NoiseStd /= []float64{0, 2, 8}[parts]
				twin, err := training.Game(b, s)
				if err != nil {
					t.Fatal(err)
				}
				less := lower(t, twin, 3000)
				if !(less > claimed) {
					t.Errorf("%s, all in %d parts: too little noise was not caught, ε ≥ %v of %v claimed", c.name, parts, less, claimed)
				}
				t.Logf("%s, all in %d parts: ε ≥ %.3g, with too little noise %.3g", c.name, parts, found, less)
			}
		}
	})
}

// A statement of another sensitivity, or of other samples, is not one of the training's.
func TestAuditRefusesOtherStatements(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", backend.Go)
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	draws := func(words string, values sampling.Scheme) func(*privacy.Statement) {
		return func(s *privacy.Statement) { s.Sampler, s.Sampling = words, values }
	}
	training := trainings[2].training
	for want, change := range map[string]func(*privacy.Statement){
		"has the sensitivity":  func(s *privacy.Statement) { s.Sensitivity.Value *= 2 },
		`"all 100 records"`:    draws("all 100 records", sampling.Describe(sampling.All{}, 100)),
		`"FixedSize(5) of 26 `: draws("FixedSize(5) of 26 records", sampling.Describe(sampling.FixedSize{Size: 5}, 26)), // one category, of two
		`"Stratified(9 of 8, `: draws("Stratified(9 of 8, 9 of 8) of 16 records", sampling.Scheme{Kind: sampling.KindStratified, Records: 16, Strata: []sampling.Stratum{{Taken: 9, Of: 8}, {Taken: 9, Of: 8}}}),
		"in words alone":       draws("Stratified(8 of 16, 5 of 10) of 26 records", sampling.Scheme{}), // an earlier version's
	} {
		s := statement(t, &training, []int{8, 5}, 2, 8)
		change(&s)
		if _, err := training.Game(b, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for _, pairs := range [][]sliced.Sizes{nil, {{A: 0, B: 5}}, {{A: 5, B: 0}}} {
		training.Query.Pairs = pairs
		if _, err := training.Worlds(b); err == nil || !strings.Contains(err.Error(), "an attack takes a pair") {
			t.Errorf("an attack on samples of %+v: %v", pairs, err)
		}
	}
}

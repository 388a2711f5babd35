package fair

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// lower is what an attack on a statement proves of it, with the noise divided by twin.
func lower(t *testing.T, s privacy.Statement, twin float64, game func(privacy.Statement) (audit.Game, error)) float64 {
	t.Helper()
	s.NoiseStd /= twin
	g, err := game(s)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), g, audit.Options{Delta: s.Delta, Confidence: 1 - 1e-6, Executions: 4000, Random: rand.New(rand.NewPCG(1, 2)),
		Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return report.Best().Epsilon
}

// Claims survive the audit, which proves a third of them and more where steps look at
// everybody; half of the noise is then refuted. Confidence 1 − 1e-6 a bound: a false alarm
// in 80,000 runs of the test.
func TestAuditOfTrainings(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	const claimed = 8
	attack := func(name string, p promise, game func(privacy.Statement) (audit.Game, error)) {
		t.Helper()
		s, err := p.Statement(noise.Seeded(1), p.claims)
		if err != nil {
			t.Fatal(err)
		}
		honest, twin := lower(t, s, 1, game), lower(t, s, 2, game)
		t.Logf("%s: ε ≥ %.3g, with half of the noise %.3g", name, honest, twin)
		if !(honest > claimed/3. && honest <= claimed) || !(twin > claimed) {
			t.Errorf("%s: audited ε ≥ %v of %v claimed, with half of the noise ≥ %v", name, honest, claimed, twin)
		}
		experimenttest.ReadsValues(t, s, game)
		s.Sensitivity.Value *= 2
		if _, err := game(s); err == nil || !strings.Contains(err.Error(), "has the sensitivity") {
			t.Errorf("%s: another sensitivity: %v", name, err)
		}
		s.Sampling = sampling.Describe(sampling.FixedSize{Size: 5}, 10)
		if _, err := game(s); err == nil || !strings.Contains(err.Error(), "groups") {
			t.Errorf("%s: other samples: %v", name, err)
		}
	}
	for _, k := range kinds {
		criteria := []string{Parity}
		if k.labels {
			criteria = append(criteria, Odds)
		}
		for _, criterion := range criteria {
			c := Experiment{k}.Config(experiment.Quick).(*Config)
			c.Records, c.Steps, c.Delta, c.Share, c.Epsilon, c.Criterion = 60, 2, 1e-4, 1, claimed, criterion
			r, _, err := biased(c)
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.promise(r, 17, c.kind.model(c, 1).Outputs)
			if err != nil {
				t.Fatal(err)
			}
			attack(k.Name+", "+criterion, p, func(s privacy.Statement) (audit.Game, error) { return Experiment{k}.Game(nil, c, s) })
		}
	}
	for _, k := range saddleKinds {
		c := saddleConfig(t, k)
		c.Records, c.Steps, c.Share, c.Epsilon = 60, 2, 1, claimed
		r, _, err := biased(c.byLossAlone())
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.promise(r)
		if err != nil {
			t.Fatal(err)
		}
		attack(k.Name, p, func(s privacy.Statement) (audit.Game, error) { return Saddle{k}.Game(nil, c, s) })
	}
}

// A finished run can be audited by its settings and its statement, and says what the norm
// of its noise is at most.
func TestAuditOfRuns(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"fair-regression":         {"hidden": "4", "projections": "4", "steps": "3"},
		"fair-regression-1d-post": {"hidden": "4", "steps": "3", "bins": "10", "radii": "0.1"},
		"fair-adult-ermi":         {"dataset": "biased", "steps": "3"},
	} {
		r := compute(t, name, settings, 0)
		game, statement, err := experiment.Game(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 0.999999, Executions: 100, Random: rand.New(rand.NewPCG(1, 2))})
		if err != nil || !(report.Best().Epsilon <= float64(statement.Epsilon())) {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if post := strings.HasSuffix(name, "-post"); post != strings.Contains(game.Tested, "histograms") {
			t.Errorf("%s: tested: %q", name, game.Tested)
		}
		m := experimenttest.Metrics(t, r)
		least, err := matching.NoiseNorm(statement.NoiseStd, 1, matching.NoiseFailure)
		if err != nil || m["noise"] != statement.NoiseStd || !(m["noise norm"] > least) || math.IsInf(m["noise norm"], 0) {
			t.Errorf("%s: noise %v with norm %v; the statement has %v", name, m["noise"], m["noise norm"], statement.NoiseStd)
		}
	}
}

// Of post-processing training and histograms are attacked as one: more than half of
// the ε of histograms is found, and a quarter of their noise refuted. Confidence 1 − 1e-6 a bound.
func TestAuditOfHistograms(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	const training, histograms, delta = 0.5, 3, 1e-4
	post := PostProcessed{}
	c := post.Config(experiment.Quick).(*PostConfig)
	c.Records, c.Steps, c.Delta, c.Share, c.Epsilon, c.HistogramEpsilon, c.Bins = 60, 2, delta, 1, training, histograms, 10
	r, _, err := biased(&c.Config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.promise(r, 17, c.kind.model(&c.Config, 1).Outputs)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Statement(noise.Seeded(1), p.claims)
	if err != nil {
		t.Fatal(err)
	}
	c.extend(&s)
	claimed := float64(s.Epsilon())
	game := func(s privacy.Statement) (audit.Game, error) { return post.Game(nil, c, s) }
	honest := lower(t, s, 1, game)
	c.HistogramEpsilon *= 4
	twin := lower(t, s, 1, game)
	t.Logf("ε ≥ %.3g of %.3g claimed, with a quarter of the histograms' noise %.3g", honest, claimed, twin)
	if !(math.Abs(claimed-training-histograms) < 1e-5) || !(honest > 0.6*histograms && honest <= claimed) || !(twin > claimed) {
		t.Errorf("audited ε ≥ %v of %v claimed, with a quarter of the histograms' noise ≥ %v", honest, claimed, twin)
	}
}

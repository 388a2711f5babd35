package fair

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/accountant"
)

// The paper's settings, with Table 4's sizes of groups: batches of a tenth of each, which the
// table rounds to fifties (1500 and 1450; 1050, 400, 450 and 1000), and of
// Corollary C.1 its sensitivities by hand.
func TestThePapersSensitivities(t *testing.T) {
	for _, c := range []struct {
		criterion string
		sizes     []int
		taken     []int
		published float64
	}{
		// (1−½)·2·5/2999 + ½·16/1482
		{Parity, []int{15172, 14828}, []int{1517, 1482}, 0.5*10/2999 + 0.5*16/1482},
		// (1−½)·2·5/2998 + (½/2)·16/444
		{Odds, []int{10608, 4446, 4564, 10382}, []int{1060, 444, 456, 1038}, 0.5*10/2998 + 0.25*16/444},
	} {
		config := Experiment{kinds[0]}.Config(experiment.Paper).(*Config)
		config.Criterion = c.criterion
		taken, err := config.take(groups(c.criterion), c.sizes)
		if err != nil || !slices.Equal(taken, c.taken) {
			t.Fatalf("%s: %v, %v; want %v", c.criterion, taken, err, c.taken)
		}
		query := config.query(taken, 1)
		query.AsPublished = true
		s, err := config.clipping().Sensitivity(query)
		if err != nil || !(math.Abs(s.Value-c.published) <= 1e-12) {
			t.Errorf("%s as published: %v, %v; want %v", c.criterion, s.Value, err, c.published)
		}
		query.AsPublished = false
		if ours, err := config.clipping().Sensitivity(query); err != nil || !(ours.Value < s.Value) || ours.Relation != privacy.KEnd {
			t.Errorf("%s as proved: %+v, %v; want less than %v under k-end", c.criterion, ours, err, s.Value)
		}
	}
}

// A plan proves its ε, for the densest of its groups; the paper's accounting of the
// same noise, by hand, is the published claim; and the paper's own noise is larger.
func TestPlansProveTheirBudget(t *testing.T) {
	c := Experiment{kinds[0]}.Config(experiment.Quick).(*Config)
	c.Records, c.Held, c.Steps, c.Delta = 2000, 100, 50, 1e-4
	r, _, err := biased(c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.promise(r, 17, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, sizes, err := r.categories(groups(Parity))
	if err != nil {
		t.Fatal(err)
	}
	densest := accountant.FixedSizeSampled{Size: sizes[0] / 10, Population: sizes[0]}
	if sizes[1]/10*sizes[0] > sizes[0]/10*sizes[1] {
		densest = accountant.FixedSizeSampled{Size: sizes[1] / 10, Population: sizes[1]}
	}
	epsilon := func(a accountant.Accountant, multiplier float64) float64 {
		densest.Event = accountant.Gaussian{NoiseMultiplier: multiplier}
		found, err := a.Epsilon(accountant.SelfComposed{Count: 50, Event: densest}, privacy.ReplaceOne, c.Delta)
		if err != nil {
			t.Fatal(err)
		}
		return found.Epsilon
	}
	if proved := epsilon(accountant.PLD{}, p.NoiseMultiplier()); !(proved <= 3 && proved >= 2.99) {
		t.Errorf("ε = %v proved, want 3", proved)
	}
	published := 0.5*2*5/float64(sizes[0]/10+sizes[1]/10) + 0.5*16/float64(min(sizes[0]/10, sizes[1]/10))
	if want := epsilon(accountant.GDP{}, p.NoiseStd/published); len(p.claims) != 1 || !(math.Abs(float64(p.claims[0].Epsilon)-want) <= 1e-9) || p.claims[0].Sound {
		t.Errorf("claims %+v, want ε = %v", p.claims, want)
	}
	if !slices.ContainsFunc(p.notCovered, func(line string) bool {
		return strings.Contains(line, "public_sizes") && strings.Contains(line, "A = 0: ")
	}) {
		t.Errorf("sizes are not said to be public: %q", p.notCovered)
	}
	c.PublicSizes = false // as runs without privacy may have it
	if lines, err := c.notCovered(groups(Parity), sizes); err != nil || slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "declared public") && !strings.Contains(line, "not declared public") || strings.Contains(line, strconv.Itoa(sizes[0]))
	}) {
		t.Errorf("sizes that are not declared public are said to be, or told: %q, %v", lines, err)
	}
	c.PublicSizes, c.Published = true, true
	theirs, err := c.promise(r, 17, 1)
	if err != nil || !(theirs.NoiseStd > p.NoiseStd && math.Abs(float64(theirs.claims[0].Epsilon)-3) <= 1e-3) {
		t.Errorf("the paper's noise for ε = 3 is %v, claimed %v, %v; ours %v", theirs.NoiseStd, theirs.claims, err, p.NoiseStd)
	}
	c.Published, c.Epsilon = false, privacy.Epsilon(math.Inf(1))
	if open, err := c.promise(r, 17, 1); err != nil || open.NoiseStd != 0 || open.claims != nil {
		t.Errorf("without privacy: noise %v, claims %v, %v", open.NoiseStd, open.claims, err)
	}
}

// With its own settings every task may protect somebody: its δ is below 1/n. (004's is 1/n
// in Remark C.4; the table that repeats it asks for that, for research.)
func TestOwnSettingsProtect(t *testing.T) {
	for _, e := range experiment.Registry.All() {
		if !strings.HasPrefix(e.Describe().Name, "fair-") {
			continue
		}
		for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
			text, err := json.Marshal(e.Config(preset))
			if err != nil {
				t.Fatal(err)
			}
			var c struct {
				Delta   float64 `json:"delta"`
				Records int     `json:"records"`
			}
			if err := json.Unmarshal(text, &c); err != nil || c.Records == 0 {
				t.Fatal(err, c)
			}
			if err := experiment.CheckDelta(privacy.Budget{Epsilon: 1, Delta: c.Delta}, false, c.Records); err != nil {
				t.Errorf("%s, %s: %v", e.Describe().Name, preset, err)
			}
		}
	}
}

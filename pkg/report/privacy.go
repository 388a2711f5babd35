package report

import (
	"fmt"
	"math"

	"molehill/privacy"
	"molehill/viz"
)

// Short says in a few words what a statement promises.
func Short(s privacy.Statement) string {
	switch {
	case math.IsInf(float64(s.Epsilon()), 1):
		return "without privacy"
	case s.Research:
		return "for research, with noise that is known, so that nobody is protected"
	}
	return fmt.Sprintf("with (ε, δ) = (%v, %s)", s.Epsilon(), privacy.DeltaText(s.Delta))
}

// Promise is the section that says what a statement promises, in words and in the
// terms of the trade. records is what a record is called, "row" for example.
func Promise(s privacy.Statement, record string) Section {
	e := float64(s.Epsilon())
	out := Section{Heading: "What is promised"}
	switch {
	case math.IsInf(e, 1):
		out.Text = []string{"Nothing: this was made without privacy (ε = ∞)."}
	case s.Research:
		out.Text = []string{"Nothing to anybody: the noise of a research run can be recomputed from its seed. The numbers below are those of the same computation with secret noise."}
	default:
		out.Text = []string{
			fmt.Sprintf("What was released is differentially private: (ε, δ) = (%v, %s), where neighbours are data sets of which one %s is replaced by any other.", s.Epsilon(), privacy.DeltaText(s.Delta), record),
			fmt.Sprintf("Suppose somebody knows all %ss but one, and has two guesses at it, equally likely to them. Whatever they do with what was released, they are right at most %.1f %% of the time; without looking they would be 50 %%.",
				record, math.Ceil(1000*accuracy(e, s.Delta))/10),
		}
	}
	t := viz.Table{Header: []string{"", ""}}
	for _, c := range s.Claims {
		what := fmt.Sprintf("ε = %v by %s", c.Epsilon, c.Accountant)
		if c.Note != "" {
			what += ": " + c.Note
		}
		t.Add(c.Label, what)
	}
	t.Add("δ", fmt.Sprintf("%g", s.Delta))
	t.Add("neighbours", s.Relation)
	t.Add("mechanism", fmt.Sprintf("%s, standard deviation %.5g = %.5g × the sensitivity", s.Mechanism, s.NoiseStd, s.NoiseMultiplier))
	t.Add("sensitivity", fmt.Sprintf("%.5g for %s; %s", s.Sensitivity.Value, s.Sensitivity.Query, s.Sensitivity.Source))
	t.Add("sampling", s.Sampler)
	t.Add("releases", s.Steps)
	t.Add("randomness", s.Randomness)
	out.Tables = []viz.Table{t}
	return out
}

// accuracy is the most that a guess between two neighbours can be right, under (ε, δ).
func accuracy(epsilon, delta float64) float64 {
	// The best trade-off has both errors at (1−δ)/(1+e^ε).
	return 1 - (1-delta)/(1+math.Exp(epsilon))
}

// NotPromised is the section that lists what a statement leaves out.
func NotPromised(s privacy.Statement) Section {
	return Section{Heading: "What is not protected", List: s.NotCovered}
}

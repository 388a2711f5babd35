package privacy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Epsilon is an ε that prints and marshals at +Inf: "∞" for people, "inf" in
// JSON. People get four digits, rounded up.
type Epsilon float64

func (e Epsilon) String() string {
	if math.IsInf(float64(e), 1) {
		return "∞"
	}
	return bound(float64(e))
}

// Up is ε as people get it, a number: who prints it with four digits understates nothing.
func (e Epsilon) Up() float64 {
	if math.IsInf(float64(e), 1) {
		return math.Inf(1)
	}
	v, _ := strconv.ParseFloat(bound(float64(e)), 64) // a number it is
	return v
}

// Down is ε in four digits, rounded down: what still fits a budget, or is told to be reached
// at least, is not to be overstated.
func (e Epsilon) Down() float64 {
	v := float64(e)
	if !(v > 0) || math.IsInf(v, 1) {
		return v
	}
	four := func(v float64) float64 {
		short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // a number it is
		return short
	}
	down := four(v)
	if down > v {
		down = four(down - math.Pow10(int(math.Floor(math.Log10(v)))-3))
	}
	return down
}

// DeltaText is a δ for people, with four digits.
func DeltaText(delta float64) string { return bound(delta) }

// bound rounds up to four digits, so that nothing is understated; a part in 10⁹ is the
// arithmetic's.
func bound(v float64) string {
	if v > 0 {
		unit := math.Pow10(int(math.Floor(math.Log10(v))) - 3)
		if up := math.Ceil(v/unit*(1-1e-9)) * unit; up > v && !math.IsInf(up, 1) {
			v = up
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// ParseEpsilon reads what a person types: a number, "inf" or "∞".
func ParseEpsilon(text string) (Epsilon, error) {
	if text == "∞" {
		return Epsilon(math.Inf(1)), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) {
		return 0, fmt.Errorf("privacy: ε = %q; expected a number above 0, or inf for no privacy", text)
	}
	return Epsilon(v), nil
}

// MarshalJSON implements json.Marshaler.
func (e Epsilon) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 1) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(e))
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Epsilon) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if v, err := strconv.ParseFloat(text, 64); err == nil && v == 0 {
		*e = 0 // a claim can be: no two neighbours differ by more than δ
		return nil
	}
	parsed, err := ParseEpsilon(text)
	if err == nil {
		*e = parsed
	}
	return err
}

// Labels of claims.
const (
	AsProved    = "as proved"
	AsPublished = "as published" // what a paper prints
	PapersWay   = "paper's way"  // what its accounting gives for noise that is not its own
)

// Claim is one ε and why to believe it, or not.
type Claim struct {
	Label      string  `json:"label"` // AsProved, AsPublished, PapersWay, …
	Accountant string  `json:"accountant"`
	Epsilon    Epsilon `json:"epsilon"`
	Sound      bool    `json:"sound"` // proved for what was computed
	Note       string  `json:"note,omitempty"`
}

// Statement is what a run may say about its privacy.
type Statement struct {
	Relation        string          `json:"relation"`
	Mechanism       string          `json:"mechanism"`
	NoiseMultiplier float64         `json:"noise_multiplier"` // noise in units of the proved sensitivity
	NoiseStd        float64         `json:"noise_std"`
	Sensitivity     Sensitivity     `json:"sensitivity"`
	Sampler         string          `json:"sampler"`           // in words, for people
	Sampling        sampling.Scheme `json:"sampling,omitzero"` // the same as values, which audits read; none in statements of earlier versions
	Steps           int             `json:"steps"`
	Delta           float64         `json:"delta"`
	Asked           Epsilon         `json:"asked,omitempty"` // ε that was asked for, where more is proved than that
	Claims          []Claim         `json:"claims"`          // sound ones first
	Randomness      string          `json:"randomness"`
	Research        bool            `json:"research"` // the noise can be recomputed from a seed: no promise to anybody
	NotCovered      []string        `json:"not_covered"`
}

// Statement accounts for the plan at its budget's δ. Published claims about the
// same noise are set beside the proved ones; notCovered lists what the promise
// does not cover.
func (p Plan) Statement(secret noise.Source, published []Claim, notCovered ...string) (Statement, error) {
	if p.NoiseStd > 0 {
		if err := p.check(); err != nil {
			return Statement{}, err
		}
	}
	s := Statement{
		Relation:    p.Sensitivity.Relation.String(),
		Mechanism:   "Gaussian",
		NoiseStd:    p.NoiseStd,
		Sensitivity: p.Sensitivity,
		Sampler:     fmt.Sprintf("%v of %d records", p.sampler(), p.Records),
		Sampling:    sampling.Describe(p.sampler(), p.Records),
		Steps:       p.Steps,
		Delta:       p.Budget.Delta,
		Randomness:  secret.Describe() + "; values and noise rounded to a public grid of " + p.fineness(),
		Research:    secret.Research(),
		NotCovered:  notCovered,
	}
	if p.NoiseStd == 0 {
		s.Mechanism = "none: the records are used as they are"
		s.Sensitivity.Value, s.Sensitivity.Source, s.Randomness, s.Research = 0, "not bounded, as nothing is protected", "none in a release", false
		s.Claims = []Claim{{Label: AsProved, Accountant: "none", Epsilon: Epsilon(math.Inf(1)), Sound: true, Note: "no noise, no privacy"}}
		return s, nil
	}
	if p.Budget.Delta*float64(p.Records) >= 1 {
		s.NotCovered = append(slices.Clip(s.NotCovered), fmt.Sprintf("a δ that says little: %g is not below 1/%d, and so allows a method that publishes a record now and then; take a smaller one", p.Budget.Delta, p.Records))
	}
	s.NoiseMultiplier = p.NoiseMultiplier()
	results, err := accountant.Sound(p.Event(), p.Sensitivity.Relation, p.Budget.Delta)
	if err != nil {
		return s, err
	}
	for _, r := range results {
		s.Claims = append(s.Claims, Claim{Label: AsProved, Accountant: r.Accountant, Epsilon: Epsilon(r.Epsilon), Sound: true, Note: r.Note})
	}
	s.Claims = append(s.Claims, published...)
	if float64(s.Epsilon()) > p.Budget.Epsilon*(1+1e-6) {
		s.Asked = Epsilon(p.Budget.Epsilon)
	}
	return s, nil
}

// fineness tells how fine the noise's grid is.
func (p Plan) fineness() string {
	if grid := noise.Grid(p.NoiseStd, p.span()); grid != noise.Grid(p.NoiseStd, 0) {
		return fmt.Sprintf("%.2g of the noise, so coarse that it reaches %d records", grid/p.NoiseStd, p.Records)
	}
	return "at most 2⁻³⁰ of the noise"
}

// Epsilon returns the smallest ε that is proved.
func (s Statement) Epsilon() Epsilon {
	best := Epsilon(math.Inf(1))
	for _, c := range s.Claims {
		if c.Sound {
			best = min(best, c.Epsilon)
		}
	}
	return best
}

// Published returns the first claim that is not proved, if there is one.
func (s Statement) Published() (Claim, bool) {
	for _, c := range s.Claims {
		if !c.Sound {
			return c, true
		}
	}
	return Claim{}, false
}

// String renders the statement for people.
func (s Statement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "(ε = %v, δ = %s) as proved, under %s", s.Epsilon(), DeltaText(s.Delta), s.Relation)
	if s.Research {
		b.WriteString("; research run: its noise can be recomputed from its seed")
	}
	b.WriteString("\n")
	for _, c := range s.Claims {
		fmt.Fprintf(&b, "  %-14s ε = %-8v %s", c.Label, c.Epsilon, c.Accountant)
		if c.Note != "" {
			fmt.Fprintf(&b, " (%s)", c.Note)
		}
		b.WriteString("\n")
	}
	line := func(name, value string) { fmt.Fprintf(&b, "  %-14s %s\n", name, value) }
	if s.Asked > 0 {
		line("asked for", fmt.Sprintf("ε = %v, which the noise of this plan does not prove", s.Asked))
	}
	line("mechanism", fmt.Sprintf("%s, noise multiplier %.4g, standard deviation %.4g", s.Mechanism, s.NoiseMultiplier, s.NoiseStd))
	line("sensitivity", fmt.Sprintf("%.6g for %s; %s", s.Sensitivity.Value, s.Sensitivity.Query, s.Sensitivity.Source))
	line("sampling", s.Sampler)
	line("releases", strconv.Itoa(s.Steps))
	line("randomness", s.Randomness)
	for _, what := range s.NotCovered {
		line("not covered", what)
	}
	return b.String()
}

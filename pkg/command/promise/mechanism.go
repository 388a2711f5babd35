package promise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/plugin"
	"molehill/privacy/accountant"
)

// mechanism is what `epsilon` and `calibrate` account for, as flags.
type mechanism struct {
	noiseMultiplier, rate, delta float64
	steps, batch, records        int
	kind, sampling, relation     string
	json                         bool

	given func(flag string) bool
	found string // the flag that is to be found, if one is
}

func (m *mechanism) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	m.given = flags.Changed
	flags.Float64Var(&m.noiseMultiplier, "noise-multiplier", 0, "noise over the query's sensitivity under the relation: standard deviation (gaussian) or scale (laplace)")
	flags.Float64Var(&m.rate, "rate", 1, "sampling rate q")
	flags.IntVar(&m.batch, "batch", 0, "records in a batch (on average, for poisson); with --records, in place of --rate")
	flags.IntVar(&m.records, "records", 0, "number of records")
	flags.IntVar(&m.steps, "steps", 1, "number of releases, each with fresh noise and a fresh sample")
	flags.Float64Var(&m.delta, "delta", 0, "δ, in (0, 1); well below 1 over the number of records")
	flags.StringVar(&m.kind, "mechanism", "gaussian", "gaussian or laplace")
	flags.StringVar(&m.sampling, "sampling", "", "poisson, without-replacement or none (default: poisson if there is a rate)")
	flags.StringVar(&m.relation, "relation", "", accountant.RelationNames+" (default: replace-one for without-replacement, else add-remove)")
	flags.BoolVar(&m.json, "json", false, "print JSON")
}

// Samplings, as flags say them.
const (
	poisson            = "poisson"
	withoutReplacement = "without-replacement"
	noSampling         = "none"
)

// complete settles what flags leave open and refuses what contradicts itself.
func (m *mechanism) complete() (accountant.Relation, error) {
	given := m.given
	if !given("delta") {
		return 0, fmt.Errorf("--delta is missing: expected δ in (0, 1), usually well below 1 over the number of records, such as 1e-5")
	}
	if given("batch") != given("records") || given("batch") && given("rate") {
		return 0, fmt.Errorf("expected either --rate, or --batch and --records together")
	}
	if given("batch") {
		if m.records < 1 || m.batch < 0 || m.batch > m.records {
			return 0, fmt.Errorf("--batch %d of --records %d: expected 0 ≤ batch ≤ records, and at least 1 record", m.batch, m.records)
		}
		m.rate = float64(m.batch) / float64(m.records)
	}
	if err := oneOf("mechanism", m.kind, "gaussian", "laplace"); err != nil {
		return 0, err
	}
	sampled := given("rate") || given("batch")
	if m.sampling == "" {
		if m.sampling = noSampling; sampled {
			m.sampling = poisson
		}
	}
	if err := oneOf("sampling", m.sampling, poisson, withoutReplacement, noSampling); err != nil {
		return 0, err
	}
	if m.sampling != noSampling && !sampled && m.found != "rate" {
		return 0, fmt.Errorf("--sampling %s needs to know how much: give --rate, or --batch and --records", m.sampling)
	}
	if sampled && m.rate == 0 {
		return 0, fmt.Errorf("a sampling rate of 0 looks at no record and costs nothing: expected one above 0")
	}
	if m.sampling == noSampling && sampled && m.rate != 1 {
		return 0, fmt.Errorf("--sampling none looks at all records in each step; leave --rate out, or say how batches are drawn: poisson or without-replacement")
	}
	if m.relation == "" {
		if m.relation = accountant.AddRemove.String(); m.sampling == withoutReplacement {
			m.relation = accountant.ReplaceOne.String()
		}
	}
	var relation accountant.Relation
	if err := relation.UnmarshalText([]byte(m.relation)); err != nil {
		return 0, fmt.Errorf("--relation: %w", err)
	}
	return relation, nil
}

// event is the mechanism with a noise multiplier, a rate and a number of steps.
func (m *mechanism) event(noiseMultiplier, rate float64, steps int) accountant.Event {
	var e accountant.Event = accountant.Gaussian{NoiseMultiplier: noiseMultiplier}
	if m.kind == "laplace" {
		e = accountant.Laplace{NoiseMultiplier: noiseMultiplier}
	}
	switch m.sampling {
	case poisson:
		e = accountant.PoissonSampled{Rate: rate, Event: e}
	case withoutReplacement:
		sampled := accountant.FixedSizeSampled{Size: m.batch, Population: m.records, Event: e}
		if m.records == 0 || rate != m.rate {
			// A rate alone, to twelve digits and rounded up: a larger sample costs more.
			const population = 1 << 40
			sampled.Size, sampled.Population = -1, population // invalid, unless
			if rate >= 0 && rate <= 1 {
				sampled.Size = int(math.Ceil(rate * population))
			}
		}
		e = sampled
	}
	return accountant.SelfComposed{Event: e, Count: steps}
}

// String says what is accounted for, for people.
func (m *mechanism) String() string {
	name := strings.ToUpper(m.kind[:1]) + m.kind[1:]
	what := fmt.Sprintf("%s noise of %.6g times the sensitivity", name, m.noiseMultiplier)
	if m.sampling != noSampling {
		of := fmt.Sprintf("at rate %.6g", m.rate)
		if m.records > 0 {
			of = fmt.Sprintf("of %d of %d records", m.batch, m.records)
		}
		what += fmt.Sprintf(" on %s samples %s", map[string]string{poisson: "Poisson", withoutReplacement: "fixed-size"}[m.sampling], of)
	}
	times := "once"
	if m.steps != 1 {
		times = fmt.Sprintf("%d times", m.steps)
	}
	return fmt.Sprintf("%s, %s, under %s", what, times, m.relation)
}

func oneOf(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return &plugin.UnknownError{Kind: "--" + flag, Name: value, Nearest: choices}
}

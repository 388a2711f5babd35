package promise

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/accounting"
	"molehill/pkg/command/internal/cli"
	"molehill/privacy/accountant"
)

// calibrated is what calibrate finds, for scripts.
type calibrated struct {
	Target          float64 `json:"target"`
	Found           string  `json:"found"` // noise-multiplier, steps or rate
	NoiseMultiplier float64 `json:"noise_multiplier"`
	Steps           int     `json:"steps"`
	Rate            float64 `json:"rate"`
	accounted
}

func calibrate() *cobra.Command {
	var (
		m      mechanism
		target float64
		name   string
	)
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "the noise, the steps or the sampling rate that an (ε, δ) allows",
		Long: `The least noise multiplier, the most steps or the largest sampling rate with which
a mechanism keeps to (ε, δ): whichever of --noise-multiplier, --steps and --rate
is left out, in this order.`,
		Example: `  molehill calibrate --epsilon 3 --delta 1e-5 --rate 0.01 --steps 10000
  molehill calibrate --epsilon 3 --delta 1e-5 --rate 0.01 --noise-multiplier 1.1
  molehill calibrate --epsilon 3 --delta 1e-5 --steps 10000 --noise-multiplier 1.1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !m.given("epsilon") {
				return fmt.Errorf("--epsilon is missing: expected the ε to keep to, above 0")
			}
			find := "noise-multiplier"
			if m.given("noise-multiplier") {
				if find = "steps"; m.given("steps") {
					find = "rate"
				}
			}
			if find == "rate" {
				if m.given("rate") || m.given("batch") {
					return fmt.Errorf("noise multiplier, steps and rate are all given: leave out the one to be found, or ask `molehill epsilon` what they cost")
				}
				if m.sampling == "" {
					m.sampling = poisson
				}
				if m.sampling == noSampling {
					return fmt.Errorf("noise multiplier and steps are given, and there is no sampling: `molehill epsilon` says what they cost")
				}
			}
			m.found = find
			relation, err := m.complete()
			if err != nil {
				return err
			}
			chosen, err := accountantsNamed(name)
			if err != nil {
				return err
			}
			if len(chosen) != 1 {
				return fmt.Errorf("--accountant all: expected the one to calibrate by; the others are listed with the result")
			}
			if err := cli.Apart(cmd.Context(), "looking for the "+strings.ReplaceAll(find, "-", " "), func() error { return m.find(find, target, relation, chosen[0]) }); err != nil {
				return err
			}
			switch find { // what is told keeps to ε, too
			case "noise-multiplier":
				m.noiseMultiplier = roundTo(m.noiseMultiplier, math.Ceil)
			case "rate":
				m.rate = roundTo(m.rate, math.Floor)
			}
			var result accounted
			if err := cli.Apart(cmd.Context(), "accounting", func() (err error) {
				result, err = account(&m, relation, accounting.All())
				return err
			}); err != nil {
				return err
			}
			if m.json {
				return cli.JSON(cmd.OutOrStdout(), calibrated{target, find, m.noiseMultiplier, m.steps, m.rate, result})
			}
			found := map[string]string{
				"noise-multiplier": fmt.Sprintf("noise multiplier %.6g", m.noiseMultiplier),
				"steps":            cli.Count(m.steps, "step", "steps") + map[bool]string{true: " or more"}[m.steps == math.MaxInt32],
				"rate":             fmt.Sprintf("sampling rate %.6g", m.rate),
			}[find]
			kept := "is kept to, by " + chosen[0].Name()
			switch by, err := chosen[0].Epsilon(m.event(m.noiseMultiplier, m.rate, m.steps), relation, m.delta); {
			case err != nil || by.Approximate:
				kept = fmt.Sprintf("is what %s says, which proves nothing here", chosen[0].Name())
			case by.Epsilon > target: // a little more noise may cost a little more where it is less exact
				kept = fmt.Sprintf("is NOT kept to: it comes to ε = %.6g, by %s, which is not exact enough here to come nearer", by.Epsilon, chosen[0].Name())
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: ε = %g at δ = %g %s\n\n", found, target, m.delta, kept)
			return result.print(cmd.OutOrStdout(), false)
		},
	}
	m.define(cmd)
	cmd.Flags().Float64Var(&target, "epsilon", 0, "the ε to keep to, above 0")
	cmd.Flags().StringVar(&name, "accountant", "tightest", "tightest, or one of "+accountantNames())
	return cmd
}

// roundTo rounds to six digits, up or down: to the side on which ε is kept to.
func roundTo(v float64, to func(float64) float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - 5)
	return to(v/unit) * unit
}

// find completes the mechanism with what is to be found.
func (m *mechanism) find(what string, epsilon float64, relation accountant.Relation, a accountant.Accountant) (err error) {
	switch what {
	case "noise-multiplier":
		m.noiseMultiplier, err = accountant.CalibrateNoise(epsilon, m.delta, func(noise float64) accountant.Event {
			return m.event(noise, m.rate, m.steps)
		}, relation, a)
	case "steps":
		m.steps, err = accountant.CalibrateSteps(epsilon, m.delta, math.MaxInt32, func(steps int) accountant.Event {
			return m.event(m.noiseMultiplier, m.rate, steps)
		}, relation, a)
		if err == nil && m.steps == 0 {
			err = fmt.Errorf("not even one step keeps to ε = %g: raise --epsilon or --noise-multiplier, or lower --rate", epsilon)
		}
	case "rate":
		m.rate, err = accountant.CalibrateRate(epsilon, m.delta, func(rate float64) accountant.Event {
			return m.event(m.noiseMultiplier, rate, m.steps)
		}, relation, a)
		if err == nil && m.rate == 0 {
			err = fmt.Errorf("no sampling rate keeps to ε = %g: raise --epsilon or --noise-multiplier, or take fewer --steps", epsilon)
		}
	}
	return err
}

package promise

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"molehill/pkg/accounting"
	"molehill/pkg/command/internal/cli"
	"molehill/privacy"
	"molehill/privacy/accountant"
)

// accounted is what accountants say of a mechanism, for scripts.
type accounted struct {
	Mechanism string               `json:"mechanism"`
	Event     string               `json:"event"`
	Relation  accountant.Relation  `json:"relation"`
	Delta     float64              `json:"delta"`
	Results   []accountantsVerdict `json:"accountants"`
}

type accountantsVerdict struct {
	Accountant string           `json:"accountant"`
	Epsilon    *privacy.Epsilon `json:"epsilon,omitempty"` // none where refused
	Proved     bool             `json:"proved"`
	Note       string           `json:"note,omitempty"`
	Refused    string           `json:"refused,omitempty"`
}

func epsilon() *cobra.Command {
	var m mechanism
	var name string
	cmd := &cobra.Command{
		Use:   "epsilon",
		Short: "the ε of a mechanism: noise, sampling, steps and δ",
		Long: `The ε of a mechanism that is composed of equal steps.

The noise multiplier is the noise over the sensitivity of the query under the
chosen relation: a clipped sum that moves by C when a record is added moves by
2C when one is replaced, so the same noise has half the multiplier there.`,
		Example: `  molehill epsilon --noise-multiplier 1.1 --rate 0.01 --steps 10000 --delta 1e-5
  molehill epsilon --noise-multiplier 1.1 --batch 256 --records 60000 --sampling without-replacement --steps 2000 --delta 1e-5 --accountant all`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			relation, err := m.complete()
			if err != nil {
				return err
			}
			if !m.given("noise-multiplier") {
				return fmt.Errorf("--noise-multiplier is missing: expected a number above 0; `molehill calibrate` finds one for an ε")
			}
			chosen, err := accountantsNamed(name)
			if err != nil {
				return err
			}
			var found accounted
			if err := cli.Apart(cmd.Context(), "accounting", func() (err error) {
				found, err = account(&m, relation, chosen)
				return err
			}); err != nil {
				return err
			}
			return found.print(cmd.OutOrStdout(), m.json)
		},
	}
	m.define(cmd)
	cmd.Flags().StringVar(&name, "accountant", "tightest", "tightest, all, or one of "+accountantNames())
	return cmd
}

// accountantsNamed returns the accountants that a flag names.
func accountantsNamed(name string) ([]accountant.Accountant, error) {
	all := accounting.All()
	if name == "all" {
		return all, nil
	}
	if name == (accountant.Tightest{}).Name() {
		return []accountant.Accountant{accountant.Tightest{}}, nil
	}
	for _, a := range all {
		if a.Name() == name {
			return []accountant.Accountant{a}, nil
		}
	}
	return nil, oneOf("accountant", name, append(strings.Split(accountantNames(), ", "), "tightest", "all")...)
}

func accountantNames() string {
	var names []string
	for _, a := range accounting.All() {
		names = append(names, a.Name())
	}
	return strings.Join(names, ", ")
}

// account asks the accountants. One that has no theorem, or a plug-in that fails,
// is an error only if it is the only one asked.
func account(m *mechanism, relation accountant.Relation, chosen []accountant.Accountant) (accounted, error) {
	event := m.event(m.noiseMultiplier, m.rate, m.steps)
	found := accounted{Mechanism: m.String(), Event: event.String(), Relation: relation, Delta: m.delta}
	for _, a := range chosen {
		r, err := a.Epsilon(event, relation, m.delta)
		v := accountantsVerdict{Accountant: a.Name()}
		refusal, refused := errors.AsType[*accountant.UnsupportedError](err)
		_, plugged := a.(accounting.Checked)
		switch {
		case refused && len(chosen) > 1:
			v.Refused = refusal.Reason
		case err != nil && plugged && len(chosen) > 1: // the others go on
			v.Refused = err.Error()
		case err != nil:
			return found, err
		default:
			epsilon := privacy.Epsilon(r.Epsilon)
			v = accountantsVerdict{Accountant: r.Accountant, Epsilon: &epsilon, Proved: !r.Approximate, Note: r.Note}
		}
		found.Results = append(found.Results, v)
	}
	return found, nil
}

func (a accounted) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return cli.JSON(out, a)
	}
	fmt.Fprintln(out, a.Mechanism)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range a.Results {
		if v.Epsilon == nil {
			fmt.Fprintf(w, "  %s\tno theorem\t%s\n", v.Accountant, v.Refused)
			continue
		}
		note := v.Note
		switch {
		case !v.Proved && note == "":
			note = "not proved"
		case !v.Proved:
			note = "not proved: " + note
		}
		fmt.Fprintf(w, "  %s\tε = %v at δ = %g\t%s\n", v.Accountant, *v.Epsilon, a.Delta, note)
	}
	return w.Flush()
}

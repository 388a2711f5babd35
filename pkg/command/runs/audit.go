package runs

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/viz"
)

// Verdict is a claim after an audit.
type Verdict struct {
	privacy.Claim
	Refuted bool   `json:"refuted"`
	By      string `json:"by,omitempty"` // the method, where refuted
}

// Audited is what `molehill audit --json` prints.
type Audited struct {
	Run    string       `json:"run"`
	Audit  audit.Report `json:"audit"`
	Claims []Verdict    `json:"claims"`
}

func auditCommand() *cobra.Command {
	var (
		options audit.Options
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "audit RUN",
		Short: "attack the mechanism of a finished run with canaries: does its ε survive?",
		Long: `Attack the mechanism of a finished run. The run's settings make its plan and its
estimator anew; in place of the private records there are canaries, each in one
of two forms by a secret coin, and an attacker guesses the coins from what is
released. Who guesses too well refutes the claimed ε, with a stated confidence.

No private record is read, no budget is spent and the run is not changed: the
noise is fresh. A claim that survives is not proved by that.`,
		Example: "  molehill audit dpswflow-r\n  molehill audit sketch-flow-3 --seeds 20000 --confidence 0.99",
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, value := range map[string]int{"seeds": options.Executions, "canaries": options.Canaries} {
				if cmd.Flags().Changed(name) && value < 1 {
					return fmt.Errorf("--%s %d: expected at least 1, or leave it out for what suits the mechanism", name, value)
				}
			}
			if !(options.Confidence > 0 && options.Confidence < 1) {
				return fmt.Errorf("--confidence %v: expected a probability between 0 and 1, such as 0.95", options.Confidence)
			}
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			game, statement, err := experiment.Game(r)
			if err != nil {
				return err
			}
			options.Delta = statement.Delta
			report, err := play(cmd.Context(), r.ID, game, options)
			if err != nil {
				return err
			}
			result := Audited{Run: r.ID, Audit: report}
			best := report.Best()
			var wrong error
			for _, c := range statement.Claims {
				v := Verdict{Claim: c, Refuted: best.Epsilon > float64(c.Epsilon)}
				if v.Refuted {
					v.By = best.Method
				}
				if v.Refuted && c.Sound {
					wrong = fmt.Errorf("the proved claim of %s, ε = %v, is refuted (ε ≥ %v): the mechanism does not do what its plan says, or this was the 1 time in %.0f that an audit errs; do not rely on the run, and repeat the audit",
						r.ID, c.Epsilon, reached(best), 1/(1-report.Confidence))
				}
				result.Claims = append(result.Claims, v)
			}
			if asJSON {
				err = cli.JSON(cmd.OutOrStdout(), result)
			} else {
				err = result.print(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return wrong
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.Executions, "seeds", 0, "how often the mechanism is executed, each time with fresh noise (default: what suits it)")
	flags.IntVar(&options.Canaries, "canaries", 0, "canaries in each execution (default: what suits it)")
	flags.Float64Var(&options.Confidence, "confidence", 0.95, "that all bounds hold together")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// play runs the game and shows its progress.
func play(ctx context.Context, id string, game audit.Game, options audit.Options) (audit.Report, error) {
	coins, err := noise.Secure()
	if err != nil {
		return audit.Report{}, err
	}
	options.Random = coins.Stream("canaries", 0)
	if options.Executions == 0 {
		options.Executions = game.Executions
	}
	bar := viz.NewProgress("audit of "+id, options.Executions)
	defer bar.Done()
	bar.Set(0, "")
	options.Tell = func(done, _ int) { bar.Set(done, "") }
	return audit.Run(ctx, game, options)
}

func (a Audited) print(out io.Writer) error {
	r := a.Audit
	best := r.Best()
	fmt.Fprintf(out, "%s under %s: %s with %s each\n\n", a.Run, r.Relation, cli.Count(r.Executions, "execution", "executions"), cli.Count(r.Canaries, "canary", "canaries"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, b := range r.Bounds {
		fmt.Fprintf(w, "  %s\tε ≥ %v\tof at most %.4g\t%s; assumes %s\n", b.Method, reached(b), b.Reach, b.Seen, b.Assumes)
	}
	fmt.Fprintln(w)
	for _, c := range a.Claims {
		kind := "not proved"
		if c.Sound {
			kind = "proved"
		}
		fmt.Fprintf(w, "  %s\tε = %v\t%s\t%s: %s\n", c.Label, c.Epsilon, c.Accountant, kind, c.words(r, best))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n  tested: %s\n", r.Tested)
	for _, what := range r.NotTested {
		fmt.Fprintf(out, "  not tested: %s\n", what)
	}
	what := fmt.Sprintf("with confidence %v every ε below %v at δ = %g is false of this mechanism", r.Confidence, reached(best), r.Delta)
	if best.Epsilon == 0 {
		what = "this attack learned nothing that it can prove"
	}
	_, err := fmt.Fprintf(out, "\nIn short: %s. An audit can refute, not prove: a claim that survives may still be wrong.\n", what)
	return err
}

// reached is the ε of a bound for people: what an audit has not reached it does not refute.
func reached(b audit.Bound) float64 { return privacy.Epsilon(b.Epsilon).Down() }

// words say what an audit means for a claim.
func (v Verdict) words(r audit.Report, best audit.Bound) string {
	if v.Refuted {
		return fmt.Sprintf("REFUTED with confidence %v, ε ≥ %v (%s, assumes %s)", r.Confidence, reached(best), best.Method, best.Assumes)
	}
	for _, b := range r.Bounds {
		if b.Reach > float64(v.Epsilon) {
			return "survives"
		}
	}
	return "survives, but an attack of this size could not have refuted it; raise --seeds or --canaries"
}

package promise

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger"
)

func budgetStatus(at *place) *cobra.Command {
	return &cobra.Command{
		Use:   "status [DATASET...]",
		Short: "what is spent and what is left (default: of all data sets in the ledger)",
		RunE: func(cmd *cobra.Command, names []string) error {
			return at.use(func(l *ledger.Ledger) error {
				all, err := l.Status(cmd.Context(), names...)
				if err != nil {
					return err
				}
				if at.asJSON {
					return cli.JSON(cmd.OutOrStdout(), all)
				}
				if len(all) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "nothing was reserved in %v yet; declare a budget with `molehill budget create DATASET`\n", l)
				}
				for _, s := range all {
					if err := printStatus(cmd.OutOrStdout(), s); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func printStatus(out io.Writer, s ledger.Status) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, arguments ...any) {
		fmt.Fprintf(w, "  %s\t%s\n", name, fmt.Sprintf(format, arguments...))
	}
	fmt.Fprintln(w, s.Dataset)
	if s.Budget == nil {
		line("budget", "none; every run is recorded, none refused")
		if s.Runs == 0 {
			line("known", "nothing: no run of a data set of this name has paid here (`molehill doctor` says which ledger this is)")
		} else {
			under := ""
			if s.Relation != 0 { // which all of them keep to
				under = fmt.Sprintf(" under %v", s.Relation)
			}
			line("spent", "ε = %v at δ = %g%s, all runs together %s", s.Spent, s.Delta, under, s.Fault)
		}
	} else {
		line("budget", "%v", *s.Budget)
		if s.Note != "" {
			line("note", "%s", s.Note)
		}
		line("spent", "ε = %v", s.Spent)
		if s.Share != nil {
			line("of the filter", "%.3g %% of the divergence that it has room for", 100**s.Share)
		}
		line("remaining", "ε = %v for one more release", s.Remaining.Down())
	}
	line("runs", "%d", s.Runs)
	switch {
	case s.Share != nil:
		line("proved for", "all runs, whatever has led to their noise, steps and samples")
	case s.Runs > 1:
		line("proved for", "runs whose noise, steps and samples no earlier result has led to; whatever led to them, of Gaussian noise on all records")
	}
	if s.Runs > 1 {
		line("protects", "records that each of the runs protects; `molehill show RUN` says which a run takes for public")
	}
	if s.Earlier > 0 {
		line("not counted", "%s: the budget counts from its creation", cli.Count(s.Earlier, "earlier run", "earlier runs"))
	}
	if len(s.Open) > 0 {
		line("not committed", "%d, computing or crashed: %s", len(s.Open), shorten(s.Open))
	}
	if s.Budget != nil && s.Runs > 0 {
		more := "none"
		if *s.LikeLast > 0 {
			more = fmt.Sprintf("at least %d", *s.LikeLast)
		}
		line("more runs like the last", "%s", more)
	}
	return w.Flush()
}

// shorten lists a few names.
func shorten(names []string) string {
	const most = 3
	text := ""
	for i, name := range names {
		switch {
		case i == most:
			return fmt.Sprintf("%s and %d more (--json lists all)", text, len(names)-most)
		case i > 0:
			text += ", "
		}
		text += name
	}
	return text
}

func budgetHistory(at *place) *cobra.Command {
	return &cobra.Command{
		Use:   "history DATASET",
		Short: "the entries of a data set, and ε after each",
		Long: `The entries of a data set and, from the creation of its budget on, ε after each.
What runs come to without a budget is only composed when asked for: molehill budget
status says it of all together.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.use(func(l *ledger.Ledger) error {
				h, err := l.History(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if at.asJSON {
					return cli.JSON(cmd.OutOrStdout(), h)
				}
				if len(h.Entries) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "nothing was reserved for %s in %v\n", args[0], l)
					return nil
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				known := slices.ContainsFunc(h.Entries, func(e ledger.Entry) bool { return e.Epsilon != nil })
				line := func(entry, when, kind, after, what string) {
					if known { // else the column would be empty
						kind += "\t" + after
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", entry, when, kind, what)
				}
				line("entry", "time", "kind", "ε after", "what")
				for _, e := range h.Entries {
					spent := ""
					if e.Epsilon != nil {
						spent = e.Epsilon.String()
					}
					line(fmt.Sprint(e.Seq), e.Time.Local().Format(time.DateTime), string(e.Kind), spent, about(e))
				}
				return w.Flush()
			})
		},
	}
}

// about says what an entry records.
func about(e ledger.Entry) string {
	switch e.Kind {
	case ledger.Declared:
		text := e.Budget.String()
		if e.Budget.FromNow {
			text += ", from now on"
		}
		if e.Note != "" {
			text += " (" + e.Note + ")"
		}
		return text
	case ledger.Reserved:
		text := e.ID
		if event, err := accountant.Decode(e.Event); err == nil {
			text = fmt.Sprintf("%s  %.100v", e.ID, event)
		}
		if e.Research {
			text += ", research: protects nothing"
		}
		return text
	}
	return e.ID
}

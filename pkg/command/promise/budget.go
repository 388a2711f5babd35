package promise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset"
	"molehill/pkg/dataset/schema"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger"
)

// usualDelta is a δ beyond which most data sets have more than 1/δ records.
const usualDelta = 1e-3

// place is the ledger that the flags of a budget command name.
type place struct {
	file, dsn string
	asJSON    bool
}

func budget() *cobra.Command {
	var at place
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "the ledger: declare a data set's budget, see what is spent of it, verify it",
		Long: `The ledger keeps what each data set's budget is and which runs spent how much of
it. A run on private rows reserves before it computes, and is refused if all
runs together would exceed the budget; what is reserved stays spent, also if the
run crashes. The ledger is a file (MOLEHILL_LEDGER, or molehill/ledger.db in the
user's data folder), or a PostgreSQL database that a team shares: for runs, set
MOLEHILL_LEDGER to its postgres:// address.`,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&at.file, "ledger", "", "the ledger's file (default: MOLEHILL_LEDGER, or in the user's data folder)")
	flags.StringVar(&at.dsn, "dsn", "", "the ledger's PostgreSQL database, postgres://user@host/database")
	flags.BoolVar(&at.asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("ledger", "dsn")
	return cli.Group(cmd, budgetCreate(&at), budgetEnd(&at), budgetStatus(&at), budgetHistory(&at), budgetVerify(&at))
}

// use opens the ledger for a command.
func (p *place) use(do func(*ledger.Ledger) error) error {
	if p.dsn != "" && !strings.Contains(p.dsn, "://") {
		return fmt.Errorf("--dsn %s: expected an address such as postgres://user@host/database", p.dsn)
	}
	where := p.file + p.dsn // at most one is given
	if where == "" {
		var err error
		if where, err = ledger.Default(); err != nil {
			return err
		}
	}
	l, err := ledger.Open(where)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

func budgetCreate(at *place) *cobra.Command {
	var (
		b                  ledger.Budget
		epsilon, relation  string
		unlisted, adaptive bool
	)
	cmd := &cobra.Command{
		Use:   "create DATASET",
		Short: "declare the budget of a data set, once",
		Long: `Declare the budget of a data set, once. What earlier runs have reserved counts; if
it is more than the budget already, nothing is created, unless --from-now leaves
it out of the count, which the ledger then says for ever. Runs that are not over
count all the same, for they may still release.

ε is proved for runs whose noise, steps and samples were chosen beforehand. With
--adaptive it is proved whatever has led to them, such as what earlier runs on the
same records came to: the budget is a Rényi filter then, whose order follows from ε
and δ. That costs some per cent of noise, and refuses what Rényi divergences have no
theorem for.`,
		Example: "  molehill budget create mnist --epsilon 10 --delta 1e-5\n  molehill budget create mnist --epsilon 10 --delta 1e-5 --adaptive",
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Dataset = args[0]
			if err := checkDataset(b.Dataset, unlisted); err != nil {
				return err
			}
			e, err := privacy.ParseEpsilon(epsilon)
			if err != nil {
				return fmt.Errorf("--epsilon %s: expected the most ε that all runs together may spend, a finite number above 0", epsilon)
			}
			b.Epsilon = float64(e)
			if adaptive && b.Delta > 0 && b.Delta < 1 && b.Epsilon > 0 && !math.IsInf(b.Epsilon, 1) { // else Create says what is wrong
				if b.Order, err = accountant.FilterOrder(b.Epsilon, b.Delta); err != nil {
					return err
				}
			}
			if err := b.Relation.UnmarshalText([]byte(relation)); err != nil {
				return err
			}
			return at.use(func(l *ledger.Ledger) error {
				entry, err := l.Create(cmd.Context(), b)
				if err != nil {
					return err
				}
				if b.Delta > usualDelta {
					fmt.Fprintf(cmd.ErrOrStderr(), "δ = %g is a budget for methods that publish one record in %.0f, now and then: take less than 1 divided by the number of records, unless these are few.\n", b.Delta, 1/b.Delta)
				}
				if at.asJSON {
					return cli.JSON(cmd.OutOrStdout(), entry)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s has a budget of %v, in %v\n", b.Dataset, b, l)
				if *entry.Epsilon > 0 {
					which := "earlier runs have"
					if b.FromNow {
						which = "runs that are not over have"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s spent ε = %v of it; `molehill budget history %s` lists them\n", which, entry.Epsilon, b.Dataset)
				}
				return tellUnseen(cmd, l, b.Dataset)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&epsilon, "epsilon", "", "the most ε that all runs together may spend")
	flags.Float64Var(&b.Delta, "delta", 0, "the δ of that promise, well below one over the number of records")
	flags.StringVar(&relation, "relation", privacy.ReplaceOne.String(), "who is protected: "+accountant.RelationNames+"; runs must be accounted for under the same, or, where the budget is under k-end, under replace-one")
	flags.BoolVar(&b.FromNow, "from-now", false, "leave out what was released before by runs that are over")
	flags.BoolVar(&adaptive, "adaptive", false, "prove it also for runs whose noise, steps or samples earlier results have led to")
	flags.StringVar(&b.Note, "note", "", "who decided this and why, for the ledger")
	flags.BoolVar(&unlisted, "unlisted", false, "the data set is one that another program registers")
	for _, name := range []string{"epsilon", "delta"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic("command: " + err.Error()) // the flag is defined above
		}
	}
	return cmd
}

// tellUnseen says that no data of one's own of a name have paid yet: whoever has misspelt
// it would believe in a budget that no run meets.
func tellUnseen(cmd *cobra.Command, l *ledger.Ledger, name string) error {
	own, isOwn := strings.CutPrefix(name, synth.Own)
	if !isOwn {
		return nil
	}
	h, err := l.History(cmd.Context(), name)
	if err != nil || slices.ContainsFunc(h.Entries, func(e ledger.Entry) bool { return e.Kind == ledger.Reserved }) {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "no run on data of that name has paid here yet: only those whose schema has \"name\": %q will\n", own)
	return err
}

// budgetEnd commits what a run that did not get so far has left open.
func budgetEnd(at *place) *cobra.Command {
	return &cobra.Command{
		Use:   "end DATASET ID...",
		Short: "say that runs which did not finish are over",
		Long: `Say that runs which have reserved (by the IDs of "not committed" in budget status)
and did not finish are over: crashed and not to be resumed, or deleted. What they
have spent stays spent. A budget that is created --from-now leaves them out; one
of them that is resumed all the same pays again. One that is being computed is
refused, if it lies among the runs of this machine (MOLEHILL_RUNS): whether one
elsewhere is over, you have to know.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.use(func(l *ledger.Ledger) error {
				type over struct {
					Dataset string `json:"dataset"`
					Run     string `json:"run"`
					Entry   int64  `json:"entry"`
				}
				entries := []over{}
				for _, id := range args[1:] {
					var e ledger.Entry
					err := whileIdle(id, func() (err error) {
						e, err = l.End(cmd.Context(), args[0], id)
						return err
					})
					if err != nil { // those before it have ended, and are told
						if at.asJSON && len(entries) > 0 {
							err = errors.Join(cli.JSON(cmd.OutOrStdout(), entries), err)
						}
						return err
					}
					entries = append(entries, over{args[0], id, e.Seq})
					if !at.asJSON {
						fmt.Fprintf(cmd.OutOrStdout(), "%s is over, entry %d\n", id, e.Seq)
					}
				}
				if at.asJSON {
					return cli.JSON(cmd.OutOrStdout(), entries)
				}
				return nil
			})
		},
	}
}

// whileIdle refuses a reservation whose run, the first part of the ID, is computing, and
// keeps one that is not from going on until do has returned.
func whileIdle(reservation string, do func() error) error {
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(reservation, "/")
	r, err := store.Open(id)
	if errors.Is(err, run.ErrUnknown) {
		return do() // it is elsewhere, or gone
	}
	if err != nil {
		return fmt.Errorf("whether %s is being computed cannot be told: %w", id, err)
	}
	if err = r.WhileIdle(do); errors.Is(err, run.ErrBusy) {
		err = fmt.Errorf("%s is being computed: it is not over; `molehill cancel %[1]s` interrupts it", r.ID)
	}
	return err
}

// checkDataset refuses a name that no run would ever look up: a budget under a
// slip of the finger protects nothing.
func checkDataset(name string, unlisted bool) error {
	source, err := dataset.Registry.Lookup(name)
	_, unknown := errors.AsType[*plugin.UnknownError](err)
	own, isOwn := strings.CutPrefix(name, synth.Own) // which a run makes known
	switch {
	case unknown && unlisted:
		return nil
	case unknown && isOwn:
		if err := schema.CheckName(own); err != nil {
			return fmt.Errorf("%s is no data set of your own, whose budget would be met by a run: %w", name, err)
		}
		return nil
	case unknown:
		return fmt.Errorf("%w; if a program or notebook of yours registers it, add --unlisted", err)
	case err != nil:
		return err
	case source.Public():
		return fmt.Errorf("%s is public by construction: its runs spend nothing and need no budget", name)
	}
	return nil
}

func budgetVerify(at *place) *cobra.Command {
	var known string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "read the whole ledger and look for entries that were changed, removed, inserted or moved",
		Long: `Read the whole ledger and look for entries that were changed, removed, inserted,
moved or cut off, and for budgets exceeded. It prints the head, which fixes all
entries: keep it elsewhere, and give it to the next verify as --head. Only so is
it found if somebody rewrote the ledger as a whole, or put back an older copy.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var head *ledger.Head
			if cmd.Flags().Changed("head") { // an unset variable's, say, would check nothing
				h, err := ledger.ParseHead(known)
				if err != nil {
					return err
				}
				head = &h
			}
			return at.use(func(l *ledger.Ledger) error {
				report, err := l.Verify(cmd.Context(), head)
				if err != nil {
					return err
				}
				if at.asJSON {
					err = cli.JSON(cmd.OutOrStdout(), report)
				} else {
					for _, p := range report.Problems {
						fmt.Fprintf(cmd.OutOrStdout(), "entry %d: %s\n", p.Seq, p.What)
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s, head %v\n", cli.Count(int(report.Entries), "entry", "entries"), report.Head)
				}
				if n := len(report.Problems); n > 0 {
					return errors.Join(err, fmt.Errorf("%v was tampered with or damaged, %s: restore a backup", l, cli.Count(n, "problem", "problems")))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&known, "head", "", "a head that an earlier verify printed")
	return cmd
}

package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
)

// tellBefore says, before a run pays, what was paid before: under the name that the run is
// booked under, and for the same data, under whatever name. Who only wants more rows, or has
// another copy of the data, may not mean to pay again.
func tellBefore(ctx context.Context, b experiment.Before, name string) error {
	if err := tellSpent(ctx, b.To, name); err != nil {
		return err
	}
	wanted := settingsOf(b.Spec)
	if protects(wanted) {
		return tellEarlier(b.To, b.Store, name, wanted)
	}
	_, err := fmt.Fprintf(b.To, "This run protects nobody, and is booked there as ε = ∞: of budgets only one that counts from then on (`molehill budget create %s --from-now …`) leaves it out.\n", name)
	return err
}

// tellSpent says what the ledger has of a name.
func tellSpent(ctx context.Context, out io.Writer, name string) error {
	where, err := ledger.Default()
	if err != nil {
		return err
	}
	l, err := ledger.Open(where)
	if err != nil {
		return err
	}
	status, err := l.Status(ctx, name)
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	fmt.Fprintf(out, "Booked under %s, as the schema calls the data, %s.\n", name, soFar(status[0]))
	return nil
}

// soFar is what has been spent of a budget.
func soFar(s ledger.Status) string {
	spent := "for which nothing has been paid before"
	if s.Runs > 0 {
		runs := "a run has"
		if s.Runs > 1 {
			runs = fmt.Sprintf("%d runs have", s.Runs)
		}
		spent = fmt.Sprintf("for which %s paid before: (ε, δ) = (%v, %g) together", runs, s.Spent, s.Delta)
	}
	if s.Budget == nil {
		return fmt.Sprintf("%s; no budget limits what may be (`molehill budget create %s --epsilon …`)", spent, s.Dataset)
	}
	return fmt.Sprintf("%s, of a budget of %v", spent, s.Budget.Epsilon)
}

// tellEarlier says which runs of the store have paid for the same data with other settings.
func tellEarlier(out io.Writer, store run.Store, name string, wanted map[string]any) error {
	entries, err := store.List()
	if err != nil {
		return err
	}
	const most = 5 // lines, of which each says nearly the same
	told := 0
	for _, e := range entries {
		if e.Run == nil {
			continue
		}
		settings := settingsOf(e.Run.Spec)
		if !sameData(settings, wanted) || !protects(settings) || !paid(e.Run) {
			continue
		}
		if told++; told > most {
			continue
		}
		at := "with an ε that cannot be read any more"
		if statement, err := e.Run.Statement(); err == nil {
			at = fmt.Sprintf("with (ε, δ) = (%v, %g)", statement.Epsilon(), statement.Delta)
		}
		fmt.Fprintf(out, "%s was made of the same data, %s, and %s. This is another release of them, and pays again; ", e.Run.ID, at, difference(settings, wanted))
		if other := bookedAs(e.Run); other != "" && other != name {
			fmt.Fprintf(out, "that one is booked under %s, whose budget does not see this one: give the schemas of the same people one name.\n", other)
		} else {
			fmt.Fprintf(out, "`molehill budget status %s` says what all come to.\n", name)
		}
	}
	if told > most {
		fmt.Fprintf(out, "%d more runs were made of the same data; `molehill runs` lists them.\n", told-most)
	}
	return nil
}

func sameData(settings, wanted map[string]any) bool {
	theirs, _ := settings["inputs"].(string)
	ours, _ := wanted["inputs"].(string)
	return SameData(theirs, ours)
}

// bookedAs is the name that a run's data have in the ledger, "" where it is not known.
func bookedAs(r *run.Run) string {
	stages, _ := r.Provenance()
	for _, stage := range stages {
		if strings.HasPrefix(stage.Data, Own) {
			return stage.Data
		}
	}
	return ""
}

// paid reports whether the ledger has booked a run: it has a receipt, or, where it is
// older than receipts, a result. One that was refused has a statement all the same.
func paid(r *run.Run) bool {
	receipt, err := r.Receipt()
	if err == nil && receipt == "" {
		_, err = r.Result()
	}
	return err == nil
}

// difference says in what a run differs from the one that is wanted. Settings of
// another version may mean something else.
func difference(settings, wanted map[string]any) string {
	if settings["version"] != wanted["version"] {
		return "comes from another version of this program"
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if settings[name] == wanted[name] {
			continue
		}
		if name == "inputs" { // of which the data are the same
			name = "schema"
		}
		differ = append(differ, name)
	}
	return "differs in: " + strings.Join(differ, ", ")
}

// protects reports whether a run of such settings promises anything: one without noise, or
// with noise from its seed, does not.
func protects(settings map[string]any) bool {
	return settings["research"] == false && settings["epsilon"] != "inf"
}

// settingsOf are all that determines a run of ours: texts, numbers and truth values.
func settingsOf(spec run.Spec) map[string]any {
	settings := map[string]any{}
	_ = json.Unmarshal(spec.Config, &settings) // of another experiment it may be anything
	settings["experiment"], settings["version"], settings["seed"], settings["research"] = spec.Experiment, spec.Version, spec.Seed, spec.Research
	return settings
}

package own

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
)

// tellEarlier says which runs have paid for the same data and schema with other
// settings, before another pays: who only wants more rows may not mean to.
func (s *synthesis) tellEarlier(out io.Writer, store run.Store, spec run.Spec) error {
	name, err := s.nameOfData()
	if err != nil {
		return err
	}
	wanted := settingsOf(spec)
	if !pays(wanted) {
		return nil
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Run == nil {
			continue
		}
		settings := settingsOf(e.Run.Spec)
		if settings["inputs"] != wanted["inputs"] || !pays(settings) || !paid(e.Run) {
			continue
		}
		statement, err := synth.Statement(e.Run)
		if err != nil {
			continue
		}
		fmt.Fprintf(out, "%s was made of the same data and schema, with (ε, δ) = (%v, %g), and %s. This is another release of them, and pays again; `molehill budget status %s%s` says what all come to.\n",
			e.Run.ID, statement.Epsilon(), statement.Delta, difference(settings, wanted), synth.Own, name)
	}
	return nil
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
		if settings[name] != wanted[name] {
			differ = append(differ, name)
		}
	}
	return "differs in: " + strings.Join(differ, ", ")
}

// pays reports whether a run of such settings is booked: one without noise, or with
// noise from its seed, promises nothing that could be used up.
func pays(settings map[string]any) bool {
	return settings["research"] == false && settings["epsilon"] != "inf"
}

// settingsOf are all that determines a run of ours: texts, numbers and truth values.
func settingsOf(spec run.Spec) map[string]any {
	settings := map[string]any{}
	_ = json.Unmarshal(spec.Config, &settings) // of another experiment it may be anything
	settings["experiment"], settings["version"], settings["seed"], settings["research"] = spec.Experiment, spec.Version, spec.Seed, spec.Research
	return settings
}

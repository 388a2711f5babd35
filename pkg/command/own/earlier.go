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
		statement, err := synth.Statement(e.Run) // written when a run pays
		if err != nil || settings["inputs"] != wanted["inputs"] || !pays(settings) {
			continue
		}
		var differ []string
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			if settings[name] != wanted[name] {
				differ = append(differ, name)
			}
		}
		fmt.Fprintf(out, "%s was made of the same data and schema, with (ε, δ) = (%v, %g), and differs in: %s. This is another release of them, and pays again; `molehill budget status %s%s` says what all come to.\n",
			e.Run.ID, statement.Epsilon(), statement.Delta, strings.Join(differ, ", "), synth.Own, name)
	}
	return nil
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

package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/run"
	"molehill/privacy"
)

// settingsOf returns everything that determines each of some runs, as people write it. A
// setting that is left out while it has no value has it here where another run of the same
// experiment and version has one.
func settingsOf(runs ...*run.Run) []map[string]string {
	all := make([]map[string]string, len(runs))
	type kind struct{ experiment, version string }
	empty := map[kind]map[string]string{}
	for i, r := range runs {
		all[i] = map[string]string{}
		of := kind{r.Spec.Experiment, r.Spec.Version}
		if empty[of] == nil {
			empty[of] = map[string]string{}
		}
		var config map[string]json.RawMessage
		if json.Unmarshal(r.Spec.Config, &config) == nil {
			for name, value := range config {
				all[i][name], empty[of][name] = written(value)
			}
		}
		all[i]["experiment"], all[i]["seed"] = r.Spec.Experiment, strconv.FormatUint(r.Spec.Seed, 10)
		all[i]["version"] = r.Spec.Version
		if r.Spec.Research {
			all[i]["noise"] = "from the seed"
		} else {
			all[i]["noise"] = "secret"
		}
	}
	for i, r := range runs {
		for name, value := range empty[kind{r.Spec.Experiment, r.Spec.Version}] {
			if _, ok := all[i][name]; !ok {
				all[i][name] = value
			}
		}
		if value, err := strconv.ParseFloat(all[i]["epsilon"], 64); err == nil && math.IsInf(value, 1) {
			all[i]["epsilon"] = privacy.Epsilon(value).String() // others as they were asked for: rounded, two would be one
		}
	}
	return all
}

// written is a setting as people write it, and what it is without a value.
func written(value json.RawMessage) (text, empty string) {
	if json.Unmarshal(value, &text) == nil {
		return text, ""
	}
	text = string(value)
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "true" || text == "false":
		return text, "false"
	case err != nil:
		return text, ""
	}
	// 0.5 and 5e-1 are the same setting; large whole numbers that differ are not.
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(whole, 10), "0"
	}
	return strconv.FormatFloat(number, 'g', -1, 64), "0"
}

// proved is the ε that a run's statement proves; false before it has one.
func proved(r *run.Run) (privacy.Epsilon, bool) {
	s, err := r.Statement()
	return s.Epsilon(), err == nil
}

// provedText is proved for people, "" before there is a statement.
func provedText(r *run.Run) string {
	epsilon, ok := proved(r)
	if !ok {
		return ""
	}
	return epsilon.String() + protecting(r)
}

// protecting says behind an ε that it protects nobody: noise of a research run can be made
// again. It is "" of a run whose noise is secret.
func protecting(runs ...*run.Run) string {
	if slices.ContainsFunc(runs, func(r *run.Run) bool { return r.Spec.Research }) {
		return ", research"
	}
	return ""
}

// first are the settings that people ask for first.
var first = []string{"experiment", "dataset", "epsilon"}

// varied returns the names of the settings in which runs differ. Settings that
// only some runs have count only if those differ: each experiment has its own.
func varied(runs []*run.Run) []string {
	values, count := map[string]map[string]bool{}, map[string]int{}
	versions, several := map[string]string{}, false // of an experiment, each has its own
	for _, settings := range settingsOf(runs...) {
		of := settings["experiment"]
		if before, ok := versions[of]; ok && before != settings["version"] {
			several = true
		}
		versions[of] = settings["version"]
		for name, value := range settings {
			if values[name] == nil {
				values[name] = map[string]bool{}
			}
			values[name][value] = true
			count[name]++
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "version" && !several {
			continue
		}
		if len(values[name]) > 1 || slices.Contains(first, name) && count[name] < len(runs) {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		if name == "seed" || name == "noise" || name == "version" {
			return len(first) + 1
		}
		return len(first)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// labels tells runs apart for people: by their names, by the first few settings
// in which they differ and that tell all of them apart, or if there is nothing
// better by their IDs.
func labels(runs []*run.Run, names map[string][]string) []string {
	differ := varied(runs)
	settings := settingsOf(runs...)
	const most = 4 // settings in a label
	var out []string
	for n := 1; n <= min(most, len(differ)); n++ {
		out = nil
		for i := range runs {
			alone := group{settings[i], runs[i : i+1]}
			out = append(out, alone.called(differ[:n], alone.spoken))
		}
		if !slices.Contains(out, "") && distinct(out) {
			break
		}
	}
	if out == nil || slices.Contains(out, "") || !distinct(out) {
		out = nil
		for _, r := range runs {
			out = append(out, run.Short(r.ID))
		}
	}
	for i, r := range runs {
		if given := names[r.ID]; len(given) > 0 && !slices.Contains(out, given[0]) {
			out[i] = given[0]
		}
	}
	return out
}

// distinct reports whether no two of the texts are equal.
func distinct(texts []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(texts)))) == len(texts)
}

// spoken writes a setting for a legend.
func spoken(name, value string) string {
	switch name {
	case "experiment", "dataset":
		return value
	case "epsilon":
		return "ε = " + value
	case "noise":
		return "noise " + value
	}
	return fmt.Sprintf("%s %s", strings.ReplaceAll(name, "_", " "), value)
}

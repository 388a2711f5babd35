package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/run"
	"molehill/privacy"
)

// settingsOf returns everything that determines a run, as people write it.
func settingsOf(r *run.Run) map[string]string {
	all := map[string]string{}
	var config map[string]json.RawMessage
	if json.Unmarshal(r.Spec.Config, &config) == nil {
		for name, value := range config {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			if number, err := strconv.ParseFloat(string(value), 64); err == nil {
				// 0.5 and 5e-1 are the same setting; large whole numbers that differ are not.
				if whole, err := strconv.ParseInt(string(value), 10, 64); err == nil {
					text = strconv.FormatInt(whole, 10)
				} else {
					text = strconv.FormatFloat(number, 'g', -1, 64)
				}
			}
			all[name] = text
		}
	}
	if epsilon, ok := all["epsilon"]; ok {
		if value, err := strconv.ParseFloat(epsilon, 64); err == nil {
			all["epsilon"] = privacy.Epsilon(value).String()
		}
	}
	all["experiment"], all["seed"] = r.Spec.Experiment, strconv.FormatUint(r.Spec.Seed, 10)
	all["version"] = r.Spec.Version
	if r.Spec.Research {
		all["noise"] = "from the seed"
	} else {
		all["noise"] = "secret"
	}
	return all
}

// proved is the ε that a run's statement proves; false before it has one.
func proved(r *run.Run) (privacy.Epsilon, bool) {
	text, err := r.Privacy()
	if err != nil {
		return 0, false
	}
	var s privacy.Statement
	if json.Unmarshal(text, &s) != nil {
		return 0, false
	}
	return s.Epsilon(), true
}

// provedText is proved for people, "" before there is a statement.
func provedText(r *run.Run) string {
	epsilon, ok := proved(r)
	if !ok {
		return ""
	}
	return epsilon.String()
}

// first are the settings that people ask for first.
var first = []string{"experiment", "dataset", "epsilon"}

// varied returns the names of the settings in which runs differ. Settings that
// only some runs have count only if those differ: each experiment has its own.
func varied(runs []*run.Run) []string {
	values, count := map[string]map[string]bool{}, map[string]int{}
	versions, several := map[string]string{}, false // of an experiment, each has its own
	for _, r := range runs {
		settings := settingsOf(r)
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
	settings := make([]map[string]string, len(runs))
	for i, r := range runs {
		settings[i] = settingsOf(r)
	}
	const most = 4 // settings in a label
	var out []string
	for n := 1; n <= min(most, len(differ)); n++ {
		out = nil
		for i := range runs {
			var parts []string
			alone := group{settings[i], runs[i : i+1]}
			for _, name := range differ[:n] {
				if _, ok := settings[i][name]; ok {
					parts = append(parts, alone.spoken(name))
				}
			}
			out = append(out, strings.Join(parts, ", "))
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
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
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

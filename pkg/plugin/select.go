package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Depth is how much of a catalogue was asked for.
type Depth int

// The depths.
const (
	All Depth = iota // everything
	One              // a kind
	Own              // the plug-ins of a name
)

// Select returns the part of a catalogue that words name: a kind ("data sets",
// "dataset"), the plug-ins of a name, or everything for no words.
func Select(kinds []Kind, words ...string) (chosen []Kind, depth Depth, err error) {
	if len(words) == 0 {
		return kinds, All, nil
	}
	asked := strings.Join(words, " ")
	var names []string
	for _, k := range kinds {
		if plain(k.Kind) == plain(asked) {
			return []Kind{k}, One, nil
		}
		names = append(names, strings.ReplaceAll(k.Kind, " ", "-"))
		of := Kind{Kind: k.Kind}
		for _, p := range k.Plugins {
			if names = append(names, p.Name); p.Name == asked {
				of.Plugins = append(of.Plugins, p)
			}
		}
		if of.Plugins != nil {
			chosen = append(chosen, of)
		}
	}
	if chosen == nil {
		return nil, All, &UnknownError{Kind: "kind or plug-in", Name: asked, Nearest: Nearest(asked, names), List: "molehill list"}
	}
	return chosen, Own, nil
}

// plain makes "data sets", "data-set" and "dataset" one.
func plain(kind string) string {
	return strings.TrimSuffix(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(kind)), "s")
}

// use says how what is listed is used, by kind.
var use = map[string]string{
	"experiments": "molehill run %s",
	"sweeps":      "molehill sweep %s",
	"estimators":  "molehill run %s",
	"data sets":   "molehill run EXPERIMENT --set dataset=%s",
	"models":      "molehill run sketch-flow --set weights=%s",
	"metrics":     "molehill measure RUN %s",
	"accountants": "molehill epsilon --noise-multiplier 1 --delta 1e-5 --accountant %s",
}

// Use is the command that uses an entry of the kind, "" if there is none.
func (k Kind) Use(e Entry) string {
	how, ok := use[k.Kind]
	switch {
	case !ok:
		return ""
	case e.Origin.Here() && k.Kind == "experiments":
		return "here.Run, in the cell that declares it"
	}
	return fmt.Sprintf(how, e.Name)
}

// Settings are the default settings of an entry in the order of their
// declaration: a value for each of presets, "" where a preset lacks it. Those that are not
// read are left out.
func (e Entry) Settings() (presets []string, rows []Setting, err error) {
	if len(e.Defaults) == 0 {
		return nil, nil, nil
	}
	for preset := range e.Defaults {
		presets = append(presets, preset)
	}
	slices.Sort(presets)
	slices.Reverse(presets) // quick before paper
	for i, preset := range presets {
		d := json.NewDecoder(bytes.NewReader(e.Defaults[preset]))
		if _, err := d.Token(); err != nil {
			return nil, nil, err
		}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return nil, nil, err
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				return nil, nil, err
			}
			name := fmt.Sprint(token)
			if slices.Contains(e.Unread, name) {
				continue
			}
			at := slices.IndexFunc(rows, func(s Setting) bool { return s.Name == name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, Setting{name, make([]string, len(presets)), e.Meanings[name]})
			}
			rows[at].Values[i] = show(value)
		}
	}
	return presets, rows, nil
}

// SuitedSettings are those of an entry's settings, as Settings has them, that are others
// for a data set; their values are "" in a preset that has its own for it too.
func SuitedSettings(presets []string, settings []Setting, to Suited) (rows []Setting) {
	for _, s := range settings {
		row, others := Setting{s.Name, make([]string, len(presets)), s.Meaning}, false
		for i, preset := range presets {
			if value, ok := to.Defaults[preset][s.Name]; ok {
				row.Values[i], others = show(value), true
			}
		}
		if others {
			rows = append(rows, row)
		}
	}
	return rows
}

// Setting is a setting's value in each preset.
type Setting struct {
	Name    string
	Values  []string
	Meaning string // "" where nobody says
}

// show leaves quotation marks away where something is between them.
func show(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil && text != "" {
		return text
	}
	return string(value)
}

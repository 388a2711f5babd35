package lab

import (
	"fmt"
	"slices"
	"strings"

	"molehill/pkg/plugin"
	"molehill/viz"
)

// Catalogue is a table of what is registered: in the molehill program, as
// `molehill list` has it, and in this notebook. A word names a kind ("metrics"),
// or a plug-in, whose settings are then shown ("sketch-flow").
func Catalogue(words ...string) viz.Table {
	var kinds []plugin.Kind
	if err := ask(&kinds, "list", "--json"); err != nil {
		fail(err)
	}
	return must(catalogue(withHere(kinds, plugin.Catalogue()), words))
}

// withHere adds what only this process has to what the program has.
func withHere(kinds, here []plugin.Kind) []plugin.Kind {
	for _, k := range here {
		at := 0
		for at < len(kinds) && kinds[at].Kind != k.Kind {
			at++
		}
		if at == len(kinds) {
			kinds = append(kinds, plugin.Kind{Kind: k.Kind})
		}
		for _, p := range k.Plugins {
			both := slices.ContainsFunc(kinds[at].Plugins, func(q plugin.Entry) bool { return q.Name == p.Name })
			if p.Origin.Here() || !p.Origin.Ships() && !both {
				kinds[at].Plugins = append(kinds[at].Plugins, p)
			}
		}
		kinds[at].Faults = append(kinds[at].Faults, k.Faults...)
	}
	return kinds
}

func catalogue(kinds []plugin.Kind, words []string) (viz.Table, error) {
	kinds, depth, err := plugin.Select(kinds, words...)
	if err != nil {
		return viz.Table{}, err
	}
	if depth == plugin.Own {
		return page(kinds)
	}
	if depth == plugin.One {
		return ofKind(kinds[0]), nil
	}
	t := viz.Table{Title: "What is registered", Header: []string{"kind", "name", "what it is"}}
	for _, k := range kinds {
		kind := k.Kind // on the first of its rows alone
		for _, p := range k.Plugins {
			t.Add(kind, p.Name, about(p))
			kind = ""
		}
		for _, fault := range k.Faults {
			t.Add(kind, "left out", fault)
			kind = ""
		}
	}
	return t, nil
}

func ofKind(k plugin.Kind) viz.Table {
	t := viz.Table{Title: "Registered " + k.Kind, Header: []string{"name", "what it is", "version", "source"}}
	for _, p := range k.Plugins {
		t.Add(p.Name, about(p), p.Version, p.Source)
	}
	for _, fault := range k.Faults {
		t.Add("left out", fault)
	}
	return t
}

// about says what a plug-in is, and whose it is where that is not Molehill's.
func about(p plugin.Entry) string {
	what := p.Summary
	if !p.Origin.Ships() {
		what += fmt.Sprintf(" [%v]", p.Origin)
	}
	if p.Fault != "" {
		what += "; FAULTY: " + p.Fault
	}
	return what
}

// page is all that is known of the plug-ins of a name.
func page(kinds []plugin.Kind) (viz.Table, error) {
	first := kinds[0].Plugins[0]
	presets, settings, err := first.Settings()
	if err != nil {
		return viz.Table{}, err
	}
	t := viz.Table{Title: first.Name + ": " + first.Summary}
	if len(presets) > 0 {
		t.Header = append([]string{"settings"}, presets...)
	} else {
		t.Header = []string{"", ""}
	}
	add := func(name string, values []string) {
		row := []any{name}
		for _, value := range values {
			row = append(row, value)
		}
		t.Add(row...)
	}
	for _, s := range settings {
		add(s.Name, s.Values)
	}
	for _, to := range first.Suited {
		for _, s := range plugin.SuitedSettings(presets, settings, to) {
			add(s.Name+", with dataset="+to.Dataset, s.Values)
		}
	}
	var said []string
	for _, k := range kinds {
		for _, p := range k.Plugins {
			text := fmt.Sprintf("One of the %s, version %s, from %v.", k.Kind, p.Version, p.Origin)
			if p.Source != "" {
				text += " Source: " + p.Source + "."
			}
			if use := k.Use(p); use != "" {
				text += " Use: " + use + "."
			}
			if len(p.Unread) > 0 {
				text += " Not read while the others are as they are, and refused: " + strings.Join(p.Unread, ", ") + "."
			}
			if p.Fault != "" {
				text += " FAULTY: " + p.Fault
			}
			said = append(said, text)
		}
	}
	t.Caption = strings.Join(said, " ")
	return t, nil
}

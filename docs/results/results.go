// Package results has the measured tables that are kept with the sources: for
// each run of a sweep its settings, metrics and claims, and where and when it was
// computed (`molehill sweep NAME --out docs/results/NAME-PRESET`).
package results

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment/sweep"
	"molehill/viz"
)

//go:embed */results.json */*.png
var files embed.FS

// Names lists the tables: the sweep's name and its preset.
func Names() (names []string) {
	found, _ := fs.Glob(files, "*/results.json")
	for _, f := range found {
		names = append(names, path.Dir(f))
	}
	return names
}

// Samples returns the picture of what the runs of a table made of a data set.
func Samples(name, on string) (viz.Picture, error) {
	return picture(name, on, "samples", "Decoded, "+dataset.Title(on))
}

// Claimed is Samples of the runs that have a paper's own noise, whatever is proved of it.
func Claimed(name, on string) (viz.Picture, error) {
	return picture(name, on, "claimed-samples", "Decoded, "+dataset.Title(on)+", with the paper's own noise")
}

func picture(name, on, of, title string) (viz.Picture, error) {
	text, err := files.ReadFile(path.Join(name, on+"-"+of+".png"))
	if err != nil {
		return viz.Picture{}, fmt.Errorf("results: no pictures (%s) of %s with %q; tables are %s", of, on, name, strings.Join(Names(), ", "))
	}
	return viz.Picture{Title: title, Bytes: text}, nil
}

// Rows returns the runs of a table.
func Rows(name string) ([]sweep.Row, error) {
	text, err := files.ReadFile(path.Join(name, "results.json"))
	if err != nil {
		return nil, fmt.Errorf("results: no table %q; there are %s", name, strings.Join(Names(), ", "))
	}
	var rows []sweep.Row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("results: %s: %w", name, err)
	}
	return rows, nil
}

// Origin tells in a line where, when and at which commits the runs of a table were
// computed.
func Origin(name string) (string, error) {
	rows, err := Rows(name)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	first, last := rows[0].Computed.Started, rows[0].Computed.Started
	processors, backends, commits := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		for _, p := range append(row.Earlier, row.Computed) {
			if p.Started.Before(first) {
				first = p.Started
			}
			if p.Started.After(last) {
				last = p.Started
			}
			processors[fmt.Sprintf("%s with %d cores", cmp.Or(p.CPU, p.Arch), p.Cores)] = true
			backends[p.Backend] = true
			commit, changes, _ := strings.Cut(p.Revision, "+")
			if commit = commit[:min(8, len(commit))]; changes != "" {
				commit += "+" + changes
			}
			commits[commit] = true
		}
	}
	list := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }
	days := first.Format(time.DateOnly)
	if end := last.Format(time.DateOnly); end != days {
		days += " to " + end
	}
	return fmt.Sprintf("%d runs, computed %s on %s by %s, at %s", len(rows), days, list(processors), list(backends), list(commits)), nil
}

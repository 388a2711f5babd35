// Package results has the measured tables that are kept with the sources: for
// each run of a sweep its settings, metrics and claims, and where and when it was
// computed (`molehill sweep NAME --out docs/results/NAME-PRESET`).
package results

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"molehill/pkg/experiment"
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
func Samples(name, dataset string) (viz.Picture, error) {
	text, err := files.ReadFile(path.Join(name, dataset+"-samples.png"))
	if err != nil {
		return viz.Picture{}, fmt.Errorf("results: no pictures of %s with %q; tables are %s", dataset, name, strings.Join(Names(), ", "))
	}
	return viz.Picture{Title: "Decoded, " + dataset, Bytes: text}, nil
}

// Rows returns the runs of a table.
func Rows(name string) ([]experiment.Row, error) {
	text, err := files.ReadFile(path.Join(name, "results.json"))
	if err != nil {
		return nil, fmt.Errorf("results: no table %q; there are %s", name, strings.Join(Names(), ", "))
	}
	var rows []experiment.Row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("results: %s: %w", name, err)
	}
	return rows, nil
}

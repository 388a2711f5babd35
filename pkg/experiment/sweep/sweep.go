// Package sweep holds tables and figures of many runs: which runs they are of, and what their
// rows say together, over seeds.
package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Sweep is a table of runs: which ones, and what they say together. Every run of
// it is a run like any other, so a sweep that was interrupted goes on where it
// was.
type Sweep interface {
	plugin.Plugin
	// Requests lists the runs of a preset with seeds 1 … seeds, those that a
	// reader wants first first.
	Requests(preset experiment.Preset, seeds int) []experiment.Request
	// Report draws what the rows say, which may be some of the runs only. samples
	// may be nil: pictures are with the runs, not with their rows.
	Report(rows []Row, samples Samples) (Report, error)
}

// Samples returns the images that a run made, false if they are not at hand.
type Samples func(Row) (viz.Images, bool)

// First returns the images of the first of some runs that has them at hand, false if none has.
func (s Samples) First(rows []Row) (images viz.Images, ok bool) {
	for i := 0; s != nil && i < len(rows) && !ok; i++ {
		images, ok = s(rows[i])
	}
	return images, ok
}

// Row is a finished run of a sweep.
type Row struct {
	Run        string                `json:"run"`
	Experiment string                `json:"experiment"`
	Version    string                `json:"version,omitempty"` // of the experiment; older rows lack it
	Seed       uint64                `json:"seed"`
	Research   bool                  `json:"research"` // noise from the seed
	Config     json.RawMessage       `json:"config"`
	Metrics    run.Values            `json:"metrics"`
	Measured   []experiment.Measured `json:"measured,omitempty"` // further (Measure)
	Claims     []privacy.Claim       `json:"claims,omitempty"`   // of its statement
	Seconds    float64               `json:"seconds"`            // of the last computation, from its start to its end, and of those that it went on from
	Computed   run.Provenance        `json:"computed"`           // by the last computation

	Earlier []run.Provenance `json:"earlier,omitempty"` // computations that were stopped (run.Run.Rest), from which the last one went on

	run *run.Run
}

// Opened returns the run itself, false if nobody has it: its row was read from a file.
func (row Row) Opened() (r *run.Run, ok bool) { return row.run, row.run != nil }

// Report is what a sweep shows: tables, and figures by the name of their file.
type Report struct {
	Tables  []viz.Table
	Figures map[string]viz.Figure
}

// Page is the tables as Markdown, below the name of their sweep and what it is of.
func (r Report) Page(of plugin.Info) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n%s\n", of.Name, of.Summary)
	for _, t := range r.Tables {
		title := t.Title
		t.Title = "" // a heading in its place
		fmt.Fprintf(&page, "\n## %s\n\n%s\n", title, t.Markdown())
	}
	return page.String()
}

// Registry holds the sweeps.
var Registry = plugin.Registry[Sweep]{Kind: "sweep", Defaults: func(s Sweep) (map[string]any, error) {
	sizes := map[string]any{}
	for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
		sizes[string(preset)] = map[string]int{"runs of one seed": len(s.Requests(preset, 1))}
	}
	return sizes, nil
}}

// portable leaves of files named in settings their names: results travel, the
// paths of a machine need not.
func portable(config json.RawMessage) (json.RawMessage, error) {
	var fields map[string]any
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if path, ok := value.(string); ok && filepath.IsAbs(path) {
			fields[name] = filepath.Base(path)
		}
	}
	return json.Marshal(fields)
}

// travelling is portable of a provenance: the ledger that was paid is a path too.
func travelling(p run.Provenance) run.Provenance {
	p.Host, p.Paid = "", ""
	if filepath.IsAbs(p.Data) {
		p.Data = filepath.Base(p.Data)
	}
	return p
}

// Finished returns the row of a finished run.
func Finished(r *run.Run) (Row, error) {
	row := Row{Run: r.ID, Experiment: r.Spec.Experiment, Version: r.Spec.Version, Seed: r.Spec.Seed, Research: r.Spec.Research, run: r}
	var err error
	if row.Config, err = portable(r.Spec.Config); err != nil {
		return row, err
	}
	result, err := r.Result()
	if err != nil {
		return row, err
	}
	row.Metrics = result.Metrics
	measured, err := experiment.AllMeasured(r)
	if err != nil {
		return row, err
	}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		if found := measured[name]; !found.NonPrivate || row.Research { // which protects nobody anyway
			found.Computed = travelling(found.Computed)
			row.Measured = append(row.Measured, found)
		}
	}
	statement, err := r.Statement()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // then it looked at nothing private
		return row, err
	}
	row.Claims = statement.Claims
	computed, err := r.Provenance()
	if err != nil {
		return row, err
	}
	row.Seconds = run.Took(computed, result.Finished).Seconds()
	for i, p := range computed {
		switch p = travelling(p); {
		case i == len(computed)-1:
			row.Computed = p
		case p.Rested > 0:
			row.Earlier = append(row.Earlier, p)
		}
	}
	return row, nil
}

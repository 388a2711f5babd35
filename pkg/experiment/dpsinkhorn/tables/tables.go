// Package tables are the tables and figures of 001 and 002: what private generators of
// labelled images are good for, with more methods and at proved ε.
package tables

import (
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
)

// line is a training that a table asks for.
type line struct {
	label      string // what tells it from others of the table
	experiment string
	settings   map[string]string
	// published is what 001 or 002 print for it: FID (of the whole network), and the
	// accuracies of the three classifiers; "" for what they leave out.
	published quoted
}

// Asks implements sweep.Asking.
func (l line) Asks() sweep.Line {
	return sweep.Line{Experiment: l.experiment, Settings: l.settings}
}

type quoted struct{ fid, logistic, mlp, cnn string }

// quote is a method that is not run here.
type quote struct {
	method string
	quoted
}

// table is a sweep with a row for each line, and a figure of the accuracy along one
// of the settings.
type table struct {
	plugin.Info
	lines func(experiment.Preset) []line
	// others are the methods that 001 has beside its own, by data set.
	others map[string][]quote
	along  string // a setting
	axis   string // what that is
	log    bool
	note   string
}

var tables = []table{table1, ablation, settings, debiasing, robustness, steps, better, celeba}

func init() {
	for _, t := range tables {
		sweep.Registry.Register(t)
	}
}

// Describe implements plugin.Plugin.
func (t table) Describe() plugin.Info { return t.Info }

// Requests implements sweep.Sweep.
func (t table) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	return sweep.Requests(t.lines(preset), preset, seeds)
}

// spending gives a training the least noise that proves its ε for all its steps: with
// the papers' σ it would end with a third of ε spent, and be no peer of one that
// spends all of it.
func spending(s map[string]string) map[string]string { return experiment.With(s, "noise", "0") }

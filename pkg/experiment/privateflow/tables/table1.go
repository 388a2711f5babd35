// Package tables compares private flows, generators and baselines on images at equal
// ε: Table 1 of 000 and 003 with more methods, and curves of what privacy costs.
package tables

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/pkg/published"
	"molehill/privacy"
)

func init() {
	sweep.Registry.Register(flows{"flows-table1", "private flows and generators at equal proved ε, on images",
		func(preset experiment.Preset) []string {
			if preset == experiment.Paper {
				return []string{"mnist", "fashion-mnist", "celeba"}
			}
			return []string{"mnist", "fashion-mnist"}
		}})
	sweep.Registry.Register(flows{"flows-celeba", "flows-table1 on CelebA alone, whose autoencoder is to be trained first",
		func(experiment.Preset) []string { return []string{"celeba"} }})
}

// flows is 003's Table 1 with more methods, more ε and metrics that are not FID
// alone. Every ε is one that is proved; what the papers would say of the same
// noise stands beside it.
type flows struct {
	name, summary string
	datasets      func(experiment.Preset) []string
}

func (t flows) Describe() plugin.Info {
	return plugin.Info{Name: t.name, Version: "1", Source: "000 and 003, Table 1", Summary: t.summary}
}

// methods in the order of the table: those without privacy, ours, baselines, and
// the papers'.
var methods = []string{
	"swflow", "harmonic-flow", "harmonic-prior", "harmonic-classes", "harmonic-generator", "harmonic-classes-generator", "sketch-flow", "sketch-generator",
	"private-normal", "dp-merf", "sw-generator", "dpswflow-r", "dpswflow", "dpswgen",
}

// Requests implements sweep.Sweep.
func (t flows) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	var lines []sweep.Line
	for _, dataset := range t.datasets(preset) {
		for _, epsilon := range []string{"inf", "10", "5", "1", "0.1"} {
			for _, method := range methods {
				if method == "swflow" && epsilon != "inf" {
					continue // it is without privacy
				}
				// Where latents live is public: every method is scored on the
				// sphere, which is to the advantage of those that end beside it.
				settings := map[string]string{"dataset": dataset, "epsilon": epsilon, "on_sphere": "true"}
				if dataset == "celeba" {
					maps.Copy(settings, faces(method))
				}
				lines = append(lines, bothWays(sweep.Line{Experiment: method, Settings: settings})...)
			}
		}
		if preset == experiment.Paper && dataset != "celeba" { // whose copies have other numbers of records
			lines = append(lines, claimed(dataset)...)
		}
	}
	return sweep.Requests(lines, preset, seeds)
}

// claimed are 003's methods on a data set with its own directions and noise, under the
// ε that it claims for them.
func claimed(dataset string) (lines []sweep.Line) {
	paper, _ := published.FlowOn(dataset)
	for _, noise := range paper.Noise {
		if noise.Multiplier == 0 {
			continue // without privacy
		}
		for _, method := range []string{"dpswflow-r", "dpswflow", "dpswgen"} {
			settings := map[string]string{"dataset": dataset, "epsilon": strconv.FormatFloat(noise.Epsilon, 'g', -1, 64), "on_sphere": "true",
				"published": "true", "stack": "false", "delta": strconv.FormatFloat(paper.Delta, 'g', -1, 64)}
			if method == "dpswflow" {
				settings["directions"], settings["per_step"] = strconv.Itoa(paper.Fixed), strconv.Itoa(paper.FixedPerStep)
				settings["steps"] = strconv.Itoa(paper.FixedSteps)
			} else {
				settings["directions"], settings["batch"] = strconv.Itoa(paper.Resampled), strconv.Itoa(paper.Batch)
				settings["steps"] = strconv.Itoa(paper.Steps(noise.Epochs))
			}
			lines = append(lines, bothWays(sweep.Line{Experiment: method, Settings: settings})...)
		}
	}
	return lines
}

// projected are the methods that follow noisy projections.
var projected = []string{"sw-generator", "dpswflow-r", "dpswflow", "dpswgen"}

// bothWays are a line and, of what follows noisy projections, one more. It takes ψ′ at noisy
// ones, which is the gradient (docs/diffusion.md), as 003's public code does, or at the
// projections themselves, as its text prints it. Without noise the two are one.
func bothWays(l sweep.Line) []sweep.Line {
	if !slices.Contains(projected, l.Experiment) {
		return []sweep.Line{l}
	}
	gradient, printed := l, l
	gradient.Settings = experiment.With(l.Settings, "noisy_evaluation", "true")
	printed.Settings = experiment.With(l.Settings, "noisy_evaluation", "false")
	if l.Settings["epsilon"] == "inf" {
		return []sweep.Line{printed}
	}
	return []sweep.Line{gradient, printed}
}

// faces are what the preset has not for CelebA: one attribute is the class.
func faces(method string) map[string]string {
	settings := map[string]string{"label": "Male"}
	if strings.HasPrefix(method, "harmonic-classes") {
		settings["classes"] = "2"
	}
	return settings
}

var noPrivacy = privacy.Epsilon(math.Inf(1))

// publishedFID is 003's Table 1 (the published version; 000 differs in places).
var publishedFID = map[string]map[string]map[privacy.Epsilon]float64{
	"mnist": {
		"dpswgen":    {noPrivacy: 114, 10: 124, 5: 198},
		"dpswflow-r": {noPrivacy: 21, 10: 70, 5: 114},
		"dpswflow":   {noPrivacy: 73, 10: 118, 5: 171},
	},
	"fashion-mnist": {
		"dpswgen":    {noPrivacy: 138, 10: 170, 5: 199},
		"dpswflow-r": {noPrivacy: 42, 10: 88, 5: 98},
		"dpswflow":   {noPrivacy: 96, 10: 98, 5: 129},
	},
	"celeba": {
		"dpswgen":    {noPrivacy: 171, 10: 209, 5: 214},
		"dpswflow-r": {noPrivacy: 57, 10: 132, 5: 197},
		"dpswflow":   {noPrivacy: 134, 10: 262, 5: 292},
	},
}

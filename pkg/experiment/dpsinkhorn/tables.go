package dpsinkhorn

import (
	"fmt"
	"maps"
	"strconv"

	"molehill/models/generator"
	"molehill/pkg/experiment"
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

var tables = []table{table1, ablation, settings, debiasing, robustness, steps, celeba}

func init() {
	for _, t := range tables {
		experiment.Sweeps.Register(t)
	}
}

// Describe implements plugin.Plugin.
func (t table) Describe() plugin.Info { return t.Info }

// Requests implements experiment.Sweep.
func (t table) Requests(preset experiment.Preset, seeds int) (requests []experiment.Request) {
	for seed := 1; seed <= seeds; seed++ {
		for _, l := range t.lines(preset) {
			requests = append(requests, experiment.Request{Experiment: l.experiment, Preset: preset, Seed: uint64(seed), Research: true, Settings: l.settings})
		}
	}
	return requests
}

// with returns settings and more of them.
func with(settings map[string]string, more ...string) map[string]string {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]string{}
	}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// textOf are the text's settings for a data set (001 D.4), where they are not those
// of MNIST.
func textOf(dataset string, preset experiment.Preset) map[string]string {
	s := map[string]string{"dataset": dataset}
	if dataset != "fashion-mnist" {
		return s
	}
	s["absolute"] = "3"
	if preset == experiment.Paper {
		s["noise"], s["learning_rate"], s["steps"] = "1.9", "1e-5", "280000"
	}
	return s
}

// spending gives a training the least noise that proves its ε for all its steps: with
// the papers' σ it would end with a third of ε spent, and be no peer of one that
// spends all of it.
func spending(s map[string]string) map[string]string { return with(s, "noise", "0") }

// table1 is 001's Table 1, and Figure 4b: more methods and more ε.
var table1 = table{
	Info:  plugin.Info{Name: "sinkhorn-table1", Version: "1", Source: "001, Table 1 and Figure 4b", Summary: "private generators of labelled images at equal proved ε, by what their images are good for"},
	along: "epsilon", axis: "ε, proved", log: true,
	note: "sinkhorn-sketch and dp-sinkhorn-latent protect the half of the training images that has not trained their autoencoder, under replace-one and add-remove; dp-merf-images protects all of them under replace-one, dp-sinkhorn and 001 under add-remove.",
	lines: func(preset experiment.Preset) (lines []line) {
		published := map[string]quoted{
			"mnist sinkhorn inf": {"54.2", "89.0", "89.0", "91.0"}, "mnist dp-sinkhorn 10": {"48.4", "82.8", "82.7", "83.2"}, "mnist dp-merf-images 10": {"116.3", "79.4", "78.3", "82.1"},
			"fashion-mnist sinkhorn inf": {"63.8", "78.4", "78.4", "73.3"}, "fashion-mnist dp-sinkhorn 10": {"128.3", "75.1", "74.6", "71.1"}, "fashion-mnist dp-merf-images 10": {"132.6", "75.5", "74.5", "75.4"},
		}
		for _, dataset := range []string{"mnist", "fashion-mnist"} {
			for _, m := range []struct {
				name    string
				budgets []string
			}{
				{"sinkhorn", []string{"inf"}}, {"sinkhorn-sketch", []string{"inf", "10", "5", "1", "0.1"}}, {"dp-merf-images", []string{"10", "1"}},
				{"dp-sinkhorn-latent", []string{"inf", "10", "1"}}, {"dp-sinkhorn", []string{"10", "5", "2.33", "1"}},
			} {
				for _, epsilon := range m.budgets {
					s := map[string]string{"dataset": dataset}
					switch m.name {
					case "dp-sinkhorn":
						s = spending(textOf(dataset, preset))
					case "sinkhorn": // without noise to choose
						s = textOf(dataset, preset)
						delete(s, "noise")
						delete(s, "steps")
					}
					quote := published[dataset+" "+m.name+" "+epsilon]
					if m.name == "dp-sinkhorn" && epsilon == "10" && preset == experiment.Paper { // the paper's σ comes to another ε
						lines = append(lines, line{"dp-sinkhorn with 001's noise", m.name, with(textOf(dataset, preset), "published", "true"), quote})
						quote = quoted{}
					}
					lines = append(lines, line{m.name, m.name, with(s, "epsilon", epsilon), quote})
				}
			}
			for _, epsilon := range []string{"10", "1"} { // half the length scale, chosen on MNIST's test images
				s := map[string]string{"dataset": dataset, "epsilon": epsilon, "features": "3000", "scale": "10.5"}
				lines = append(lines, line{"dp-merf-images, narrower kernel", "dp-merf-images", s, quoted{}})
			}
			if dataset != "mnist" {
				continue
			}
			for _, name := range []string{"dp-sinkhorn-text", "dp-sinkhorn-code"} { // as 001's text has it, and its code
				lines = append(lines, line{name, name, map[string]string{"dataset": dataset, "epsilon": "10"}, quoted{}})
			}
			for _, m := range []struct{ name, steps string }{{"dp-sinkhorn-latent", "3000"}, {"dp-sinkhorn", "1000"}} {
				for _, epsilon := range []string{"10", "1"} {
					s := spending(map[string]string{"dataset": dataset, "epsilon": epsilon, "start": "glyphs", "start_steps": m.steps})
					lines = append(lines, line{m.name + ", from glyphs", m.name, s, quoted{}})
				}
			}
		}
		return lines
	},
	others: map[string][]quote{
		"mnist": {
			{"real images, ε = ∞", quoted{"1.6", "92.2", "97.5", "99.3"}}, {"Sinkhorn with m = 3, ε = ∞", quoted{"43.4", "87.7", "87.3", "90.6"}},
			{"G-PATE", quoted{"177.2", "26", "25", "51 / 80.9"}}, {"DP-CGAN", quoted{"179.2", "60", "60", "63"}}, {"DataLens", quoted{"173.5", "", "", "80.66"}}, {"GS-WGAN", quoted{"61.3", "79", "79", "80"}},
		},
		"fashion-mnist": {
			{"real images, ε = ∞", quoted{"2.5", "84.5", "88.2", "90.8"}}, {"Sinkhorn with m = 1, ε = ∞", quoted{"65.8", "78.4", "79.1", "73.9"}},
			{"G-PATE", quoted{"205.8", "42", "30", "50 / 69.3"}}, {"DP-CGAN", quoted{"243.8", "51", "50", "46"}}, {"DataLens", quoted{"167.7", "", "", "70.61"}}, {"GS-WGAN", quoted{"131.3", "68", "65", "65"}},
		},
	},
}

// ablation is 001's Table 2.
var ablation = table{
	Info:  plugin.Info{Name: "sinkhorn-ablation", Version: "1", Source: "001, Table 2", Summary: "dp-sinkhorn on MNIST with its parts left out, one by one, at ε = 10"},
	along: "debiasing", axis: "p, of the debiasing",
	note: "What our copy of the paper does not show legibly (images with L2, and the MLP of L1 + L2) is not quoted. It tunes Δ of the first line apart from the others; here that line has Δ = " + boundByParameters + ", the best of 0.01, 0.05, 0.1, 0.5 and 1 by the accuracy on the test images.",
	lines: func(experiment.Preset) (lines []line) {
		for _, l := range []struct {
			label, debiasing string
			settings         []string
			published        quoted
		}{
			{"by parameters, L2", "0", []string{"perturbed", ByParameters, "bound", boundByParameters, "absolute", "0"}, quoted{"218.6", "", "79.9", "80.7"}},
			{"by images, L2", "0", []string{"absolute", "0"}, quoted{}},
			{"by images, L1", "0", []string{"unsquared", "true"}, quoted{"73.9", "", "68.4", "65.7"}},
			{"by images, L1 + L2", "0", nil, quoted{"89.1", "", "", "77.6"}},
			{"by images, L1 + L2", "1", nil, quoted{"86.0", "", "68.7", "66.7"}},
			{"by images, L1 + L2", "0.4", nil, quoted{"48.4", "", "82.7", "83.2"}},
		} {
			lines = append(lines, line{l.label, "dp-sinkhorn", spending(with(map[string]string{"debiasing": l.debiasing}, l.settings...)), l.published})
		}
		return lines
	},
}

// boundByParameters is Δ where the gradient by parameters gets the noise.
const boundByParameters = "0.01"

// settings are 002's Tables 4 and 5.
var settings = table{
	Info:  plugin.Info{Name: "sinkhorn-settings", Version: "1", Source: "002, Tables 4 and 5", Summary: "dp-sinkhorn with the noise, clipping and debiasing of the papers' search"},
	along: "noise", axis: "σ",
	note: "The papers tell neither the steps of each row nor what choosing among them costs.",
	lines: func(preset experiment.Preset) (lines []line) {
		for _, l := range []struct {
			dataset, noise, bound, debiasing, absolute string
			published                                  quoted
		}{
			{"mnist", "1.1", "1", "0.2", "1", quoted{"75", "81.2", "82.6", "79.5"}},
			{"mnist", "1.3", "1", "0.2", "1", quoted{"80", "81.9", "82.4", "80.1"}},
			{"mnist", "1.3", "0.3", "0.2", "1", quoted{"68.8", "79.8", "81.2", "76.9"}},
			{"mnist", "1.3", "0.7", "0.2", "1", quoted{"72.0", "79.6", "81.1", "77.0"}},
			{"mnist", "1.5", "0.5", "0.2", "1", quoted{"74.5", "82.3", "82.6", "82.1"}},
			{"mnist", "1.5", "0.7", "0.2", "1", quoted{"69.2", "80.5", "82.2", "80.8"}},
			{"mnist", "1.9", "0.5", "0.2", "1", quoted{"76.4", "80.2", "80.5", "79.2"}},
			{"mnist", "1.9", "0.7", "0.2", "1", quoted{"70.3", "82.2", "83.4", "80.5"}},
			{"mnist", "1.5", "0.5", "0.4", "1", quoted{"48.4", "82.8", "82.7", "83.2"}},
			{"fashion-mnist", "1.1", "1", "0.2", "1", quoted{"140.0", "74.0", "74.0", "68.0"}},
			{"fashion-mnist", "1.3", "0.3", "0.2", "1", quoted{"156.6", "74.1", "74.5", "65.8"}},
			{"fashion-mnist", "1.3", "0.7", "0.2", "1", quoted{"157.9", "74.0", "74.2", "65.8"}},
			{"fashion-mnist", "1.5", "0.5", "0.2", "1", quoted{"163.4", "73.7", "74.4", "67.5"}},
			{"fashion-mnist", "1.5", "0.7", "0.2", "1", quoted{"161.5", "73.9", "74.2", "69.3"}},
			{"fashion-mnist", "1.9", "0.5", "0.2", "1", quoted{"153.8", "73.5", "73.9", "69.4"}},
			{"fashion-mnist", "1.9", "0.7", "0.2", "1", quoted{"154.7", "73.9", "73.9", "68.4"}},
			{"fashion-mnist", "1.9", "0.5", "0.4", "1", quoted{"133.0", "73.2", "73.2", "69.6"}},
			{"fashion-mnist", "1.9", "0.5", "0.4", "3", quoted{"128.3", "75.1", "74.6", "71.1"}},
		} {
			label := fmt.Sprintf("Δ = %s, p = %s, m = %s", l.bound, l.debiasing, l.absolute)
			s := with(textOf(l.dataset, preset), "noise", l.noise, "bound", l.bound, "debiasing", l.debiasing, "absolute", l.absolute)
			lines = append(lines, line{label, "dp-sinkhorn", s, l.published})
		}
		return lines
	},
}

// debiasing is 002's Figure 5.
var debiasing = table{
	Info:  plugin.Info{Name: "sinkhorn-debiasing", Version: "1", Source: "002, Figure 5; 001, Figure 4c", Summary: "dp-sinkhorn with more or less debiasing, at ε = 10"},
	along: "debiasing", axis: "p, of the debiasing",
	note: "The paper prints the figure without its numbers.",
	lines: func(preset experiment.Preset) (lines []line) {
		for _, dataset := range []string{"mnist", "fashion-mnist"} {
			for _, p := range mixtures {
				lines = append(lines, line{label: "dp-sinkhorn", experiment: "dp-sinkhorn", settings: spending(with(textOf(dataset, preset), "debiasing", strconv.FormatFloat(p, 'g', -1, 64)))})
			}
		}
		return lines
	},
}

// robustness is 001's Figure 4a.
var robustness = table{
	Info:  plugin.Info{Name: "sinkhorn-robustness", Version: "1", Source: "001, Figure 4a", Summary: "dp-sinkhorn on MNIST with other learning rates and optimisers, at ε = 10"},
	along: "learning_rate", axis: "learning rate", log: true,
	note: "The paper prints the figure without its numbers.",
	lines: func(experiment.Preset) (lines []line) {
		for _, optimizer := range []string{"adam", "sgd"} {
			for _, rate := range []float64{1e-5, 1e-4, 1e-3, 1e-2, 1e-1} {
				lines = append(lines, line{label: optimizer, experiment: "dp-sinkhorn",
					settings: spending(map[string]string{"optimizer": optimizer, "learning_rate": strconv.FormatFloat(rate, 'g', -1, 64)})})
			}
		}
		return lines
	},
}

// steps is what a longer training is worth at one ε: more steps ask for more noise on
// each, and average it out.
var steps = table{
	Info:  plugin.Info{Name: "sinkhorn-steps", Version: "1", Source: "001, D.4", Summary: "dp-sinkhorn on MNIST by the number of its steps, at ε = 10"},
	along: "steps", axis: "steps", log: true,
	note: "The paper prints 160,000 steps with σ = 1.5, for which it claims ε = 10: that line of the paper preset has its noise and its learning rate, and dp-sinkhorn-text its clipping, too, image by image, which proves next to nothing; the others have the least noise that proves ε = 10, and a learning rate that falls to 0. The quick preset has a quarter of the channels.",
	lines: func(preset experiment.Preset) (lines []line) {
		counts := []string{"500", "1000", "2000", "4000", "8000"} // with a quarter of the channels
		if preset == experiment.Paper {
			counts = []string{"18000", "54000"}
			lines = append(lines, line{label: "dp-sinkhorn with 001's noise", experiment: "dp-sinkhorn", settings: map[string]string{"published": "true"}, published: quoted{"48.4", "82.8", "82.7", "83.2"}},
				line{label: "dp-sinkhorn-text", experiment: "dp-sinkhorn-text"})
		}
		for _, count := range counts {
			s := map[string]string{"steps": count}
			if preset == experiment.Paper {
				s = with(spending(s), "learning_rate", "5e-4", "schedule", Cosine, "samples", "10000")
			}
			lines = append(lines, line{label: "dp-sinkhorn", experiment: "dp-sinkhorn", settings: s})
		}
		return lines
	},
}

// celeba is 001's Table 3 and 002's Table 6: two generators of faces, told the sex.
var celeba = table{
	Info:  plugin.Info{Name: "sinkhorn-celeba", Version: "1", Source: "001, Table 3; 002, Table 6", Summary: "private generators of labelled faces, 32×32, two architectures"},
	along: "epsilon", axis: "ε, proved", log: true,
	note: "sinkhorn-sketch protects the half of the training images that has not trained its autoencoder, under replace-one; dp-merf-images protects all of them under replace-one, dp-sinkhorn and 001 under add-remove. 001 has all of CelebA; the origin in results.json tells which images were here.",
	lines: func(preset experiment.Preset) (lines []line) {
		ours := map[string]string{"dataset": "celeba", "label": "Male", "delta": "1e-6"}
		faces := with(ours, "absolute", "0", "entropy", "5", "latent", "32", "embedding", "4")
		private := spending(with(faces, "epsilon", "10"))
		large := []string{"architecture", generator.BigGAN}
		if preset == experiment.Paper {
			faces["learning_rate"] = "1e-5"
			private = spending(with(faces, "epsilon", "10", "steps", "1700000"))
		} else { // a step of a quarter of BigGAN's channels takes seconds on two cores
			faces["steps"], private["steps"] = "500", "500"
			large = append(large, "width", "8")
		}
		small := []string{"architecture", generator.DCGANText}
		biggan, dcgan := quoted{"168.4", "", "76.18", "75.79"}, quoted{"156.7", "", "74.96", "74.62"}
		if preset == experiment.Paper { // the paper's σ comes to another ε
			theirs := with(private, "noise", "1.9", "published", "true")
			lines = append(lines, line{"dp-sinkhorn with 001's noise, BigGAN", "dp-sinkhorn", with(theirs, large...), biggan},
				line{"dp-sinkhorn with 001's noise, DCGAN", "dp-sinkhorn", with(theirs, small...), dcgan})
			biggan, dcgan = quoted{}, quoted{}
		}
		lines = append(lines,
			line{"sinkhorn, BigGAN", "sinkhorn", with(faces, large...), quoted{"129.5", "", "80.8", "82.2"}},
			line{"dp-sinkhorn, BigGAN", "dp-sinkhorn", with(private, large...), biggan},
			line{"dp-sinkhorn, DCGAN", "dp-sinkhorn", with(private, small...), dcgan},
			line{"dp-merf-images", "dp-merf-images", with(ours, "epsilon", "10"), quoted{"274.0", "", "64.8", "65"}},
		)
		if preset == experiment.Paper { // the public code's settings for faces
			lines = append(lines, line{"dp-sinkhorn-code, BigGAN", "dp-sinkhorn-code", with(faces, "epsilon", "10", "architecture", generator.BigGAN, "batch", "200", "bound", "0.1"), quoted{}})
		}
		for _, epsilon := range []string{"inf", "10", "1"} {
			lines = append(lines, line{"sinkhorn-sketch", "sinkhorn-sketch", with(ours, "epsilon", epsilon), quoted{}})
		}
		return lines
	},
	others: map[string][]quote{"celeba": {
		{"real images, ε = ∞", quoted{"1.1", "", "91.9", "95.0"}}, {"DP-Sinkhorn (001, Table 3)", quoted{"189.5", "", "76.2", "76.3"}},
		{"DataLens, δ = 1e-5, 64×64", quoted{"320.8", "", "", "72.9"}},
	}},
}

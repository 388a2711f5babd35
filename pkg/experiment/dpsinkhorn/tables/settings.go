package tables

import (
	"fmt"
	"strconv"

	"molehill/models/train"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/dpsinkhorn"
	"molehill/pkg/plugin"
)

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
			{"by parameters, L2", "0", []string{"perturbed", dpsinkhorn.ByParameters, "bound", boundByParameters, "absolute", "0"}, quoted{"218.6", "", "79.9", "80.7"}},
			{"by images, L2", "0", []string{"absolute", "0"}, quoted{}},
			{"by images, L1", "0", []string{"unsquared", "true"}, quoted{"73.9", "", "68.4", "65.7"}},
			{"by images, L1 + L2", "0", nil, quoted{"89.1", "", "", "77.6"}},
			{"by images, L1 + L2", "1", nil, quoted{"86.0", "", "68.7", "66.7"}},
			{"by images, L1 + L2", "0.4", nil, quoted{"48.4", "", "82.7", "83.2"}},
		} {
			lines = append(lines, line{l.label, "dp-sinkhorn", spending(experiment.With(map[string]string{"debiasing": l.debiasing}, l.settings...)), l.published})
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
			s := map[string]string{"dataset": l.dataset, "noise": l.noise, "bound": l.bound, "debiasing": l.debiasing, "absolute": l.absolute}
			lines = append(lines, line{label, "dp-sinkhorn", s, l.published})
		}
		return lines
	},
}

// debiasing is 002's Figure 5.
var debiasing = table{
	Info:  plugin.Info{Name: "sinkhorn-debiasing", Version: "1", Source: "002, Figure 5; 001, Figure 4c", Summary: "dp-sinkhorn with more or less debiasing, at ε = 10"},
	along: "debiasing", axis: "p, of the debiasing",
	note: "The paper prints the figure without its numbers; Tables 4 and 5, which it is said to show, have p = 0.2 and 0.4 (sinkhorn-settings).",
	lines: func(preset experiment.Preset) (lines []line) {
		for _, dataset := range []string{"mnist", "fashion-mnist"} {
			for _, p := range dpsinkhorn.Mixtures {
				lines = append(lines, line{label: "dp-sinkhorn", experiment: "dp-sinkhorn", settings: spending(map[string]string{"dataset": dataset, "debiasing": strconv.FormatFloat(p, 'g', -1, 64)})})
			}
		}
		return lines
	},
}

// robustness is 001's Figure 4a.
var robustness = table{
	Info:  plugin.Info{Name: "sinkhorn-robustness", Version: "1", Source: "001, Figure 4a", Summary: "dp-sinkhorn on MNIST with other learning rates and optimisers, at ε = 10"},
	along: "learning_rate", axis: "learning rate", log: true,
	note: "The figure's numbers are in the appendix, says the paper; the copy at hand has none.",
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
				s = experiment.With(spending(s), "learning_rate", "5e-4", "schedule", string(train.Cosine), "samples", "10000")
			}
			lines = append(lines, line{label: "dp-sinkhorn", experiment: "dp-sinkhorn", settings: s})
		}
		return lines
	},
}

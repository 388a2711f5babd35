package tables

import (
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

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
					if m.name == "dp-sinkhorn" {
						s = spending(s)
					}
					quote := published[dataset+" "+m.name+" "+epsilon]
					if m.name == "dp-sinkhorn" && epsilon == "10" && preset == experiment.Paper { // the paper's σ comes to another ε
						lines = append(lines, line{"dp-sinkhorn with 001's noise", m.name, map[string]string{"dataset": dataset, "published": "true"}, quote})
						quote = quoted{}
					}
					lines = append(lines, line{m.name, m.name, experiment.With(s, "epsilon", epsilon), quote})
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

package tables

import (
	"molehill/models/generator"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// celeba is 001's Table 3 and 002's Table 6: two generators of faces, told the sex.
var celeba = table{
	Info:  plugin.Info{Name: "sinkhorn-celeba", Version: "1", Source: "001, Table 3; 002, Table 6", Summary: "private generators of labelled faces, 32×32, two architectures"},
	along: "epsilon", axis: "ε, proved", log: true,
	note: "sinkhorn-sketch protects the half of the training images that has not trained its autoencoder, under replace-one; dp-merf-images protects all of them under replace-one, dp-sinkhorn and 001 under add-remove. 001 has all of CelebA, and its DP-MERF has the BigGAN, where the one here has the DCGAN of its public code; the origin in results.json tells which images were here.",
	lines: func(preset experiment.Preset) (lines []line) {
		faces := map[string]string{"dataset": "celeba", "label": "Male"}
		private := spending(experiment.With(faces, "epsilon", "10"))
		small := []string{"architecture", generator.CelebADCGAN.Architecture}
		if preset == experiment.Quick { // BigGAN's presets have half of these channels
			small = append(small, "width", "16")
		}
		biggan, dcgan := quoted{"168.4", "", "76.18", "75.79"}, quoted{"156.7", "", "74.96", "74.62"}
		if preset == experiment.Paper { // the paper's σ comes to another ε
			theirs := experiment.With(faces, "published", "true")
			lines = append(lines, line{"dp-sinkhorn with 001's noise, BigGAN", "dp-sinkhorn", theirs, biggan},
				line{"dp-sinkhorn with 001's noise, DCGAN", "dp-sinkhorn", experiment.With(theirs, small...), dcgan})
			biggan, dcgan = quoted{}, quoted{}
		}
		lines = append(lines,
			line{"sinkhorn, BigGAN", "sinkhorn", faces, quoted{"129.5", "", "80.8", "82.2"}},
			line{"dp-sinkhorn, BigGAN", "dp-sinkhorn", private, biggan},
			line{"dp-sinkhorn, DCGAN", "dp-sinkhorn", experiment.With(private, small...), dcgan},
			line{"dp-merf-images", "dp-merf-images", experiment.With(faces, "epsilon", "10"), quoted{"274.0", "", "64.8", "65"}},
		)
		if preset == experiment.Paper { // the public code's settings for faces
			lines = append(lines, line{"dp-sinkhorn-code, BigGAN", "dp-sinkhorn-code", faces, quoted{}})
		}
		for _, epsilon := range []string{"inf", "10", "1"} {
			lines = append(lines, line{"sinkhorn-sketch", "sinkhorn-sketch", experiment.With(faces, "epsilon", epsilon), quoted{}})
		}
		return lines
	},
	others: map[string][]quote{"celeba": {
		{"real images, ε = ∞", quoted{"1.1", "", "91.9", "95.0"}}, {"DP-Sinkhorn (001, Table 3)", quoted{"189.5", "", "76.2", "76.3"}},
		{"DataLens, δ = 1e-5, 64×64", quoted{"320.8", "", "", "72.9"}},
	}},
}

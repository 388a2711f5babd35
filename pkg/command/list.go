package command

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"molehill/models/autoencoder"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/metric"
	"molehill/pkg/plugin"
	"molehill/privacy/accountant"
)

// kind is a kind of plug-in and all that is registered of it.
type kind struct {
	Kind    string        `json:"kind"`
	Plugins []plugin.Info `json:"plugins"`
	faults  []error
}

func kindOf[T plugin.Plugin](title string, r *plugin.Registry[T]) kind {
	k := kind{Kind: title, faults: r.Faults()}
	for _, p := range r.All() {
		k.Plugins = append(k.Plugins, p.Describe())
	}
	return k
}

// catalogue lists everything that is registered.
func catalogue() []kind {
	models := kind{Kind: "models"}
	for _, name := range autoencoder.Shipped() {
		models.Plugins = append(models.Plugins, plugin.Info{Name: "autoencoder/" + name, Version: "1", Source: "003 C.2; Liutkus et al. 2019",
			Summary: "convolutional autoencoder onto the unit sphere of R⁸, weights trained on the public half of " + name})
	}
	accountants := kind{Kind: "accountants"}
	about := map[string][2]string{ // by name: summary, source
		"analytic-gaussian":  {"Gaussian releases of all records, exact", "Balle & Wang 2018"},
		"pld":                {"Gaussian and Laplace releases, also of samples, by the distribution of the privacy loss; all but exact", "Doroshenko et al. 2022; Zhu, Dong & Wang 2022"},
		"rdp":                {"Gaussian releases, also of samples, Laplace noise and selections, by Rényi divergences", "Mironov 2017; Mironov, Talwar & Zhang 2019; Balle, Barthe & Gaboardi 2018; Papernot & Steinke 2022"},
		"gdp":                {"Gaussian releases, exact; of samples by a central limit, which is not a bound; as in 004", "Dong, Roth & Su 2022; Bu et al. 2020"},
		"moments":            {"Poisson samples, as published, for comparison", "Abadi et al. 2016"},
		"moments-cumulative": {"the same with moments added up across orders, as in the public code of 003", "003, public code"},
		"classic-gaussian":   {"√(2 ln(1.25/δ))/σ, proved for ε ≤ 1, to reproduce papers", "Dwork & Roth 2014"},
	}
	for _, a := range accountant.All() {
		accountants.Plugins = append(accountants.Plugins, plugin.Info{Name: a.Name(), Summary: about[a.Name()][0], Source: about[a.Name()][1], Version: "1"})
	}
	return []kind{
		kindOf("experiments", &experiment.Registry),
		kindOf("data sets", &dataset.Registry),
		models,
		kindOf("estimators", &privateflow.Estimators),
		accountants,
		kindOf("metrics", &metric.Registry),
	}
}

func list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "what is registered: experiments, data sets, models, estimators, accountants, metrics",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kinds := catalogue()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), kinds)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, k := range kinds {
				fmt.Fprintln(w, k.Kind)
				for _, p := range k.Plugins {
					fmt.Fprintf(w, "  %s\t%s\n", p.Name, p.Summary)
				}
				for _, fault := range k.faults {
					fmt.Fprintf(w, "  left out:\t%v\n", fault)
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with versions and sources")
	return cmd
}

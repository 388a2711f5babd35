package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

func list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [KIND or NAME]",
		Short: "what is registered: experiments, sweeps, estimators, data sets, models, metrics, classifiers, accountants",
		Long: `What is registered, whoever made it. With the name of a kind its plug-ins with
versions and sources; with the name of a plug-in all that is known of it, and its
settings.`,
		Args:    cobra.ArbitraryArgs, // kinds may have two words
		Example: "  molehill list\n  molehill list metrics\n  molehill list sketch-flow",
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds, depth, err := plugin.Select(plugin.Catalogue(), args...)
			if err != nil {
				return err
			}
			experiment.Tell(kinds)
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				return cli.JSON(out, kinds)
			case depth == plugin.Own:
				return showPlugins(out, kinds)
			}
			return showKinds(out, kinds, depth == plugin.One)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with versions, sources, origins and default settings")
	return cmd
}

func showKinds(out io.Writer, kinds []plugin.Kind, sources bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		fmt.Fprintln(w, k.Kind)
		for _, p := range k.Plugins {
			from := ""
			if !p.Origin.Ships() {
				from = fmt.Sprintf(" [%v]", p.Origin)
			}
			fmt.Fprintf(w, "  %s\t%s%s\n", p.Name, p.Summary, from)
			if sources {
				fmt.Fprintf(w, "  \tversion %s; %s\n", p.Version, p.Source)
			}
			if p.Fault != "" {
				fmt.Fprintf(w, "  \tFAULTY: %s\n", p.Fault)
			}
		}
		for _, fault := range k.Faults {
			fmt.Fprintf(w, "  left out:\t%s\n", fault)
		}
	}
	return w.Flush()
}

func showPlugins(out io.Writer, kinds []plugin.Kind) error {
	var before []plugin.Setting
	for _, k := range kinds {
		for _, p := range k.Plugins {
			fmt.Fprintf(out, "%s, one of the %s\n  %s\n", p.Name, k.Kind, p.Summary)
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			line := func(name, text string) {
				if text != "" {
					fmt.Fprintf(w, "  %s\t%s\n", name, text)
				}
			}
			line("version", p.Version)
			line("source", p.Source)
			line("from", fmt.Sprintf("%v, package %s", p.Origin, p.Origin.Package))
			line("use", k.Use(p))
			line("FAULTY", p.Fault)
			presets, settings, err := p.Settings()
			if err != nil {
				return err
			}
			if before != nil && slices.EqualFunc(settings, before, sameSetting) {
				line("settings", "as above") // an estimator and its experiment
			} else if len(presets) > 0 {
				if err := w.Flush(); err != nil { // columns of their own
					return err
				}
				fmt.Fprintf(w, "  settings\t%s\n", strings.Join(presets, "\t"))
				for _, s := range settings {
					fmt.Fprintf(w, "    %s\t%s\t%s\n", s.Name, strings.Join(s.Values, "\t"), s.Meaning)
				}
				if len(p.Unread) > 0 {
					fmt.Fprintf(w, "    not read while the others are as they are, and refused: %s\n", strings.Join(p.Unread, ", "))
				}
				for _, to := range p.Suited {
					rows := plugin.SuitedSettings(presets, settings, to)
					if len(rows) == 0 {
						continue
					}
					fmt.Fprintf(w, "  with dataset=%s\t%s\n", to.Dataset, strings.Join(presets, "\t"))
					for _, s := range rows {
						fmt.Fprintf(w, "    %s\t%s\n", s.Name, strings.Join(s.Values, "\t"))
					}
				}
			}
			before = settings
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameSetting(a, b plugin.Setting) bool {
	return a.Name == b.Name && slices.Equal(a.Values, b.Values)
}

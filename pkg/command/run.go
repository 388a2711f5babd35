package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// runCommand asks for a run: it starts it in a process of its own, or finds the
// one that computes it, and watches.
func runCommand() *cobra.Command {
	var (
		request  experiment.Request
		preset   string
		settings []string
		epsilon  string
		detach   bool
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "run an experiment, or continue it, or show it if it is finished",
		Long: `Run an experiment in a process of its own, and watch it. The same command again
finds the same run: it watches if it is being computed, continues if it was
interrupted, and answers at once if it is finished. Ctrl-C stops watching and
the computation; with --detach nothing is watched and nothing stopped.`,
		Example: "  molehill run sketch-flow --epsilon 1\n  molehill run dpswflow-r --preset paper --epsilon 10 --set published=true --set stack=false --set directions=70",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Experiment, request.Preset = args[0], experiment.Preset(preset)
			request.Settings = map[string]string{}
			for _, s := range settings {
				name, value, ok := strings.Cut(s, "=")
				if !ok {
					return fmt.Errorf("--set %s: expected NAME=VALUE", s)
				}
				request.Settings[name] = value
			}
			if _, twice := request.Settings["epsilon"]; twice && epsilon != "" {
				return fmt.Errorf("--epsilon %s and --set epsilon=%s; give one of them", epsilon, request.Settings["epsilon"])
			}
			if epsilon != "" {
				request.Settings["epsilon"] = strings.Replace(epsilon, "∞", "inf", 1)
			}
			spec, err := request.Spec()
			if err != nil {
				return err
			}
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			self, err := os.Executable() // with the plug-ins that are linked into it
			if err != nil {
				return err
			}
			r, _, err := launch.Local{Binary: self}.Start(cmd.Context(), store, spec)
			if err != nil {
				return err
			}
			if !detach {
				if err := watch(cmd, r); err != nil {
					return err
				}
			}
			return describe(cmd.OutOrStdout(), r, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&preset, "preset", string(experiment.Quick), "quick: seconds to minutes on two cores; paper: the paper's settings")
	flags.StringVar(&epsilon, "epsilon", "", "the ε to be proved, or inf")
	flags.StringArrayVar(&settings, "set", nil, "a setting, NAME=VALUE (repeatable)")
	flags.Uint64Var(&request.Seed, "seed", 1, "of everything random but a release's noise")
	flags.BoolVar(&request.Research, "research", false, "noise from the seed: repeatable by anyone, no promise to anybody")
	flags.BoolVar(&detach, "detach", false, "do not watch")
	flags.BoolVar(&asJSON, "json", false, "print the run as JSON")
	return cmd
}

// compute is what a started process runs: it computes the run of a directory.
func compute() *cobra.Command {
	return &cobra.Command{
		Use:    "compute DIRECTORY",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.Open(args[0])
			if err != nil {
				return err
			}
			err = r.Acquire()
			if errors.Is(err, run.ErrBusy) || errors.Is(err, run.ErrFinished) {
				return nil // another process was faster
			}
			if err != nil {
				return err
			}
			return experiment.Compute(cmd.Context(), r)
		},
	}
}

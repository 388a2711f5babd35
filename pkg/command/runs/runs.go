// Package runs is the part of the command line that starts runs and sweeps, watches
// and stops them, shows, compares, measures and audits them.
package runs

import (
	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
)

// Commands are the commands of runs.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		cli.Computes(start()), compute(), cli.Computes(resume()), watch(), cancel(), // one run
		cli.Computes(sweepCommand()), computeSweep(), // many
		list(), show(), compareCommand(), name(), remove(), // those that there are
		cli.Computes(withGraphs(measure())), cli.Computes(withGraphs(auditCommand())), // what they do not say by themselves
	}
}

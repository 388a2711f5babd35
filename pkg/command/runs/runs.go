// Package runs is the part of the command line that starts runs and sweeps, watches
// and stops them, shows, compares, measures and audits them.
package runs

import "github.com/spf13/cobra"

// Commands are the commands of runs.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		start(), compute(), resume(), watch(), cancel(), // one run
		sweep(), computeSweep(), // many
		list(), show(), compare(), name(), remove(), // those that there are
		measure(), auditCommand(), // what they do not say by themselves
	}
}

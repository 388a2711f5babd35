// Package own is the part of the command line for data of one's own: its schema, and
// synthetic rows or images in its place.
package own

import (
	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
)

// Commands are the commands for data of one's own.
func Commands() []*cobra.Command {
	return []*cobra.Command{schema(), cli.Computes(synthesize())}
}

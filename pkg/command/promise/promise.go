// Package promise is the part of the command line that tells what a mechanism
// promises, finds the noise for a promise, and keeps the ledger of what is spent.
package promise

import "github.com/spf13/cobra"

// Commands are the commands of promises.
func Commands() []*cobra.Command {
	return []*cobra.Command{epsilon(), calibrate(), budget()}
}

// Command molehill is the command line of Molehill: private optimal transport in
// Go notebooks.
package main

import "molehill/pkg/command"

func main() { command.Main() }

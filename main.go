// Molehill is private optimal transport in Go notebooks; this is its command
// line.
package main

import "molehill/pkg/command"

func main() { command.Main() }

package runs

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"molehill/models/backend"
	"molehill/pkg/run"
)

// graphs tells, once, that networks are slower than they could be, when a run has opened a
// backend on this machine: many runs have no network.
type graphs struct {
	to   io.Writer
	host string // this machine: what another lacks cannot be seen here
	seen bool   // what there is to see
}

// begun is when this command was called: what was computed before is over.
var begun = time.Now()

func watchGraphs(to io.Writer) *graphs { return &graphs{to: to, host: run.Here().Host} }

// look looks at a run, unless g is nil. What cannot be read is told by who follows the run.
func (g *graphs) look(r *run.Run) {
	if g == nil || g.seen {
		return
	}
	computations, err := r.Provenance()
	if err != nil || len(computations) == 0 {
		return
	}
	now := computations[len(computations)-1]
	if now.Backend == "" || now.Host != g.host || now.Started.Before(begun) {
		return
	}
	g.seen = true
	g.tell(backend.SlowerOn(now.Backend))
}

func (g *graphs) tell(slower string) {
	if slower != "" {
		statusLine()("") // a bar is drawn anew
		fmt.Fprintln(g.to, "molehill:", slower)
	}
}

// withGraphs has a command that computes by itself tell so at its end, if it has opened a
// backend.
func withGraphs(cmd *cobra.Command) *cobra.Command {
	compute := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := compute(cmd, args)
		watchGraphs(cmd.ErrOrStderr()).tell(backend.SlowerHere())
		return err
	}
	return cmd
}

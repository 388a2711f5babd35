// Package own is the part of the command line for data of one's own: its schema, and
// synthetic rows or images in its place.
package own

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
	"molehill/viz"
)

// Commands are the commands for data of one's own.
func Commands() []*cobra.Command {
	return []*cobra.Command{schema(), cli.Computes(synthesize())}
}

// kind is what data of one's own are, a table or images, whose schema has been read.
type kind interface {
	Confirm(parts ...string) error
	Encode(to io.Writer) error
	name() string // of the data
	words() words
	describe(title string) viz.Table
	declared() string // what is public and describe leaves out
	// look reads data for their keeper.
	look(ctx context.Context, data string) (synth.Seen, error)

	// checkOut finds mistakes in where the synthetic data go, and checkTest in held-out
	// ones, as far as that can be seen without reading them all.
	checkOut(s *synthesis) error
	checkTest(test string) error
	export(ctx context.Context, r *run.Run, to io.Writer, ending string) error
	// compare compares synthetic with private data for their keeper, in a few lines.
	compare(ctx context.Context, r *run.Run, test string) (lines []string, err error)
}

// words are what is called otherwise where the commands do the same.
type words struct {
	experiment, count            string // which makes them, and its setting of how many
	records, agreeing, differing string
}

// readSchema reads a schema: of images, if it says so, or if these lie in a folder.
func readSchema(path string, folder bool) (kind, error) {
	if folder || pictures.IsSchema(path) {
		schema, err := pictures.ReadSchema(path)
		return ofImages{schema}, err
	}
	schema, err := table.ReadSchema(path)
	return ofTable{schema}, err
}

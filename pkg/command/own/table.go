package own

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables"
	"molehill/pkg/run"
	"molehill/viz"
)

// ofTable is a table.
type ofTable struct{ *table.Schema }

func (k ofTable) name() string { return k.Name }

func (ofTable) words() words {
	return words{experiment: "synth", count: "rows", records: "rows", agreeing: "all values agree", differing: "These values do"}
}

// draftTable drafts the schema of a table.
func draftTable(cmd *cobra.Command, data, out, name, target string) error {
	schema, err := table.DraftFile(cmd.Context(), name, data)
	if err != nil {
		return err
	}
	if target != "" {
		schema.Target = target
	}
	nothing := len(schema.Modelled()) == 0
	if err := schema.Check(); err != nil && !nothing {
		return fmt.Errorf("the draft: %w", err)
	}
	if err := keepSchema(cmd, ofTable{schema}, out, "A draft of the schema, in "); err != nil {
		return err
	}
	for _, c := range schema.Columns {
		if c.Kind == table.Exclude {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s is left out: %s\n", c.Name, c.Note)
		}
	}
	if names := schema.NamedLikeValues(); names != nil {
		fmt.Fprintf(cmd.OutOrStdout(), "\nColumns are called like values: %s. Is the first line of the table that of the names? If it is a record, write a line of names above it, and draft again: names are public.\n", strings.Join(names, ", "))
	}
	if nothing {
		return fmt.Errorf("the draft %s leaves out all columns: their notes in it say why; give those that are to be made a kind", out)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nThis was read off the rows and is as private as they are. Next:\n  1. edit %s: ranges and categories as they are known without the rows\n  2. molehill schema confirm %[1]s COLUMN…   (or set \"public\": true in it)\n  3. molehill synth --data %s --schema %[1]s --epsilon 1 --out synthetic.csv\n", cli.Quote(out), cli.Quote(data))
	fmt.Fprint(cmd.OutOrStdout(), tellName(schema.Name))
	return nil
}

func (k ofTable) describe(title string) viz.Table {
	t := viz.Table{Title: title, Header: []string{"column", "what the schema says", "public"}}
	for _, c := range k.Columns {
		public := "no"
		switch {
		case c.Kind == table.Exclude:
			public = "–"
		case c.Public:
			public = "yes"
		}
		what := c.Describe()
		if c.Name == k.Target {
			what += " (target)"
		}
		t.Add(c.Name, what, public)
	}
	if len(k.Missing) > 0 {
		t.Caption = "Texts that stand for no value, which are public too: " + k.MissingTexts()
	}
	return t
}

// declared are the names of long lists: one that one record alone has must not pass unseen.
func (k ofTable) declared() (text string) {
	for _, c := range k.Modelled() {
		if all := c.Declare(); c.Public && all != c.Describe() {
			text += fmt.Sprintf("\n%s: %s\n", c.Name, all)
		}
	}
	return text
}

func (k ofTable) look(ctx context.Context, data string) (synth.Seen, error) {
	return tables.Look(ctx, data, k.Schema)
}

func (k ofTable) checkOut(s *synthesis) error { return k.CheckEnding(s.out) }

func (k ofTable) checkTest(test string) error { return k.CheckFile(test) }

func (ofTable) export(_ context.Context, r *run.Run, to io.Writer, ending string) error {
	return tables.Export(r, to, ending)
}

func (ofTable) compare(ctx context.Context, r *run.Run, test string) ([]string, error) {
	d, err := tables.Diagnose(ctx, r, test)
	if err != nil {
		return nil, err
	}
	lines := append(each(d.Disagreement), fmt.Sprintf("total variation, mean over columns %.4f, over pairs of columns %.4f", d.Columns, d.Pairs))
	return append(lines, learned(d.On, d.Unlearned, "rows", d.Accuracies)...), nil
}

package own

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/viz"
)

// schema drafts the schema of a table or of images, and has it confirmed.
func schema() *cobra.Command {
	var (
		out, name, target string
		force             bool
	)
	cmd := &cobra.Command{
		Use:   "schema DATA",
		Short: "draft the schema of a table or images of your own: columns, ranges, sizes, classes",
		Long: `Draft the schema of a table (CSV, TSV, Parquet or NumPy archive): what each column
is, its range, its categories. Or that of images (a folder of PNG and JPEG files, or
a NumPy archive): the size that they are brought to, and their classes.

What a draft says is read off the rows, and is as private as they are. Synthetic
tables are made from what is known without looking at the rows: so correct the
draft (an age is from 0 to 120, whoever is in the table), exclude what must not
come out, and then confirm column by column that it is public. ` + "`molehill synth`" + `
looks at nothing before.`,
		Example: "  molehill schema people.csv --target income\n  (edit people.schema.json: what is public, and not what the rows happen to have)\n  molehill schema confirm people.schema.json age income\n  molehill schema check people.schema.json people.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := look(args[0]); err != nil {
				return err
			}
			if out == "" {
				out = schemaOf(args[0])
			}
			if name == "" {
				name = dataName(args[0])
			}
			if same(args[0], out) {
				return fmt.Errorf("--out %s is the file that is read; write to another", out)
			}
			if _, err := os.Lstat(out); err == nil && !force {
				return fmt.Errorf("%s is there already; --force replaces it, and what you have confirmed in it", out)
			}
			if pictures.HasImages(args[0]) {
				if target != "" {
					return errors.New("--target names a column of a table; images have classes")
				}
				return draftImages(cmd, args[0], out, name)
			}
			source, err := table.Open(args[0], "")
			if err != nil {
				return err
			}
			schema, err := table.Draft(cmd.Context(), name, source, table.Separator(source))
			if err = errors.Join(err, source.Close()); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if target != "" {
				schema.Target = target
			}
			nothing := len(schema.Modelled()) == 0
			if err := schema.Check(); err != nil && !nothing {
				return fmt.Errorf("the draft: %w", err)
			}
			if err := atomicfile.Write(out, 0o600, schema.Encode); err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), describeSchema(schema, "A draft of the schema, in "+out))
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
			fmt.Fprintf(cmd.OutOrStdout(), "\nThis was read off the rows and is as private as they are. Next:\n  1. edit %s: ranges and categories as they are known without the rows\n  2. molehill schema confirm %[1]s COLUMN…   (or set \"public\": true in it)\n  3. molehill synth --data %s --schema %[1]s --epsilon 1 --out synthetic.csv\n", cli.Quote(out), cli.Quote(args[0]))
			fmt.Fprint(cmd.OutOrStdout(), tellName(schema.Name))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the schema's file (default: the data's name with .schema.json)")
	cmd.Flags().StringVar(&name, "name", "", "of the data set, under which its budget is booked (default: the file's name)")
	cmd.Flags().StringVar(&target, "target", "", "the column that people would predict from the others")
	cmd.Flags().BoolVar(&force, "force", false, "replace a schema that is there")
	cmd.AddCommand(schemaConfirm(), schemaCheck())
	return cmd
}

// tellName says what a schema's name is for.
func tellName(name string) string {
	return fmt.Sprintf("What is made of it is booked under %s%s, after \"name\" in the schema: schemas of the same people, in whatever file they are, need one name to share one budget.\n", synth.Own, name)
}

// look finds data of one's own.
func look(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: no such file or folder; expected a table (.csv, .tsv, .parquet or .npz), or images in a folder or .npz", path)
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() { // a pipe, say, which can be read once and stops a program that opens it
		err = fmt.Errorf("%s is neither a file nor a folder; write what it gives to a file first", path)
	}
	return info, err
}

func schemaConfirm() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "confirm SCHEMA [COLUMN...]",
		Short: "declare columns' ranges and categories public, or images' size and classes",
		Long: `Declare that what a schema says of columns is public: known without looking at the
rows. The parts of a schema of images are called images and classes. It prints what you declare. If it was read off the rows all the same, the
privacy of what is made with it does not hold for it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !all {
				return errors.New("name the columns to confirm, or --all if you have looked at each of them")
			}
			if len(args) > 1 && all {
				return errors.New("name columns, or --all; not both")
			}
			if pictures.IsSchema(args[0]) {
				return confirmImages(cmd, args[0], args[1:])
			}
			schema, err := table.ReadSchema(args[0])
			if err != nil {
				return err
			}
			if err := schema.Confirm(args[1:]...); err != nil {
				return err
			}
			if err := atomicfile.Write(args[0], 0o600, schema.Encode); err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), describeSchema(schema, "What is public now, in "+args[0]))
			// A name that one record alone has must not pass unseen.
			for _, c := range schema.Modelled() {
				if all := c.Declare(); c.Public && all != c.Describe() {
					fmt.Fprintf(cmd.OutOrStdout(), "\n%s: %s\n", c.Name, all)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all columns, or parts")
	return cmd
}

func schemaCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check SCHEMA [DATA]",
		Short: "check a schema, and which values of a table do not agree with it",
		Long: `Check a schema, and, given a table, which of its values do not agree with it. The
answer looks at the rows: it is for their keeper.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if pictures.IsSchema(args[0]) {
				return checkImages(cmd, args[0], args[1:])
			}
			schema, err := table.ReadSchema(args[0])
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), describeSchema(schema, args[0]))
			if len(args) == 1 {
				return nil
			}
			read, disagreements, err := table.Read(cmd.Context(), args[1], schema)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s has %d rows", args[1], read.Len())
			if len(disagreements) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), ", and all values agree with the schema.")
				return nil
			}
			fmt.Fprintln(cmd.OutOrStdout(), ". These values do not agree with the schema:")
			for _, d := range disagreements {
				fmt.Fprintln(cmd.OutOrStdout(), " ", d)
			}
			return nil
		},
	}
}

func describeSchema(s *table.Schema, title string) viz.Table {
	t := viz.Table{Title: title, Header: []string{"column", "what the schema says", "public"}}
	for _, c := range s.Columns {
		public := "no"
		switch {
		case c.Kind == table.Exclude:
			public = "–"
		case c.Public:
			public = "yes"
		}
		what := c.Describe()
		if c.Name == s.Target {
			what += " (target)"
		}
		t.Add(c.Name, what, public)
	}
	if len(s.Missing) > 0 {
		t.Caption = "Texts that stand for no value, which are public too: " + strings.Join(s.Missing, ", ")
	}
	return t
}

// schemaOf is where the schema of data is if nobody says otherwise.
func schemaOf(data string) string { return stem(data) + ".schema.json" }

// stem is a path without its ending; folders have none, whatever points are in their
// names.
func stem(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if whole, err := filepath.Abs(path); err == nil && filepath.Base(path) == "." {
			return whole
		}
		return filepath.Clean(path)
	}
	return strings.TrimSuffix(path, filepath.Ext(path))
}

var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// dataName makes a data set's name of a file's.
func dataName(path string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(filepath.Base(stem(path))), "-")
	if name = strings.Trim(name, "-._"); name == "" {
		return "table"
	}
	return name[:min(len(name), 63)]
}

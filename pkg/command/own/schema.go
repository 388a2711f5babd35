package own

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	"molehill/pkg/dataset/pictures"
	schemas "molehill/pkg/dataset/schema" // schema is the command here
	"molehill/pkg/experiment/synth"
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
				out = schemas.FileOf(args[0])
			}
			if name == "" {
				name = schemas.NameOf(args[0])
			}
			if same(args[0], out) {
				return fmt.Errorf("--out %s is the file that is read; write to another", out)
			}
			if _, err := os.Lstat(out); err == nil && !force {
				return fmt.Errorf("%s is there already; --force replaces it, and what you have confirmed in it", out)
			}
			if pictures.HasImages(args[0]) {
				return draftImages(cmd, args[0], out, name, target)
			}
			return draftTable(cmd, args[0], out, name, target)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the schema's file (default: the data's name with .schema.json)")
	cmd.Flags().StringVar(&name, "name", "", "of the data set, under which its budget is booked (default: the file's name)")
	cmd.Flags().StringVar(&target, "target", "", "the column that people would predict from the others")
	cmd.Flags().BoolVar(&force, "force", false, "replace a schema that is there")
	cmd.AddCommand(schemaConfirm(), schemaCheck())
	return cmd
}

// keepSchema writes a schema, and shows what it says under a title.
func keepSchema(cmd *cobra.Command, k kind, path, title string) error {
	if err := atomicfile.Write(path, 0o600, k.Encode); err != nil {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), k.describe(title+path))
	return nil
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
			k, err := readSchema(args[0], false)
			if err != nil {
				return err
			}
			if err := k.Confirm(args[1:]...); err != nil {
				return err
			}
			if err := keepSchema(cmd, k, args[0], "What is public now, in "); err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), k.declared())
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
			k, err := readSchema(args[0], false)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprint(out, k.describe(args[0]))
			if len(args) == 1 {
				return nil
			}
			found, err := k.look(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "\n%s has %d %s", args[1], found.Records, k.words().records)
			if len(found.Faults) == 0 {
				fmt.Fprintf(out, ", and %s with the schema.\n", k.words().agreeing)
				return nil
			}
			fmt.Fprintf(out, ". %s not agree with the schema:\n", k.words().differing)
			for _, fault := range found.Faults {
				fmt.Fprintln(out, " ", fault)
			}
			return nil
		},
	}
}

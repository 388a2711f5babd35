package own

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset/pictures"
	"molehill/viz"
)

// draftImages drafts the schema of images.
func draftImages(cmd *cobra.Command, data, out, name string) error {
	schema, err := pictures.Draft(cmd.Context(), name, data)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(out, 0o600, schema.Encode); err != nil {
		return err
	}
	describeImages(cmd.OutOrStdout(), schema, "A draft of the schema, in "+out)
	faults, err := pictures.Glance(cmd.Context(), data, schema)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "\nAt a glance this does not agree with any schema:")
		for _, fault := range faults {
			fmt.Fprintln(cmd.OutOrStdout(), " ", fault)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), `
This was read off the images and is as private as they are. Next:
  1. edit %s: the size and the classes as they are known without the images;
     "fit" is crop, stretch or pad, for images of another size; "like" may name
     public data that these are like (mnist, fashion-mnist or glyphs), through whose
     model they are then seen
  2. molehill schema confirm %[1]s --all
  3. molehill schema check %[1]s %[2]s, which lists files that are not used
  4. molehill synth --data %[2]s --schema %[1]s --epsilon 5 --out synthetic.zip
`, cli.Quote(out), cli.Quote(data))
	fmt.Fprint(cmd.OutOrStdout(), tellName(schema.Name))
	return nil
}

// confirmImages declares parts of a schema public.
func confirmImages(cmd *cobra.Command, path string, parts []string) error {
	schema, err := pictures.ReadSchema(path)
	if err != nil {
		return err
	}
	if err := schema.Confirm(parts...); err != nil {
		return err
	}
	if err := atomicfile.Write(path, 0o600, schema.Encode); err != nil {
		return err
	}
	describeImages(cmd.OutOrStdout(), schema, "What is public now, in "+path)
	return nil
}

// checkImages checks a schema, and, for the keeper, whether images agree with it.
func checkImages(cmd *cobra.Command, path string, data []string) error {
	schema, err := pictures.ReadSchema(path)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	describeImages(out, schema, path)
	if len(data) == 0 {
		return nil
	}
	n, faults, err := checkAll(cmd.Context(), data[0], schema)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s has %d images", data[0], n)
	if len(faults) == 0 {
		fmt.Fprintln(out, ", and all agree with the schema.")
		return nil
	}
	fmt.Fprintln(out, ". This does not agree with the schema:")
	for _, fault := range faults {
		fmt.Fprintln(out, " ", fault)
	}
	return nil
}

func describeImages(out io.Writer, s *pictures.Schema, title string) {
	t := viz.Table{Title: title, Header: []string{"part", "what the schema says", "public"}}
	for _, p := range s.Parts() {
		public := "no"
		if p.Public {
			public = "yes"
		}
		t.Add(p.Name, p.Says, public)
	}
	fmt.Fprint(out, t)
}

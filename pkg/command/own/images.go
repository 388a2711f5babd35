package own

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/command/runs"
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/images"
	"molehill/pkg/run"
	"molehill/viz"
)

// ofImages are images.
type ofImages struct{ *pictures.Schema }

func (k ofImages) name() string { return k.Name }

func (ofImages) words() words {
	return words{experiment: images.Name, count: "images", records: "images", agreeing: "all agree", differing: "This does"}
}

// draftImages drafts the schema of images.
func draftImages(cmd *cobra.Command, data, out, name, target string) error {
	if target != "" {
		return errors.New("--target names a column of a table; images have classes")
	}
	schema, err := pictures.Draft(cmd.Context(), name, data)
	if err != nil {
		return err
	}
	if err := keepSchema(cmd, ofImages{schema}, out, "A draft of the schema, in "); err != nil {
		return err
	}
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

func (k ofImages) describe(title string) viz.Table {
	t := viz.Table{Title: title, Header: []string{"part", "what the schema says", "public"}}
	for _, p := range k.Parts() {
		public := "no"
		if p.Public {
			public = "yes"
		}
		t.Add(p.Name, p.Says, public)
	}
	return t
}

func (ofImages) declared() string { return "" }

func (k ofImages) look(ctx context.Context, data string) (synth.Seen, error) {
	return images.Look(ctx, data, k.Schema, runs.Work)
}

func (ofImages) checkOut(s *synthesis) error {
	s.out = filepath.Clean(s.out)
	if ending := strings.ToLower(filepath.Ext(s.out)); ending != "" && !slices.Contains(images.Formats, ending) {
		return fmt.Errorf("--out %s ends in %q; expected %s, or no ending for a folder", s.out, ending, strings.Join(images.Formats, ", "))
	}
	for _, read := range []string{s.data, s.test} {
		switch {
		case read == "":
		case within(read, filepath.Dir(s.out)):
			return fmt.Errorf("--out %s lies in %s, which is read; write to another folder", s.out, read)
		case within(s.out, read):
			return fmt.Errorf("--out %s holds %s, which is read; write to another folder", s.out, read)
		}
	}
	if info, err := os.Lstat(s.out); err == nil && (info.IsDir() || s.folder()) {
		return fmt.Errorf("%s is there already, and folders are not replaced; remove it first, or write to another", s.out)
	}
	return nil
}

func (k ofImages) checkTest(test string) error {
	source, err := pictures.Open(test, k.Schema)
	if err != nil {
		return err
	}
	return source.Close()
}

func (ofImages) export(ctx context.Context, r *run.Run, to io.Writer, ending string) error {
	return images.Export(ctx, r, to, ending)
}

func (ofImages) compare(ctx context.Context, r *run.Run, test string) ([]string, error) {
	d, err := images.Diagnose(ctx, r, test)
	if err != nil {
		return nil, err
	}
	lines := append(each(d.Disagreement), fmt.Sprintf("sliced W₂ of points of the code, to one half of the private ones %.4f, as many of the other half %.4f", d.Distance, d.Floor))
	return append(lines, learned(d.On, d.Unlearned, "images", d.Accuracies)...), nil
}

// folder reports whether images are to be written to a folder.
func (s *synthesis) folder() bool { return filepath.Ext(s.out) == "" }

// within reports whether a folder is another, or lies in it, whatever links lead there.
func within(folder, path string) bool {
	outer, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	inner, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if outer, err = filepath.Abs(outer); err != nil {
		return false
	}
	if inner, err = filepath.Abs(inner); err != nil {
		return false
	}
	inside, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(inside)
}

// unzipWhole unpacks an artefact into a folder, which is there whole or not at all.
func unzipWhole(r *run.Run, artefact, folder string) error {
	file, err := r.Artefact(artefact)
	if err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".molehill-*")
	if err == nil {
		if err = unzip(file, made); err == nil {
			err = os.Chmod(made, 0o755)
		}
		if err == nil {
			err = os.Rename(made, folder)
		}
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}
	return errors.Join(err, file.Close())
}

func unzip(from *os.File, folder string) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(from, info.Size())
	if err != nil {
		return err
	}
	return os.CopyFS(folder, archive)
}

package own

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/command/runs"
	schemas "molehill/pkg/dataset/schema"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth/images"
	"molehill/pkg/experiment/synth/tables"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// synthesis is what the flags of synth say.
type synthesis struct {
	request                        experiment.Request
	data, schema, out, test        string
	epsilon, method                string
	delta                          float64
	rows                           int
	settings                       []string
	unexamined, replace, printJSON bool
	again                          bool // whether the run was there already
	kind                           kind // of the data
}

// synthesize makes a synthetic table, or synthetic images.
func synthesize() *cobra.Command {
	s := synthesis{}
	cmd := &cobra.Command{
		Use:   "synth --data DATA --epsilon E --out FILE",
		Short: "make a synthetic table or images of your own, with differential privacy and a report",
		Long: `Make a synthetic table of a private one (CSV, TSV, Parquet or NumPy archive), with
the columns of its schema; or synthetic images of a folder of private ones (PNG and
JPEG, a subfolder a class or none; or a NumPy archive of images), in the same layout.
Beside it are written

  NAME.report.html, .md        for whoever gets the synthetic data: what is promised,
                               what not, and how near they are to what was released
  NAME.keeper-only.html, .md   for the keeper of the private data: how the synthetic
                               ones compare with them. This is not private.

The schema has to be confirmed first (` + "`molehill schema`" + `). The work is a run like any
other: the same command again finds it and spends nothing, and so does another
format. Other data, another schema, ε, δ, method, number of rows, seed, or setting (--set)
is another release, even where it changes what comes after; the ledger counts both.`,
		Example: "  molehill schema people.csv\n  (edit people.schema.json: what is public, and not what the rows happen to have)\n  molehill schema confirm people.schema.json --all\n  molehill synth --data people.csv --epsilon 2 --delta 1e-6 --out synthetic.csv\n\n  molehill schema photos\n  (edit photos.schema.json)\n  molehill schema confirm photos.schema.json --all\n  molehill synth --data photos --epsilon 5 --delta 1e-6 --out synthetic.zip",
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&s.data, "data", "", "the private table, or the folder of private images")
	flags.StringVar(&s.schema, "schema", "", "its schema (default: the data's name with .schema.json)")
	flags.StringVar(&s.out, "out", "", "what is made; its ending says the format: .csv, .tsv, .parquet or .npz for tables, .zip, .npz or none (a folder) for images")
	flags.StringVar(&s.epsilon, "epsilon", "", "the ε to be proved")
	flags.Float64Var(&s.delta, "delta", 1e-6, "δ, well below 1 divided by the number of rows")
	flags.StringVar(&s.method, "method", "", "of tables: "+strings.Join(tables.Methods, ", ")+"; of images: "+strings.Join(images.Methods, ", ")+" (default: the first)")
	flags.IntVar(&s.rows, "rows", 0, "of the synthetic table, or images (default: as many as private ones)")
	flags.StringVar(&s.test, "test", "", "held-out rows or images, for the keeper's report")
	flags.BoolVar(&s.unexamined, "no-keeper", false, "do not compare with the private data")
	flags.BoolVar(&s.replace, "force", false, "replace files that are there")
	flags.Uint64Var(&s.request.Seed, "seed", 1, "of everything random but the noise")
	flags.BoolVar(&s.request.Research, "research", false, "noise from the seed: repeatable by anyone, no promise to anybody")
	flags.StringArrayVar(&s.settings, "set", nil, "a setting of the method, NAME=VALUE (repeatable)")
	flags.BoolVar(&s.printJSON, "json", false, "print the run as JSON")
	for _, name := range []string{"data", "epsilon", "out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of that name stands above
		}
	}
	return cmd
}

func (s *synthesis) run(cmd *cobra.Command) error {
	if err := s.check(); err != nil {
		return err
	}
	release, err := s.claim()
	if err != nil {
		return err
	}
	defer release()
	if err := s.vacant(); err != nil {
		return err
	}
	spec, err := s.request.Spec()
	if err != nil {
		return err
	}
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	if s.again, err = runs.Preview(cmd, store, spec); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Who is interrupted meanwhile has started a run, which Watch stops then.
	r, _, err := launch.Local{Binary: self}.Start(context.WithoutCancel(cmd.Context()), store, spec)
	if err != nil {
		return err
	}
	if err := runs.Watch(cmd, r); err != nil {
		return err
	}
	if err := s.deliver(cmd, r); errors.Is(err, context.Canceled) {
		return &cli.Interrupted{Next: fmt.Sprintf("what was made is kept as run %s: %s, and spends nothing more", r.ID, s.tryAgain())}
	} else if err != nil {
		return fmt.Errorf("%w; what was made is kept as run %s: the same command with another --out, or with --force once that is mended, spends nothing more", err, r.ID)
	}
	if s.printJSON {
		return runs.Describe(cmd.OutOrStdout(), r, true)
	}
	return nil
}

// check turns flags into settings, and finds mistakes before anything is spent.
func (s *synthesis) check() error {
	if s.schema == "" {
		s.schema = schemas.FileOf(s.data)
	}
	info, err := look(s.data)
	if err != nil {
		return err
	}
	if _, err := table.ReadSchema(s.schema); err == nil && info.IsDir() {
		return fmt.Errorf("%s is the schema of a table, and %s a folder of images; `molehill schema %[2]s --out FILE` drafts another, which --schema FILE names", s.schema, s.data)
	}
	s.kind, err = readSchema(s.schema, info.IsDir())
	if _, ok := s.kind.(ofImages); ok && err != nil { // in the words of a run of it
		return fmt.Errorf("%s: %w", images.Name, err)
	} else if err != nil {
		return err
	}
	if err := s.kind.checkOut(s); err != nil {
		return err
	}
	if s.test != "" && s.unexamined {
		return errors.New("--test is for the keeper's report, which --no-keeper leaves out; give one of them")
	}
	if same(s.test, s.data) {
		return errors.New("--test: these are the records themselves, which would praise a copy of them; give records that were held out, or leave it away")
	}
	if s.test != "" {
		if err := s.kind.checkTest(s.test); err != nil {
			return fmt.Errorf("--test: %w", err)
		}
	}
	if folder, err := os.Stat(filepath.Dir(s.out)); err != nil || !folder.IsDir() {
		return errors.Join(fmt.Errorf("no folder for %s", s.out), err)
	}
	if err := atomicfile.Writable(filepath.Dir(s.out)); err != nil {
		return fmt.Errorf("--out %s: nothing can be written there, and nothing was paid: %w", s.out, err)
	}
	for _, path := range []string{s.data, s.schema, s.test} {
		if same(path, s.out) {
			return fmt.Errorf("--out %s is a file that is read; write to another", s.out)
		}
	}
	words := s.kind.words()
	s.request.Experiment = words.experiment
	s.request.Settings = map[string]string{
		"data": s.data, "schema": s.schema, "epsilon": strings.Replace(s.epsilon, "∞", "inf", 1), "delta": strconv.FormatFloat(s.delta, 'g', -1, 64), words.count: strconv.Itoa(s.rows),
	}
	if s.method != "" {
		s.request.Settings["method"] = s.method
	}
	for _, setting := range s.settings {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return fmt.Errorf("--set %s: expected NAME=VALUE", setting)
		}
		if flag := flagOf(name); flag != "" {
			return fmt.Errorf("--set %s: there is a flag for it, --%s", setting, flag)
		}
		if before, twice := s.request.Settings[name]; twice {
			return fmt.Errorf("--set %s=%s and --set %s; give one of them", name, before, setting)
		}
		s.request.Settings[name] = value
	}
	return nil
}

// flagOf is the flag that a setting has, "" if it has none.
func flagOf(setting string) string {
	switch setting {
	case "data", "schema", "epsilon", "delta", "method", "rows", "seed":
		return setting
	case "images":
		return "rows"
	}
	return ""
}

// same reports whether two paths are one file.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

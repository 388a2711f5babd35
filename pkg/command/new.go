package command

import (
	"embed"
	"errors"
	"fmt"
	"go/build"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"molehill/pkg/checkout"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
)

// skeleton are the files of a new module, as templates.
//
//go:embed skeleton
var skeleton embed.FS

// newCommand makes things that people fill in.
func newCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "new",
		Short: "write what is to be filled in: a module with plug-ins of your own",
	}, newPlugin())
}

func newPlugin() *cobra.Command {
	var p newModule
	cmd := &cobra.Command{
		Use:   "plugin NAME",
		Short: "write a Go module with a data set, an experiment and their tests",
		Long: `Write a Go module that compiles and passes its tests: a data set and a private
experiment, to be changed into yours, and a main that is Molehill with them.`,
		Example: "  molehill new plugin hills\n  molehill new plugin hills --module example.org/you/hills --dir ~/src/hills",
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name = args[0]
			if err := p.complete(); err != nil {
				return err
			}
			if err := p.write(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s. What to do there:\n\n  cd %[1]s\n  export GOEXPERIMENT=simd\n  go test ./...\n  go build -o %s .\n  ./%[2]s run %s\n\nThen make %s yours; README.md says more.\n",
				p.dir, p.Binary, p.Name, filepath.Join(p.Package, "experiment.go"))
			return nil
		},
	}
	cmd.Flags().StringVar(&p.Module, "module", "", "path of the module (default: example.org/NAME)")
	cmd.Flags().StringVar(&p.dir, "dir", "", "folder, new or empty (default: the name)")
	cmd.Flags().StringVar(&p.Molehill, "molehill", "", "folder of Molehill's sources (default: the checkout around the working folder, or the one that this program was built from)")
	return cmd
}

// newModule is what the templates are filled with.
type newModule struct {
	Name     string // of the experiment
	Module   string // path
	Package  string // name, and folder
	Binary   string
	Molehill string // folder, absolute
	Go       string // version

	dir string
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// complete settles what flags leave open.
func (p *newModule) complete() error {
	if len(p.Name) > 40 || !pluginName.MatchString(p.Name) {
		return fmt.Errorf("%q cannot name a plug-in: expected lower-case letters and digits, words joined by '-', the first character a letter, at most 40; `molehill new plugin my-flow`", p.Name)
	}
	_, experimentErr := experiment.Registry.Lookup(p.Name)
	_, dataErr := dataset.Registry.Lookup(p.Name + "-points")
	if experimentErr == nil || dataErr == nil {
		return fmt.Errorf("%q is the name of a plug-in that this program has; give yours another name", p.Name)
	}
	p.Package = strings.ReplaceAll(p.Name, "-", "")
	if token.IsKeyword(p.Package) || p.Package == "main" || p.Package == "vendor" || p.Package == "testdata" {
		p.Package += "plugin"
	}
	p.Binary = "molehill-" + p.Name
	if p.Module == "" {
		p.Module = "example.org/" + p.Name
	}
	if err := module.CheckImportPath(p.Module); err != nil {
		return fmt.Errorf("--module: %w; expected a path such as example.org/you/%s", err, p.Name)
	}
	if first, _, _ := strings.Cut(p.Module, "/"); taken(first) {
		return fmt.Errorf("--module: %s is Go's, or Molehill's own; expected a path such as example.org/you/%s", first, p.Name)
	}
	if p.dir == "" {
		p.dir = p.Name
	}
	return p.findMolehill()
}

// taken reports whether no module can be called so: Go has its own packages and commands
// without a point in their paths.
func taken(first string) bool {
	if slices.Contains([]string{"molehill", "cmd", "std", "go", "vendor", "main"}, first) {
		return true
	}
	info, err := os.Stat(filepath.Join(build.Default.GOROOT, "src", first))
	return err == nil && info.IsDir()
}

// Sources is Molehill as files of modules have it, in quotes where its path needs them.
func (p *newModule) Sources() string { return modfile.AutoQuote(p.Molehill) }

// findMolehill finds the folder of Molehill's sources and its Go version.
func (p *newModule) findMolehill() error {
	places := []string{p.Molehill}
	if p.Molehill == "" {
		places = []string{"."}
		if root := os.Getenv("MOLEHILL_ROOT"); root != "" {
			places = append(places, root)
		}
		if _, source, _, ok := runtime.Caller(0); ok && filepath.IsAbs(source) {
			places = append(places, filepath.Dir(source)) // where this program was built
		}
	}
	for _, place := range places {
		root, ok := checkout.Root(place)
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			return err
		}
		mod, err := modfile.ParseLax("go.mod", text, nil)
		if err != nil {
			return err
		}
		if mod.Go == nil {
			return fmt.Errorf("%s names no version of Go", filepath.Join(root, "go.mod"))
		}
		p.Molehill, p.Go = root, mod.Go.Version
		return nil
	}
	return fmt.Errorf("expected Molehill's sources in one of these folders, found none: %s; name a checkout by --molehill", strings.Join(places, ", "))
}

// files is where each template goes.
func (p *newModule) files() map[string]string {
	return map[string]string{
		"go.mod.tmpl": "go.mod", "go.work.tmpl": "go.work", "gitignore.tmpl": ".gitignore",
		"README.md.tmpl": "README.md", "main.go.tmpl": "main.go",
		"dataset.go.tmpl":      filepath.Join(p.Package, "dataset.go"),
		"experiment.go.tmpl":   filepath.Join(p.Package, "experiment.go"),
		"plugins_test.go.tmpl": filepath.Join(p.Package, "plugins_test.go"),
	}
}

// write writes the module, whole or not at all.
func (p *newModule) write() error {
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return err
	}
	switch there, err := os.ReadDir(dir); {
	case err == nil && len(there) > 0:
		return fmt.Errorf("%s is there and not empty; name a new folder by --dir", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".new-plugin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) // nothing, once it is renamed
	if err := os.Mkdir(filepath.Join(made, p.Package), 0o755); err != nil {
		return err
	}
	for name, file := range p.files() {
		t, err := template.ParseFS(skeleton, "skeleton/"+name)
		if err != nil {
			return err
		}
		var text strings.Builder
		if err := t.Execute(&text, p); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(made, file), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	return os.Rename(made, dir) // onto an empty folder it may go, too
}

package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"molehill/pkg/launch"
)

// toolchain is the Go that builds the tools, the program and the cells.
type toolchain struct {
	program                        string // path of the go command
	GOVERSION, GOROOT, CGO_ENABLED string
	GOMODCACHE                     string // what cells import is in there: they use no network
}

// cgo says whether Go finds a C compiler, which XLA's bindings need.
func (t *toolchain) cgo() bool { return t.CGO_ENABLED == "1" }

func findToolchain(root string) (*toolchain, error) {
	program, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("the go command is not in PATH; install Go 1.26 or newer (https://go.dev/dl) and put its bin folder into PATH")
	}
	cmd := exec.Command(program, "env", "-json", "GOVERSION", "GOROOT", "CGO_ENABLED", "GOMODCACHE")
	cmd.Dir = root // go.mod there may ask for another toolchain
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(stderr.String()))
	}
	t := &toolchain{program: program}
	if err := json.Unmarshal(out, t); err != nil {
		return nil, fmt.Errorf("%s answers what cannot be read: %w", cmd, err)
	}
	return t, nil
}

// goCommand runs the go command in Root.
func (s *setup) goCommand(ctx context.Context, what string, args ...string) error {
	tools, err := s.toolchain()
	if err != nil {
		return err
	}
	set := s.goSettings()
	set["GOWORK"] = "off"
	if s.offline {
		set["GOPROXY"] = "off"
	}
	return s.command(ctx, what, withEnv(os.Environ(), set), nil, tools.program, args...)
}

// buildTools builds the programs of go.mod's tool lines that the kernel needs.
func (s *setup) buildTools(ctx context.Context) error {
	s.say("Building GoNB and goimports ...")
	return s.goCommand(ctx, "Building GoNB and goimports", "build", "-o", filepath.Join(s.Venv, "bin")+"/",
		"github.com/janpfeifer/gonb", "golang.org/x/tools/cmd/goimports")
}

// buildMolehill builds the program that cells start, so that the first one does
// not wait for it. Cells build it anew when the sources have changed.
func (s *setup) buildMolehill(ctx context.Context) error {
	if _, err := os.Stat(s.Molehill); err != nil {
		s.say("Building molehill ...")
	}
	var settings []string
	for name, value := range s.goSettings() {
		settings = append(settings, name+"="+value)
	}
	_, err := launch.Build(ctx, s.Root, settings...)
	return err
}

// warm fills the build cache with what cells import and runs a first cell, so
// that the reader's first one answers at once and a kernel that does not work
// is found here. A package that does not compile is no obstacle: it may be the
// one its author is about to mend.
func (s *setup) warm(ctx context.Context) error {
	s.say("Compiling the packages that cells import (minutes on an empty build cache) ...")
	err := s.goCommand(ctx, "Compiling the packages", "build", "./...")
	if failed, ok := errors.AsType[*commandError](err); ok && ctx.Err() == nil {
		s.say("Some packages do not compile; their cells will not either:\n%s", failed.tail)
	} else if err != nil {
		return err
	}
	// A cell is a module of its own and reads the go.mod files of all modules,
	// also of those that building here has no need of.
	if err := s.goCommand(ctx, "Fetching the module graph", "list", "-m", "all"); err != nil {
		return err
	}
	s.say("Running a first cell ...")
	return s.hello(ctx)
}

// hello runs one cell that prints and displays.
func (e *Environment) hello(ctx context.Context) error {
	const greeting = "hello from a cell"
	cell := "import (\n\t\"fmt\"\n\n\t\"github.com/janpfeifer/gonb/gonbui\"\n)\n\n%%\nfmt.Println(\"" + greeting + "\")\ngonbui.Sync()"
	dir, err := os.MkdirTemp(e.Dir, "hello")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "hello.ipynb")
	if err := NewNotebook(cell).Write(path); err != nil {
		return err
	}
	result, err := Execute(ctx, e, path, ExecuteOptions{})
	if err != nil {
		return fmt.Errorf("the kernel does not run a first cell: %w", err)
	}
	if text := result.Notebook.Text(); !strings.Contains(text, greeting) {
		return fmt.Errorf("the kernel's first cell should print %q, but shows %q", greeting, text)
	}
	return nil
}

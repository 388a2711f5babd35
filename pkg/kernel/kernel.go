// Package kernel sets up Jupyter for this repository and executes notebooks.
//
// Setup makes everything below <root>/.molehill: a Python virtual environment
// with JupyterLab at pinned versions and hashes, GoNB and goimports built from
// go.mod's tool lines, the kernel "Molehill (Go)" whose cells import this
// module with no set-up cell and no network, and the molehill program that
// cells start. The user's home is left alone, but for the caches of Go and pip.
//
// Serve runs JupyterLab, Execute runs one notebook headless, Find tells what is
// installed, and Notebook reads what an executed notebook shows.
package kernel

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"molehill/pkg/launch"
)

// Name is what Jupyter calls the kernel; DisplayName is what people see.
const (
	Name        = "molehill"
	DisplayName = "Molehill (Go)"
)

// Index is the notebook of the notebooks folder that JupyterLab opens first: the
// lessons as cards. Package lessons writes it.
const Index = "index.ipynb"

// Options says where and how to set up.
type Options struct {
	Root    string    // folder that holds go.mod
	Out     io.Writer // progress, one line per step; nil: silent
	Offline bool      // use no network: an error if anything is missing
}

// Environment is a finished set-up. All paths are absolute.
type Environment struct {
	Root     string // folder that holds go.mod
	Dir      string // <Root>/.molehill
	Venv     string // the Python environment
	Python   string // its interpreter
	Molehill string // the molehill program, built from Root
	Plugin   string // XLA's PJRT plugin for the CPU; "" if graphs run on the Go backend
	Reason   string // why there is no Plugin

	toolchain func() (*toolchain, error) // asked once
}

// at returns the Environment of root, installed or not.
func at(root string) (*Environment, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved // GoNB does not follow links when it looks for packages
	}
	dir := filepath.Join(root, ".molehill")
	venv := filepath.Join(dir, "venv")
	return &Environment{
		Root: root, Dir: dir, Venv: venv,
		Python:    filepath.Join(venv, "bin", "python"),
		Molehill:  filepath.Join(dir, "bin", "molehill"),
		toolchain: sync.OnceValues(func() (*toolchain, error) { return findToolchain(root) }),
	}, nil
}

// notebooks is the folder that JupyterLab opens.
func (e *Environment) notebooks() string {
	folder := filepath.Join(e.Root, "notebooks")
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return folder
	}
	return e.Root
}

// findPlugin looks for the plugin of requirements-xla.txt.
func (e *Environment) findPlugin() string {
	found, _ := fs.Glob(os.DirFS(e.Venv), "lib/python3*/site-packages/xla_plugins/*/*.so")
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(e.Venv, found[0])
}

// goSettings are the variables under which everything of this project is
// built, so that there is one build cache, and runs.
//
// A cell waits for its linking. Nobody debugs one with DWARF tables, and without them
// it takes a quarter less; and another fifth less where Go links XLA's bindings by
// itself and asks no C compiler to.
func (e *Environment) goSettings() map[string]string {
	linking := "-w"
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		linking += " -linkmode=internal"
	}
	flags := fmt.Sprintf(`-buildvcs=false "-ldflags=%s"`, linking)
	if tools, err := e.toolchain(); err == nil && !tools.cgo() {
		flags += " -tags=noxla" // XLA's bindings need a C compiler
	}
	set := launch.Settings(func(string) string { return "" })
	set["GOEXPERIMENT"], set["GOFLAGS"] = "simd", flags
	return set
}

// jupyterEnv is the environment of every Python process: our folders first,
// Jupyter's own files below .molehill, and nothing of the user's Python or
// Jupyter settings.
func (e *Environment) jupyterEnv() []string {
	jupyter := filepath.Join(e.Dir, "jupyter")
	set := e.goSettings()
	set["PATH"] = e.path() + string(os.PathListSeparator) + os.Getenv("PATH")
	set["JUPYTER_CONFIG_DIR"] = filepath.Join(jupyter, "config")
	set["JUPYTER_DATA_DIR"] = filepath.Join(jupyter, "data")
	set["JUPYTER_RUNTIME_DIR"] = filepath.Join(jupyter, "runtime")
	set["IPYTHONDIR"] = filepath.Join(jupyter, "ipython")
	set["JUPYTER_PREFER_ENV_PATH"] = "1"
	var inherited []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "JUPYTER") && !strings.HasPrefix(name, "JPY_") && !strings.HasPrefix(name, "PYTHON") {
			inherited = append(inherited, entry)
		}
	}
	return withEnv(inherited, set)
}

// path lists the folders that come first in PATH: goimports for GoNB, molehill
// for cells, and the Go that this set-up was made with.
func (e *Environment) path() string {
	folders := []string{filepath.Join(e.Venv, "bin"), filepath.Dir(e.Molehill)}
	if tools, err := e.toolchain(); err == nil {
		folders = append(folders, filepath.Dir(tools.program))
	}
	return strings.Join(folders, string(os.PathListSeparator))
}

// withEnv returns env with the variables of set replaced or added.
func withEnv(env []string, set map[string]string) []string {
	var all []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := set[name]; !replaced {
			all = append(all, entry)
		}
	}
	for name, value := range set {
		all = append(all, name+"="+value)
	}
	return all
}

// xlaPlatform says whether requirements-xla.txt has a file for this machine.
func xlaPlatform() bool {
	return runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")
}

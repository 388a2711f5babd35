package backend

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gomlx/compute"
)

// Candidate is a backend that looks usable.
type Candidate struct {
	Name   string // Go or XLA
	Kind   string // "go", "cpu" or "cuda"
	Plugin string // path of the PJRT plugin; "" for Go
	Source string // where it comes from, e.g. "Python wheel xla_cpu_pjrt"
}

// Open opens the candidate.
func (c Candidate) Open() (*Backend, error) {
	b, err := open(c.config())
	if err != nil {
		return nil, fmt.Errorf("%s: %s", c, oneLine(err))
	}
	b.Why = c.String()
	return b, nil
}

// String says what the candidate is and where it comes from.
func (c Candidate) String() string {
	if c.Name == Go {
		return "Go backend, built in"
	}
	return fmt.Sprintf("PJRT plugin for %s (%s)", c.Kind, c.Source)
}

func (c Candidate) config() string {
	if c.Name == Go {
		return goConfig
	}
	return XLA + ":" + c.Plugin
}

// Found lists the backends of this machine, best first, one of each kind: XLA
// for CUDA where there is an NVIDIA device, XLA for the CPU, Go. Plugins are
// looked for in GOMLX_BACKEND, in the folders go-xla installs into, and in the
// Python wheels of the active virtual environment and of the project's own.
func Found() []Candidate {
	found, _ := search()
	return found
}

// WithoutXLA says whether graphs run on the Go backend, and nobody asked for that.
func WithoutXLA() bool { return os.Getenv(compute.ConfigEnvVar) == "" && Found()[0].Name == Go }

// Slower says what makes this program slower than it could be, and what to do: a build
// without SIMD. It is "" for nothing.
func Slower() string {
	if SIMD() {
		return ""
	}
	return "this program was built without SIMD, and is several times slower; export GOEXPERIMENT=simd and build again (make does)"
}

// SlowerOn says the same of what computes its graphs on a backend here, called so
// (Backend.String): that it is the Go backend, if nobody asked for that. It is "" for another,
// and where there are no graphs, "".
func SlowerOn(called string) string {
	if !strings.HasPrefix(called, Go+" (") || !WithoutXLA() {
		return ""
	}
	return "no plugin of XLA is found, so that networks compute on the Go backend, several times slower; `make lab CHECK=1` installs one"
}

// SlowerHere is SlowerOn of what this process has opened so far.
func SlowerHere() string {
	engines.Lock()
	_, opened := engines.byConfig[goConfig]
	engines.Unlock()
	if !opened {
		return ""
	}
	return SlowerOn((&Backend{Name: Go, Device: goDevice()}).String())
}

// search is Found, with a line for each plugin that it saw and passed over.
func search() (best []Candidate, broken []string) {
	var all []Candidate
	if slices.Contains(compute.List(), XLA) {
		all = slices.Concat(wished(), installed(), wheels())
	}
	for _, kind := range []string{cuda, "cpu"} {
		if kind == cuda && !hasNVIDIA() {
			continue
		}
		for _, c := range all {
			if c.Kind != kind {
				continue
			}
			err := checkPlugin(c.Plugin)
			if err == nil {
				best = append(best, c)
				break
			}
			broken = append(broken, oneLine(err))
		}
	}
	return append(best, Candidate{Name: Go, Kind: Go}), broken
}

// wished is the plugin that GOMLX_BACKEND gives by its path.
func wished() []Candidate {
	config, _ := strings.CutPrefix(os.Getenv(compute.ConfigEnvVar), XLA+":")
	path, _, _ := strings.Cut(config, ",")
	if !filepath.IsAbs(path) {
		return nil
	}
	return []Candidate{{Name: XLA, Kind: kindOf(path), Plugin: path, Source: compute.ConfigEnvVar}}
}

// installed looks where go-xla's installer puts plugins and where go-xla looks
// for them (package pjrt of github.com/gomlx/go-xla). Its own search is not
// used because it loads every file it sees and trips over broken ones.
func installed() []Candidate {
	folders := []string{"/usr/local/lib/go-xla", "/usr/local/lib/go-xla/nvidia", "/usr/local/lib/gomlx/pjrt"}
	if home, err := os.UserHomeDir(); err == nil {
		lib := filepath.Join(home, ".local", "lib")
		folders = slices.Insert(folders, 0,
			filepath.Join(lib, "go-xla"), filepath.Join(lib, "go-xla", "nvidia"), filepath.Join(lib, "gomlx", "pjrt"))
	}
	folders = append(folders, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	if set, ok := os.LookupEnv("PJRT_PLUGIN_LIBRARY_PATH"); ok {
		folders = filepath.SplitList(set)
	}
	var found []Candidate
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		for _, pattern := range []string{"pjrt_c_api_*_plugin.*", "pjrt-plugin-*", "pjrt_plugin_*"} {
			names, _ := fs.Glob(os.DirFS(folder), pattern)
			for _, name := range names {
				path := filepath.Join(folder, name)
				if filepath.Ext(path) == ".lock" { // of the installer, beside the plugin
					continue
				}
				found = append(found, Candidate{Name: XLA, Kind: kindOf(path), Plugin: path, Source: "installed by go-xla in " + folder})
			}
		}
	}
	return found
}

// wheels looks for plugins that came with Python packages: JAX's CUDA plugin
// (jax-cuda12-pjrt, jax-cuda13-pjrt) and xla-cpu-pjrt.
func wheels() []Candidate {
	var found []Candidate
	for _, venv := range environments() {
		for _, pattern := range []string{"jax_plugins/*/xla_cuda_plugin.so", "xla_plugins/*/*.so"} {
			names, _ := fs.Glob(os.DirFS(venv), "lib*/python3*/site-packages/"+pattern)
			for _, name := range names {
				path := filepath.Join(venv, name)
				found = append(found, Candidate{Name: XLA, Kind: kindOf(path), Plugin: path,
					Source: "Python wheel " + filepath.Base(filepath.Dir(path))})
			}
		}
	}
	return found
}

// environments lists the Python virtual environments to look into: the active
// one, and .molehill/venv of the module that holds the working folder (a notebook
// runs in a folder below it), of the one that MOLEHILL_ROOT names (set for notebooks
// kept elsewhere), and of the one that this program was built in.
func environments() []string {
	var venvs []string
	if active := os.Getenv("VIRTUAL_ENV"); active != "" {
		venvs = append(venvs, active)
	}
	add := func(root string) { venvs = append(venvs, filepath.Join(root, ".molehill", "venv")) }
	if folder, err := os.Getwd(); err == nil {
		if root, ok := module(folder); ok {
			add(root)
		}
	}
	if root := os.Getenv("MOLEHILL_ROOT"); root != "" {
		add(root)
	}
	if program, err := os.Executable(); err == nil {
		if root, ok := module(filepath.Dir(program)); ok { // .molehill/bin of its module
			add(root)
		}
	}
	return venvs
}

// module is the folder, or the nearest above it, that has a go.mod.
func module(folder string) (root string, ok bool) {
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", false
		}
		folder = parent
	}
}

// kindOf guesses from its name which device a plugin drives.
func kindOf(path string) string {
	path = strings.ToLower(path)
	for _, mark := range []string{"cuda", "nvidia", "gpu"} {
		if strings.Contains(path, mark) {
			return cuda
		}
	}
	return "cpu"
}

// hasNVIDIA says whether there is a card. A container that is given one has that one
// alone, by its number.
func hasNVIDIA() bool {
	cards, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return len(cards) > 0
}

// checkPlugin reads enough of a plugin to know that it is whole and one of
// PJRT's. A file cut short by a broken download fails here.
func checkPlugin(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("plugin %s: %w; install it again or correct the path", path, err)
	}
	if info.IsDir() {
		return fmt.Errorf("plugin %s is a folder; give the path of the .so in it", path)
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("plugin %s is no whole ELF library (%v); install it again", path, err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil || !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "GetPjrtApi" }) {
		return fmt.Errorf("plugin %s does not export GetPjrtApi, so it is no PJRT plugin or not a whole one; install it again or correct the path", path)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && int64(p.Off+p.Filesz) > info.Size() {
			return fmt.Errorf("plugin %s has %d bytes where its header promises %d; install it again", path, info.Size(), p.Off+p.Filesz)
		}
	}
	return nil
}

// Package backend chooses where GoMLX graphs run: on XLA where a PJRT plugin
// is found on this machine, else on GoMLX's pure Go backend, which is there
// always. Nothing is downloaded: plugins are opened by their absolute path, and
// one that does not load costs a line in Why, not the program.
//
// Only GOMLX_BACKEND, set by a person, can ask for more: its value goes to
// GoMLX as it stands, and a failure there is an error, because falling back
// silently would ignore a wish.
package backend

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
)

// Names of backends.
const (
	Go  = "go"
	XLA = "xla"
)

// Backend is an open backend. It is shared by all who open it in a process and
// is never closed.
type Backend struct {
	Engine compute.Backend // what GoMLX takes
	Name   string          // Go or XLA
	Plugin string          // path of the PJRT plugin; "" for Go
	Device string          // what computes, in the backend's own words
	Why    string          // how it was chosen, one line
}

// String names the backend and its device, for logs and provenance.
func (b *Backend) String() string { return b.Name + " (" + b.Device + ")" }

// OnCPU says whether it computes in the memory of this machine, as far as the device's name
// tells.
func (b *Backend) OnCPU() bool {
	return b.Name == Go || strings.Contains(strings.ToLower(b.Device), "cpu")
}

// Open returns the backend of this process: the one that GOMLX_BACKEND names,
// else the first of Found that opens. Only the former can fail.
func Open() (*Backend, error) {
	if wish := os.Getenv(compute.ConfigEnvVar); wish != "" {
		return openWish(wish)
	}
	found, refused := search()
	for _, c := range found {
		b, err := c.Open()
		if err == nil {
			if len(refused) > 0 {
				b.Why += "; passed over " + strings.Join(refused, "; ")
			}
			return b, nil
		}
		refused = append(refused, oneLine(err))
	}
	return nil, fmt.Errorf("no backend opens (%s): this build lacks GoMLX's Go backend; import github.com/gomlx/compute/gobackend", strings.Join(refused, "; "))
}

// goConfig runs the operations of a graph on the Go backend one after the
// other; each still uses all cores where it can. Side by side, as compute v0.1.2
// has it by default, as many large matrix products as there are workers (twice
// the cores) each wait for a worker for ever, and the training step of the
// autoencoder takes twice as long.
const goConfig = Go + ":ops_sequential"

// openWish opens what GOMLX_BACKEND asks for. A plugin's short name (xla,
// xla:cpu, xla:cuda) means the one in Found, where there is one, and "go" the
// one there.
func openWish(wish string) (*Backend, error) {
	config := wish
	for _, c := range Found() {
		if wish == c.Name || wish == c.Name+":"+c.Kind {
			config = c.config()
			break
		}
	}
	b, err := open(config)
	if err != nil {
		return nil, fmt.Errorf("%s=%q does not open: %s; set it to %q, to %q, or unset it and a backend is chosen for you",
			compute.ConfigEnvVar, wish, oneLine(err), Go, "xla:/path/of/a/pjrt_plugin.so")
	}
	b.Why = fmt.Sprintf("%s=%s", compute.ConfigEnvVar, wish)
	return b, nil
}

// engines holds what this process has opened, by configuration: a second PJRT
// client of one plugin would compete with the first for the device's memory.
var engines = struct {
	sync.Mutex
	byConfig map[string]compute.Backend
}{byConfig: map[string]compute.Backend{}}

// open returns a Backend, without Why, for a GoMLX configuration such as "go"
// or "xla:/path/plugin.so".
func open(config string) (b *Backend, err error) {
	defer func() { // GoMLX panics on names it does not know
		if v := recover(); v != nil {
			b, err = nil, fmt.Errorf("%v", v)
		}
	}()
	name, plugin, _ := strings.Cut(config, ":")
	path, _, _ := strings.Cut(plugin, ",") // options follow the path
	if name != Go {
		if config, err = inFullPrecision(config); err != nil {
			return nil, err
		}
		besideItsLibraries(path)
	}
	if strings.HasPrefix(path, "/") {
		// Loading a broken file can end the process; reading it cannot.
		if err := checkPlugin(path); err != nil {
			return nil, err
		}
	}
	engines.Lock()
	defer engines.Unlock()
	engine, known := engines.byConfig[config]
	if !known {
		if err := undisturbed(func() (err error) {
			engine, err = compute.NewWithConfig(config)
			return err
		}); err != nil {
			return nil, err
		}
		if name != Go {
			if err := checkName(path, engine.DeviceDescription(0)); err != nil {
				engine.Finalize()
				return nil, err
			}
		}
		engines.byConfig[config] = engine
	}
	b = &Backend{Engine: engine, Name: name}
	switch {
	case name == Go:
		b.Device = goDevice()
	default:
		b.Name, b.Plugin, b.Device = XLA, path, engine.DeviceDescription(0)
		if kindOf(path) == cuda {
			b.Device = deviceName(b.Device, gpus)
		}
	}
	return b, nil
}

// oneLine is an error's first line, short enough for a status line.
func oneLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if runes := []rune(line); len(runes) > 240 {
		line = string(runes[:240]) + "…"
	}
	return line
}

package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// lonely hides every plugin of this machine from Found.
func lonely(t *testing.T) {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", "")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("MOLEHILL_ROOT", "")
	t.Chdir(t.TempDir())
}

func TestEveryBackendComputes(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		got, err := graph.CallOnce(b.Engine, func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Mul(x, x)) }, []float32{3, 4})
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Value().(float32); v != 25 {
			t.Errorf("3² + 4² = %v on %s", v, b)
		}
	})
}

// Products and convolutions keep all 24 bits of their factors: 1 + 2⁻¹², which the 11 bits
// of TF32 round to 1, times one.
func TestProductsAreExact(t *testing.T) {
	const n, v = 64, 1 + 0x1p-12
	fill := func(value func(i, j int) float32) [][]float32 {
		rows := make([][]float32, n)
		for i := range rows {
			rows[i] = make([]float32, n)
			for j := range rows[i] {
				rows[i][j] = value(i, j)
			}
		}
		return rows
	}
	values := fill(func(int, int) float32 { return v })
	unit := fill(func(i, j int) float32 {
		if i == j {
			return 1
		}
		return 0
	})
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		got, err := graph.CallOnceN(b.Engine, func(x, unit *graph.Node) []*graph.Node {
			images := graph.Reshape(x, 1, 8, 8, n)
			kernel := graph.Reshape(unit, 1, 1, n, n)
			convolved := graph.Convolve(images, kernel).Done()
			return []*graph.Node{graph.Dot(x, unit).Product(), graph.Reshape(convolved, n, n)}
		}, values, unit)
		if err != nil {
			t.Fatal(err)
		}
		for k, what := range []string{"product", "convolution"} {
			for _, row := range got[k].Value().([][]float32) {
				for _, value := range row {
					if value != v {
						t.Fatalf("%s on %s: %v, want %v", what, b, value, v)
					}
				}
			}
		}
	})
}

func TestFoundEndsWithGo(t *testing.T) {
	lonely(t)
	found := backend.Found()
	if len(found) != 1 || found[0].Name != backend.Go {
		t.Fatalf("without plugins Found is the Go backend alone, got %v", found)
	}
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != backend.Go || b.Why == "" || b.Device == "" {
		t.Errorf("Open without plugins: %+v", b)
	}
	if said := backend.SlowerOn(b.String()); !strings.Contains(said, "plugin of XLA") {
		t.Errorf("without plugins nothing is said to be slower: %q", said)
	}
	if said := backend.SlowerHere(); said != backend.SlowerOn(b.String()) {
		t.Errorf("of what is open here it is said: %q", said)
	}
	for _, other := range []string{"", "plain Go", "xla (cpu)"} {
		if said := backend.SlowerOn(other); said != "" {
			t.Errorf("of %q it is said: %s", other, said)
		}
	}
	t.Setenv("GOMLX_BACKEND", "go") // asked for
	if said := backend.SlowerOn(b.String()); said != "" {
		t.Errorf("who asked for the Go backend is told of others: %q", said)
	}
	if said := backend.SlowerHere(); said != "" {
		t.Errorf("who asked for the Go backend is told of others: %q", said)
	}
}

func TestOpenSharesOneEngine(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		t.Setenv("GOMLX_BACKEND", config(b))
		again, err := backend.Open()
		if err != nil {
			t.Fatal(err)
		}
		if again.Engine != b.Engine {
			t.Errorf("two opens of %s made two engines", b)
		}
	})
}

func config(b *backend.Backend) string {
	if b.Name == backend.Go {
		return backend.Go
	}
	return backend.XLA + ":" + b.Plugin
}

func TestWishesThatFailSayWhatToDo(t *testing.T) {
	lonely(t)
	notPJRT := filepath.Join(t.TempDir(), "plugin.so")
	if err := os.WriteFile(notPJRT, []byte("\x7fELF and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, wish := range []string{"teapot", "xla:/no/such/plugin.so", "xla:" + notPJRT, "xla:" + t.TempDir()} {
		t.Setenv("GOMLX_BACKEND", wish)
		_, err := backend.Open()
		if err == nil {
			t.Errorf("GOMLX_BACKEND=%s opened", wish)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, wish) || !strings.Contains(msg, "unset it") || strings.Contains(msg, "\n") {
			t.Errorf("GOMLX_BACKEND=%s: the error should name the value and what to do, in one line: %v", wish, err)
		}
	}
}

// A broken plugin in an environment is passed over, in one line, before
// anything is loaded from it.
func TestBrokenPluginFallsBackToGo(t *testing.T) {
	lonely(t)
	venv := t.TempDir()
	folder := filepath.Join(venv, "lib", "python3.12", "site-packages", "xla_plugins", "xla_cpu_pjrt")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "xla_cpu_pjrt.so"), []byte("\x7fELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VIRTUAL_ENV", venv)
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != backend.Go {
		t.Errorf("a broken plugin was opened: %+v", b)
	}
	if !strings.Contains(b.Why, "xla_cpu_pjrt.so") || strings.Contains(b.Why, "\n") {
		t.Errorf("Why should name the broken plugin in one line: %q", b.Why)
	}
}

func TestPluginsAreFoundInWheels(t *testing.T) {
	var plugin string
	for _, c := range backend.Found() {
		if c.Kind == "cpu" {
			plugin = c.Plugin
		}
	}
	if plugin == "" {
		t.Skip("no PJRT plugin for the CPU on this machine")
	}
	lonely(t)
	project := t.TempDir()
	folder := filepath.Join(project, ".molehill", "venv", "lib", "python3.11", "site-packages", "xla_plugins", "xla_cpu_pjrt")
	below := filepath.Join(project, "notebooks")
	for _, dir := range []string{folder, below} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "go.mod"), []byte("module m\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plugin, filepath.Join(folder, "xla_cpu_pjrt.so")); err != nil {
		t.Fatal(err)
	}
	look := func(of string) {
		t.Helper()
		found := backend.Found()
		if found[0].Kind != "cpu" || !strings.Contains(found[0].Source, "xla_cpu_pjrt") {
			t.Errorf("the environment of %s is not searched: %v", of, found)
		}
	}
	t.Chdir(below)
	look("the working folder's project")
	t.Chdir(t.TempDir()) // a notebook kept elsewhere
	if found := backend.Found(); found[0].Kind != "go" {
		t.Errorf("nothing names the project, whose environment is searched: %v", found)
	}
	t.Setenv("MOLEHILL_ROOT", project)
	look("MOLEHILL_ROOT")
}

func TestAsyncPreemptOffReadsGODEBUG(t *testing.T) {
	for value, want := range map[string]bool{"asyncpreemptoff=1": true, "gctrace=0,asyncpreemptoff=1": true, "asyncpreemptoff=1,asyncpreemptoff=0": false, "asyncpreemptoff=0": false} {
		t.Setenv("GODEBUG", value)
		if got := backend.AsyncPreemptOff(); got != want {
			t.Errorf("GODEBUG=%s: AsyncPreemptOff is %v", value, got)
		}
	}
	t.Logf("SIMD: %v", backend.SIMD())
}

func TestOnCPU(t *testing.T) {
	for _, c := range []struct {
		b    backend.Backend
		want bool
	}{{backend.Backend{Name: backend.Go}, true}, {backend.Backend{Name: backend.XLA, Device: "TFRT_CPU_0 [processId=0]"}, true}, {backend.Backend{Name: backend.XLA, Device: "NVIDIA H100 80GB HBM3"}, false}} {
		if got := c.b.OnCPU(); got != c.want {
			t.Errorf("%+v computes in this machine's memory: %v", c.b, got)
		}
	}
}

// Products on NVIDIA's GPUs are of all bits, whatever is asked for.
func TestNoTF32(t *testing.T) {
	lonely(t)
	for _, wish := range []string{"xla:cuda,tf32", "xla:cuda,tf32=true", "xla:/no/cuda.so,preallocate=false,tf32=1"} {
		t.Setenv("GOMLX_BACKEND", wish)
		if _, err := backend.Open(); err == nil || !strings.Contains(err.Error(), "11 bits") {
			t.Errorf("GOMLX_BACKEND=%s: %v; want it refused for its 11 bits", wish, err)
		}
	}
	t.Setenv("NVIDIA_TF32_OVERRIDE", "1")
	t.Setenv("GOMLX_BACKEND", "xla:cuda,tf32=false")
	if _, err := backend.Open(); err == nil {
		t.Skip("this machine has a plugin by that name")
	} else if strings.Contains(err.Error(), "11 bits") || os.Getenv("NVIDIA_TF32_OVERRIDE") != "0" {
		t.Errorf("%v, NVIDIA_TF32_OVERRIDE=%s; want convolutions in full precision, too", err, os.Getenv("NVIDIA_TF32_OVERRIDE"))
	}
}

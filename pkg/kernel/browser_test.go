package kernel

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is a tab of Chromium, headless, whose network is this machine alone.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// chromium opens one. Where none is installed the test is skipped, and says what
// to install.
func chromium(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium, which reads the notebooks as people do: sudo apt install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.WindowSize(1440, 1000),
		// Names do not resolve and everything else goes to a port where nobody
		// answers: what needs the network does not work here.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("proxy-server", "http://127.0.0.1:9"),
		chromedp.Flag("proxy-bypass-list", "127.0.0.1"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// JupyterLab's commands act on what has the focus, which a page nobody looks
	// at does not have.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return &browser{t, ctx}
}

// open goes to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(address)); err != nil {
		b.t.Fatal(err)
	}
}

// evaluate returns what JavaScript says.
func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v in %s", err, script)
	}
	return value
}

// wait waits until a condition of JavaScript holds.
func (b *browser) wait(what, condition string, patience time.Duration) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !evaluate[bool](b, "Boolean("+condition+")"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.picture("waiting")
			b.t.Fatalf("%s: not within %v; the page says %.600q", what, patience, evaluate[string](b, "document.body.innerText"))
		}
	}
}

// picture keeps a screenshot, below MOLEHILL_SCREENSHOTS if that is set, else in
// the test's own folder.
func (b *browser) picture(name string) {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	folder := os.Getenv("MOLEHILL_SCREENSHOTS")
	if folder == "" {
		folder = b.t.ArtifactDir()
	}
	path := filepath.Join(folder, strings.ReplaceAll(b.t.Name(), "/", "-")+"-"+name+".png")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Log("screenshot ", path)
}

// lab is a JupyterLab on a copy of the notebooks, with settings of its own.
type lab struct {
	*server
	folder string // of the notebooks
}

// startLab starts one that ends with the test. Notebooks are copies, which
// nobody has declared trusted, as those of a fresh clone.
func startLab(t *testing.T, settings map[string]any) *lab {
	t.Helper()
	e := environment(t)
	root := t.TempDir()
	folder := filepath.Join(root, "notebooks")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(e.Root, "notebooks"))); err != nil {
		t.Fatal(err)
	}
	config, runtime, data := filepath.Join(root, "config"), filepath.Join(root, "runtime"), filepath.Join(root, "data")
	for plugin, values := range settings {
		content, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		name, schema, _ := strings.Cut(plugin, ":")
		if err := writeFile(filepath.Join(config, "lab", "user-settings", name, schema+".jupyterlab-settings"), content); err != nil {
			t.Fatal(err)
		}
	}
	s, err := e.startOn(t.Context(), seat{root: root, notebooks: folder, env: []string{
		"JUPYTER_CONFIG_DIR=" + config, "JUPYTER_RUNTIME_DIR=" + runtime, "JUPYTER_DATA_DIR=" + data,
		"JUPYTERLAB_SETTINGS_DIR=" + filepath.Join(config, "lab", "user-settings"),
		"JUPYTERLAB_WORKSPACES_DIR=" + filepath.Join(config, "lab", "workspaces"),
		"MOLEHILL_RUNS=" + filepath.Join(root, "runs"), "MOLEHILL_LEDGER=" + filepath.Join(root, "ledger.db"),
	}, more: []string{"--LabApp.expose_app_in_browser=True"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(!t.Failed()); err != nil {
			t.Error(err)
		}
	})
	return &lab{s, folder}
}

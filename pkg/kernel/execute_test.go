package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// offline sends whatever would use the network to a port where nobody answers.
var offline = []string{
	"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "no_proxy=127.0.0.1,localhost",
}

// notebook writes a notebook of code cells to a file.
func notebook(t *testing.T, cells ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.ipynb")
	if err := NewNotebook(cells...).Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

const hello = "import \"fmt\"\n%%\nfmt.Println(\"hello\", 6*7)"

func TestExecuteOfflineWithAnEmptyHome(t *testing.T) {
	e := environment(t)
	home, temp := t.TempDir(), t.TempDir()
	keepCaches(t)
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", temp)
	path := notebook(t, hello, `import (
	"os"

	"molehill/pkg/plugin"
)
%%
fmt.Println(plugin.Nearest("sinkhron", []string{"sinkhorn", "sliced"}))
fmt.Println(os.Getenv("GOEXPERIMENT"), os.Getenv("GODEBUG"), os.Getenv("GOPROXY"))`,
		`import "github.com/janpfeifer/gonb/gonbui"
%%
gonbui.DisplayHTML("<table><tr><th>ε</th></tr><tr><td>10</td></tr></table>")
gonbui.DisplayPng([]byte("\x89PNG"))
gonbui.Sync()`,
		`import "molehill/viz"
%%
for i := range 100 {
	fmt.Println("announced", i)
	viz.Show(fmt.Sprint("shown ", i))
}`)
	before, err := os.ReadFile(filepath.Join(e.Root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Execute(t.Context(), e, path, ExecuteOptions{Env: offline, Out: logWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	var turns strings.Builder // text goes to GoNB one way and outputs another; neither may overtake
	for i := range 100 {
		fmt.Fprintf(&turns, "announced %d\nshown %d\n", i, i)
	}
	for _, want := range []string{turns.String(), "hello 42", "[sinkhorn]", "simd asyncpreemptoff=1 off", "ε"} {
		if !strings.Contains(r.Notebook.Text(), want) {
			t.Errorf("no %q in %q", want, r.Notebook.Text())
		}
	}
	if n := len(r.Notebook.Images()); n != 1 {
		t.Errorf("%d images, expected 1", n)
	}
	if tables := r.Notebook.Tables(); len(tables) != 1 || tables[0].Rows[1][0] != "10" {
		t.Errorf("tables %v", tables)
	}
	if len(r.Cells) != 4 || r.Cells[3] == 0 || r.Path != "" {
		t.Errorf("times %v, path %q", r.Cells, r.Path)
	}
	onlyGoWroteTo(t, home)
	ended(t, temp)
	if after, err := os.ReadFile(filepath.Join(e.Root, "go.sum")); err != nil || string(after) != string(before) {
		t.Errorf("go.sum changed (%v)", err)
	}
}

func TestFailingCellShowsCompilerMessage(t *testing.T) {
	path := notebook(t, hello, "%%\nfmt.Println(undefinedName)", "%%\nfmt.Println(\"never\")")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []ExecuteOptions{{InPlace: true}, {}} {
		r, err := Execute(t.Context(), environment(t), path, o)
		var failed *CellError
		if !errors.As(err, &failed) || failed.Cell != 1 || !strings.Contains(err.Error(), "undefined: undefinedName") {
			t.Fatalf("expected cell 1 and the compiler's message in %v", err)
		}
		if text := r.Notebook.Text(); !strings.Contains(text, "hello 42") || strings.Contains(text, "never") {
			t.Errorf("cells before the failure should have run, and none after: %q", text)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("a notebook that failed was written in place (%v)", err)
	}
	if nb, err := ReadNotebook(filepath.Join(filepath.Dir(path), "executed", "test.ipynb")); err != nil || len(nb.Errors()) != 1 {
		t.Errorf("the copy should show the error: %v", err)
	}
}

// A cell whose program fails says why: what it wrote is in the error, and the notebook, as
// far as it went, beside the one that stays as it is.
func TestFailingProgramsSayWhy(t *testing.T) {
	path := notebook(t, hello, "%%\nfmt.Fprintln(os.Stderr, \"no cheese is left\")\nos.Exit(3)")
	r, err := Execute(t.Context(), environment(t), path, ExecuteOptions{InPlace: true})
	var failed *CellError
	if !errors.As(err, &failed) || failed.Cell != 1 || !strings.Contains(err.Error(), "no cheese is left") || !strings.Contains(err.Error(), r.Path) {
		t.Fatalf("error %v; want what the program said, and where the notebook is", err)
	}
	if nb, err := ReadNotebook(r.Path); err != nil || r.Path == path || !strings.Contains(nb.Text(), "hello 42") || len(nb.Errors()) != 1 {
		t.Errorf("%s should show what was executed, and the error: %v", r.Path, err)
	}
}

func TestExecuteInPlaceAndExport(t *testing.T) {
	e := environment(t)
	path := notebook(t, hello)
	r, err := Execute(t.Context(), e, path, ExecuteOptions{InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil || r.Path != path || !strings.Contains(string(first), "hello 42") {
		t.Fatalf("written to %q: %v\n%s", r.Path, err, first)
	}
	if _, err := Execute(t.Context(), e, path, ExecuteOptions{InPlace: true}); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(path); err != nil || string(second) != string(first) {
		t.Errorf("executed again, the file differs (%v):\n%s", err, second)
	}
	// What its author saves meanwhile stays.
	changing, saved := make(chan error, 1), append(append([]byte{}, first...), ' ')
	go func() {
		time.Sleep(200 * time.Millisecond) // a kernel takes longer to start
		changing <- os.WriteFile(path, saved, 0o644)
	}()
	r, err = Execute(t.Context(), e, path, ExecuteOptions{InPlace: true})
	if err == nil || !strings.Contains(err.Error(), "executed/test.ipynb") || <-changing != nil {
		t.Errorf("saved meanwhile: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, saved) {
		t.Errorf("what was saved is gone: %v", err)
	}
	if executed, err := os.ReadFile(r.Path); err != nil || string(executed) != string(first) {
		t.Errorf("executed into %s: %v", r.Path, err)
	}
	if err := os.WriteFile(path, first, 0o644); err != nil {
		t.Fatal(err)
	}
	pages, err := ExportHTML(t.Context(), e, filepath.Join(t.TempDir(), "exports"), path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil || !strings.Contains(string(page), "hello 42") || filepath.Base(pages[0]) != "test.html" {
		t.Errorf("%s lacks the output (%v)", pages[0], err)
	}
}

func TestTimeoutEndsTheCell(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	path := notebook(t, hello, "import \"time\"\n%%\nfmt.Println(\"begun\")\nfor {\n\ttime.Sleep(time.Second)\n}")
	start := time.Now()
	_, err := Execute(t.Context(), environment(t), path, ExecuteOptions{Timeout: 6 * time.Second})
	var failed *CellError
	if !errors.As(err, &failed) || failed.Name != "Timeout" || failed.Cell != 1 {
		t.Fatalf("expected a timeout of cell 1, got %v", err)
	}
	if elapsed := time.Since(start); elapsed > 30*time.Second {
		t.Errorf("a timeout of 6 s took %v", elapsed)
	}
	ended(t, temp)
}

func TestCancelEndsTheKernel(t *testing.T) {
	e := environment(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	path := notebook(t, hello, "import \"time\"\n%%\nfor {\n\ttime.Sleep(time.Second)\n}")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := writerFunc(func([]byte) { time.AfterFunc(2*time.Second, cancel) }) // cell 0 has ended
	start := time.Now()
	_, err := Execute(ctx, e, path, ExecuteOptions{Out: started})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("expected context.Canceled, got %v", err)
	}
	t.Logf("ended %v after the start", time.Since(start))
	ended(t, temp)
}

func TestExecuteRefusesWhatIsNoNotebook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.ipynb")
	if err := os.WriteFile(path, []byte(`{"cells": [`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Execute(t.Context(), environment(t), path, ExecuteOptions{})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a cut notebook: %v", err)
	}
}

// ended fails if files are left in dir, or processes whose program or files are
// there.
func ended(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("%s was left behind", filepath.Join(dir, entry.Name()))
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(command), dir) {
			t.Errorf("still running: %q", strings.Split(string(command), "\x00"))
		}
	}
}

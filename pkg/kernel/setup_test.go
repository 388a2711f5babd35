package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"molehill/pkg/launch"
)

// repository is the root of this module.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

var shared struct {
	sync.Once
	env *Environment
	err error
}

// environment is the repository's own set-up. The first test that needs it on
// a machine installs it, which takes the network and a minute or more.
func environment(t *testing.T) *Environment {
	t.Helper()
	root, out := repository(t), logWriter{t}
	shared.Do(func() { shared.env, shared.err = Setup(t.Context(), Options{Root: root, Out: out}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.env
}

// logWriter writes lines to a test's log.
type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func TestSetupAgainIsQuick(t *testing.T) {
	environment(t)
	var out strings.Builder
	start := time.Now()
	e, err := Setup(t.Context(), Options{Root: repository(t), Out: &out, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	elapsed := time.Since(start)
	t.Logf("the second set-up took %v", elapsed)
	if elapsed > 5*time.Second {
		t.Errorf("the second set-up took %v, expected less than 5 s", elapsed)
	}
	if out.Len() > 0 {
		t.Errorf("with nothing to do, it says %q", &out)
	}
	if (e.Plugin == "") == (e.Reason == "") {
		t.Errorf("expected a plugin or the reason for none, found plugin %q, reason %q", e.Plugin, e.Reason)
	}
	if info, err := os.Stat(e.Molehill); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the program %s should be executable: %v", e.Molehill, err)
	}
}

func TestFindAgreesWithSetup(t *testing.T) {
	environment(t)
	f, err := Find(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 || !f.Kernel {
		t.Errorf("after a set-up: %q", f.Problems)
	}
	if !strings.HasPrefix(f.GoNB, "v0.") || !strings.HasPrefix(f.JupyterLab, "4.") || f.PythonVersion == "" {
		t.Errorf("versions: GoNB %q, JupyterLab %q, Python %q", f.GoNB, f.JupyterLab, f.PythonVersion)
	}
}

func TestFindWithoutSetupSaysWhatToDo(t *testing.T) {
	f, err := Find(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) != 4 {
		t.Errorf("expected JupyterLab, tools, kernel and program to be missing, found %q", f.Problems)
	}
	for _, p := range f.Problems {
		if !strings.Contains(p, "make lab") {
			t.Errorf("%q does not say what to do", p)
		}
	}
}

func TestKernelSpec(t *testing.T) {
	e := environment(t)
	data, err := os.ReadFile(e.specFile())
	if err != nil {
		t.Fatal(err)
	}
	var spec kernelSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	if spec.DisplayName != "Molehill (Go)" || spec.Language != "go" {
		t.Errorf("kernel %q of language %q", spec.DisplayName, spec.Language)
	}
	for _, want := range []string{"{connection_file}", "-raw_error", "-go_work=" + e.Root} {
		if !slices.Contains(spec.Argv, want) {
			t.Errorf("argv %q lacks %q", spec.Argv, want)
		}
	}
	if !strings.HasPrefix(spec.Argv[0], e.Venv) {
		t.Errorf("the kernel's program %s is outside %s", spec.Argv[0], e.Venv)
	}
	for name, want := range map[string]string{
		"GOPROXY": "off", "GOEXPERIMENT": "simd", "GODEBUG": "asyncpreemptoff=1",
		"GOMLX_NO_AUTO_INSTALL": "1", "MOLEHILL_ROOT": e.Root,
		"GLIBC_TUNABLES": launch.Settings(func(string) string { return "" })["GLIBC_TUNABLES"],
	} {
		if spec.Env[name] != want {
			t.Errorf("%s is %q, expected %q", name, spec.Env[name], want)
		}
	}
}

func TestSetupRefuses(t *testing.T) {
	_, err := Setup(t.Context(), Options{Root: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("a folder without go.mod: %v", err)
	}
	root := smallRoot(t)
	_, err = Setup(t.Context(), Options{Root: root, Offline: true})
	if err == nil || !strings.Contains(err.Error(), "network") {
		t.Errorf("nothing installed and no network: %v", err)
	}
	t.Setenv("MOLEHILL_PYTHON", filepath.Join(root, "none"))
	_, err = Setup(t.Context(), Options{Root: root})
	if err == nil || !strings.Contains(err.Error(), "sudo apt install python3") {
		t.Errorf("no Python: %v", err)
	}
	script(t, filepath.Join(root, "old"), "echo 3.9.2; exit 1")
	t.Setenv("MOLEHILL_PYTHON", filepath.Join(root, "old"))
	_, err = Setup(t.Context(), Options{Root: root})
	if err == nil || !strings.Contains(err.Error(), "old is 3.9.2") {
		t.Errorf("an old Python: %v", err)
	}
}

func TestSetupWithoutNetworkShowsPip(t *testing.T) {
	root := smallRoot(t)
	for _, name := range []string{"PIP_INDEX_URL", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	t.Setenv("PIP_RETRIES", "0")
	t.Setenv("PIP_CACHE_DIR", t.TempDir())
	// What was there works on: nobody is left without notebooks by a network that is down.
	old := filepath.Join(root, ".molehill", "venv", "bin", "gonb")
	stamped := filepath.Join(root, ".molehill", "setup.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o755), os.WriteFile(old, []byte("old"), 0o755), os.WriteFile(stamped, []byte(`{"python": "of before", "go": "x"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		text, err := os.ReadFile(old)
		stamp, failed := os.ReadFile(stamped)
		if err != nil || string(text) != "old" || failed != nil || !strings.Contains(string(stamp), "of before") {
			t.Errorf("the environment of before is %q, %v, stamped %s, %v", text, err, stamp, failed)
		}
	}()
	_, err := Setup(t.Context(), Options{Root: root, Out: logWriter{t}})
	if err == nil || !strings.Contains(err.Error(), "ERROR") || !strings.Contains(err.Error(), "setup.log") || !strings.Contains(err.Error(), "HTTPS_PROXY") {
		t.Fatalf("pip's own message, its log and what to do should be in: %v", err)
	}
	_, err = Setup(t.Context(), Options{Root: root, Offline: true})
	if err == nil {
		t.Error("a set-up that failed passes for one the next time")
	}
	// One that was killed half way leaves it waiting; the next one goes back to it first.
	venv := filepath.Join(root, ".molehill", "venv")
	if err := errors.Join(os.WriteFile(filepath.Join(venv, stampAside), []byte(`{"python": "of before"}`), 0o644), os.Rename(venv, venv+".old"), os.MkdirAll(filepath.Join(venv, "half"), 0o755), os.WriteFile(stamped, []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err = Setup(t.Context(), Options{Root: root, Offline: true}); err == nil {
		t.Error("an environment of other packages passes for this one")
	}
	if _, err := os.Stat(filepath.Join(venv, "half")); err == nil {
		t.Error("half an environment is left")
	}
}

// A machine with neither ensurepip nor a C compiler, and an empty home. Two
// set up at once; one of them does the work.
func TestSetupOnABareMachine(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: installs JupyterLab, half a minute and the network")
	}
	root := smallRoot(t)
	home := t.TempDir()
	keepCaches(t)
	t.Setenv("HOME", home)
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("PIP_CACHE_DIR", t.TempDir())
	t.Setenv("RUSTUP_HOME", t.TempDir()) // pip asks rustc, where there is one, for its version
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "python3")
	script(t, bare, `case "$*" in *ensurepip*) exit 1;; esac`+"\n"+`exec '`+python+`' "$@"`)
	t.Setenv("MOLEHILL_PYTHON", bare)

	var outs [2]strings.Builder
	var errs [2]error
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			_, errs[i] = Setup(t.Context(), Options{Root: root, Out: &outs[i]})
		})
	}
	wg.Wait()
	workers := 0
	for i := range outs {
		t.Logf("%d:\n%s", i, &outs[i])
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if strings.Contains(outs[i].String(), "Installing JupyterLab") {
			workers++
			if !strings.Contains(outs[i].String(), "without XLA: no C compiler") {
				t.Error("it should say that graphs run without XLA, and why")
			}
		}
	}
	if workers != 1 {
		t.Errorf("%d of two set-ups installed, expected one", workers)
	}
	onlyGoWroteTo(t, home)
	f, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 || f.Plugin != "" || !strings.Contains(f.spec().Env["GOFLAGS"], "noxla") {
		t.Errorf("problems %q, plugin %q, GOFLAGS %q", f.Problems, f.Plugin, f.spec().Env["GOFLAGS"])
	}
}

func TestServeCheck(t *testing.T) {
	e := environment(t)
	var out strings.Builder
	if err := e.Serve(t.Context(), ServeOptions{Check: true, Out: io.MultiWriter(&out, logWriter{t})}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), DisplayName) {
		t.Errorf("the check says %q", &out)
	}
}

func TestServeUntilCancelled(t *testing.T) {
	e := environment(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := writerFunc(func(p []byte) {
		t.Logf("%s", p)
		if strings.Contains(string(p), "http://127.0.0.1:") && strings.Contains(string(p), "token=") {
			cancel()
		}
	})
	if err := e.Serve(ctx, ServeOptions{Out: out}); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil {
		t.Error("no URL with a token was printed")
	}
}

func TestChoosePort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	if taken > 65000 {
		t.Skipf("port %d leaves no room for the next free one", taken)
	}
	if _, err := choosePort(loopback, taken); err == nil || !strings.Contains(err.Error(), "is in use; port") {
		t.Errorf("a port in use: %v", err)
	}
	if _, err := choosePort(loopback, 70000); err == nil {
		t.Error("port 70000 passes")
	}
	if port, err := choosePort(loopback, 0); err != nil || port < firstPort {
		t.Errorf("no port asked for: %d, %v", port, err)
	}
}

// smallRoot is a repository with go.mod's tools and one package, nothing else.
func smallRoot(t *testing.T) string {
	t.Helper()
	from, root := repository(t), t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	program := "package main\n\nimport _ \"github.com/janpfeifer/gonb/gonbui\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(root, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func script(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// keepCaches pins Go's caches before HOME is changed.
func keepCaches(t *testing.T) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
}

// onlyGoWroteTo fails if anything but Go's own settings (its telemetry counters
// on this machine) is in home.
func onlyGoWroteTo(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, filepath.Join(home, ".config", "go")) {
			t.Errorf("%s was written to the home folder", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// What a set-up that was killed while it removed the old environment has left is no
// obstacle to the next.
func TestForgetAfterForget(t *testing.T) {
	s := &setup{Environment: &Environment{Venv: filepath.Join(t.TempDir(), "venv")}}
	for _, part := range []string{s.Venv + ".gone", s.aside()} {
		if err := os.MkdirAll(filepath.Join(part, "lib"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.forget(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(s.Venv + "*"); len(left) > 0 || err != nil {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A program that writes megabytes without ending a line is told of in few lines all the same.
func TestTailKeepsTheEndOfEndlessLines(t *testing.T) {
	for _, ending := range []string{"the mistake", "the mistake\n"} {
		kept := &tail{}
		for range 1000 {
			if _, err := kept.Write([]byte(strings.Repeat("μ", 5000))); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = kept.Write([]byte(ending))
		text := kept.String()
		if len(text) > 5000 || !strings.HasSuffix(text, "the mistake") || !strings.HasPrefix(text, "  …μ") || !utf8.ValidString(text) {
			t.Errorf("of %q %d bytes are kept, from %.20q on", ending, len(text), text)
		}
	}
}

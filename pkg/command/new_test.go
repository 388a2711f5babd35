package command

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/privacy/ledger"
)

// written is the folder of a new module.
func written(t *testing.T, arguments ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	mustMolehill(t, append([]string{"new", "plugin", "--dir", dir}, arguments...)...)
	return dir
}

// inModule runs a program in a module as its author would.
func inModule(t *testing.T, dir string, command ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The program is built as Molehill is: without its experiment it would be several times
// slower.
func TestNewPluginIsBuiltAsMolehillIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hills")
	said := mustMolehill(t, "new", "plugin", "hills", "--dir", dir)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{said, string(readme)} {
		if _, then, _ := strings.Cut(text, "export GOEXPERIMENT=simd"); !strings.Contains(then, "go build -o molehill-hills") {
			t.Errorf("it is built without the experiment:\n%s", text)
		}
	}
}

func TestNewPluginIsWrittenWhole(t *testing.T) {
	dir := written(t, "tall-hills", "--module", "example.org/you/hills")
	for file, want := range map[string]string{
		"go.mod":                    "module example.org/you/hills",
		"go.work":                   "use (\n\t.\n",
		".gitignore":                "/molehill-tall-hills",
		"README.md":                 "./molehill-tall-hills run tall-hills",
		"main.go":                   `_ "example.org/you/hills/tallhills"`,
		"tallhills/dataset.go":      `"tall-hills-points"`,
		"tallhills/experiment.go":   "package tallhills",
		"tallhills/plugins_test.go": "package tallhills",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want it to have %q:\n%s", file, err, want, text)
		}
		if strings.Contains(string(text), "{{") || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s is not filled in", file)
		}
		if filepath.Ext(file) == ".go" {
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not as gofmt has it: %v", file, err)
			}
		}
	}
	if main, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || bytes.Count(main, []byte("\n")) > 12 {
		t.Errorf("main has %d lines, want about ten: %v", bytes.Count(main, []byte("\n")), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".new*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestNewPluginRefusesKindly(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"is there and not empty":  {"hills", "--dir", full},
		"cannot name a plug-in":   {"My Hills"},
		"give yours another name": {"sketch-flow"},
		"expected a path such as": {"hills", "--module", "no such/path"},
		"image is Go's":           {"hills", "--module", "image/hills"},
		"molehill is Go's":        {"hills", "--module", "molehill"},
		"found none: /":           {"hills", "--molehill", t.TempDir()},
		"did you mean plugin":     {"plugni"},
	} {
		line := append([]string{"new", "plugin"}, arguments...)
		if arguments[0] == "plugni" {
			line = []string{"new", "plugni"}
		}
		if out, err := molehill(t, line...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %s: %v, want it to say %q\n%s", strings.Join(line, " "), err, want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(full, "go.mod")); err == nil {
		t.Error("files were written into a folder that is not empty")
	}
	if sources := (&newModule{Molehill: "/my clone"}).Sources(); sources != `"/my clone"` {
		t.Errorf("a path with a space stands in go.work as %s", sources)
	}
}

// badPlugins is what somebody gets wrong.
const badPlugins = `package hills

import (
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

type nameless struct{ median }

func (nameless) Describe() plugin.Info { panic("no name today") }

type moody struct{ median }

func (moody) Describe() plugin.Info { return plugin.Info{Name: "moody", Summary: "has no settings", Version: "1"} }

func (moody) Config(experiment.Preset) experiment.Config { panic("no settings today") }

func init() {
	experiment.Registry.Register(nameless{})
	experiment.Registry.Register(moody{})
	experiment.Registry.Register(median{}) // again
	dataset.Registry.Register(nil)
}
`

// A module of somebody else, from its first line to a private run, offline: and
// with plug-ins in it that are faulty, the others go on.
func TestNewPluginCompilesAndRuns(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("builds and links a module; set MOLEHILL_THOROUGH=1")
	}
	dir := written(t, "hills")
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	must := func(command ...string) string {
		t.Helper()
		out, err := inModule(t, dir, command...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
		return out
	}
	must("go", "vet", "./...")
	must("go", "test", "./...")
	must("go", "build", "-o", "molehill-hills", ".")
	if out := must("./molehill-hills", "list", "hills"); !strings.Contains(out, "from     example.org/hills, package example.org/hills/hills") || !strings.Contains(out, "step_size") {
		t.Errorf("its page is\n%s", out)
	}
	if out := must("./molehill-hills", "run", "hills", "--epsilon", "2"); !strings.Contains(out, "(ε = 2, δ = 1e-06) as proved") || !strings.Contains(out, "mean distance") {
		t.Errorf("its run says\n%s", out)
	}
	if out := must("./molehill-hills", "budget", "history", "hills-points"); !strings.Contains(out, "reservation") {
		t.Errorf("the ledger says\n%s", out)
	}
	if out, err := molehill(t, "run", "hills"); err == nil || !strings.Contains(err.Error(), "is of a program that has it as a plug-in") {
		t.Errorf("run by a program without it: %v\n%s", err, out)
	}
	// With rows that no version fixes, others are another run.
	rows := filepath.Join(dir, "hills", "dataset.go")
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	unpinned := strings.Replace(string(text), "func (points) Pinned() {}", "", 1)
	ids := map[string]bool{}
	for _, at := range []string{"3+rng", "500+rng"} {
		if err := os.WriteFile(rows, []byte(strings.Replace(unpinned, "3+rng", at, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		must("go", "build", "-o", "molehill-hills", ".")
		ids[regexp.MustCompile(`hills-[0-9a-f]{12}`).FindString(must("./molehill-hills", "run", "hills", "--epsilon", "2"))] = true
	}
	if len(ids) != 2 || ids[""] {
		t.Errorf("runs on two sets of rows: %v", ids)
	}
	if err := os.WriteFile(filepath.Join(dir, "hills", "bad.go"), []byte(badPlugins), 0o600); err != nil {
		t.Fatal(err)
	}
	must("go", "build", "-o", "molehill-hills", ".")
	out := must("./molehill-hills", "list")
	for _, want := range []string{
		`experiment "hills.nameless" of example.org/hills was left out: experiment "hills.nameless" panicked in Describe: no name today (bad.go:11)`,
		`FAULTY: experiment "moody" panicked in Config: no settings today (bad.go:17)`,
		`experiment "hills" of example.org/hills was left out: example.org/hills has registered one of this name before`,
		`data set "<nil>" of example.org/hills was left out`,
		"sketch-flow", "mnist", "private geometric median",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the list lacks %q:\n%s", want, out)
		}
	}
	if out := must("./molehill-hills", "run", "hills", "--epsilon", "3"); !strings.Contains(out, "ε = 3") {
		t.Errorf("beside faulty ones the good one says\n%s", out)
	}
	if out, err := inModule(t, dir, "./molehill-hills", "run", "moody"); err == nil || !strings.Contains(out, `experiment "moody" panicked in Config`) {
		t.Errorf("the faulty one: %v\n%s", err, out)
	}
}

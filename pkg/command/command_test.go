package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"molehill/models/backend"
	"molehill/pkg/command/runs"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// TestMain lets this program stand in for molehill: what `run` starts is the
// program itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"compute", "compute-sweep", "run"}, os.Args[1]) {
		registerFewDigits()
		Main()
		return
	}
	os.Exit(m.Run())
}

// molehill runs a command line and returns what it prints.
func molehill(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := everything(t, arguments...)
	for _, line := range []string{backend.Slower(), backend.SlowerOn("go (any)")} { // what this machine lacks
		if line != "" {
			out = strings.ReplaceAll(out, "molehill: "+line+"\n", "")
		}
	}
	return out, err
}

// everything is what a command prints, and what went wrong.
func everything(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := New()
	c.SetArgs(arguments)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func mustMolehill(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := molehill(t, arguments...)
	if err != nil {
		t.Fatalf("molehill %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return out
}

// A number that leads nowhere is refused when it is asked for, by every setting of every
// experiment, and by its name: later it would have been paid for.
func TestNumbersThatLeadNowhereAreRefusedBeforeTheyArePaid(t *testing.T) {
	numbers := 0
	for _, e := range experiment.Registry.All() {
		name := e.Describe().Name
		for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
			fields, err := experiment.Fields(e.Config(preset))
			if err != nil {
				t.Fatal(err)
			}
			if fields["epsilon"] == nil { // nothing is paid for
				continue
			}
			for setting, usual := range fields {
				if setting == "epsilon" || json.Unmarshal(usual, new(float64)) != nil || slices.Contains(experiment.Unread(name), setting) {
					continue
				}
				for _, value := range []string{"1e30", "1e300", "-1e30"} {
					numbers++
					settings := map[string]string{setting: value}
					if strings.HasPrefix(name, "synth") { // whose settings are asked for once there are data
						settings["data"], settings["schema"] = "people.csv", "people.schema.json"
					}
					c := e.Config(preset)
					err := experiment.Apply(c, settings)
					if err == nil {
						err = c.Check()
					}
					if err == nil || !strings.Contains(err.Error(), setting) && setting != "delta" { // which is δ
						t.Errorf("%s, %s = %s: %v", name, setting, value, err)
					}
				}
			}
		}
	}
	if numbers < 2400 {
		t.Errorf("%d numbers were tried", numbers)
	}
}

func TestListNamesEveryKind(t *testing.T) {
	out := mustMolehill(t, "list")
	for _, want := range []string{"experiments", "data sets", "models", "estimators", "accountants", "metrics",
		"sketch-flow", "dpswflow-r", "dpswflow", "swflow", "five-gaussians", "mnist", "glyphs", "autoencoder/mnist", "rdp", "sliced-w2"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "  left out:") {
		t.Errorf("plug-ins were left out:\n%s", out)
	}
	var kinds []plugin.Kind
	if err := json.Unmarshal([]byte(mustMolehill(t, "list", "--json")), &kinds); err != nil || len(kinds) != 8 {
		t.Errorf("%d kinds in JSON, %v; want 8", len(kinds), err)
	}
	for _, k := range kinds {
		for _, p := range k.Plugins {
			if p.Name == "" || p.Summary == "" || p.Version == "" {
				t.Errorf("%s: %+v lacks its name, summary or version", k.Kind, p)
			}
			if p.Fault != "" || !p.Origin.Ships() {
				t.Errorf("%s: %s has the fault %q and is of %v", k.Kind, p.Name, p.Fault, p.Origin)
			}
		}
	}
}

func TestListShowsAKindOrAPlugin(t *testing.T) {
	if out := mustMolehill(t, "list", "data", "sets"); !strings.HasPrefix(out, "data sets\n") || strings.Contains(out, "sketch-flow") || !strings.Contains(out, "version 1; ") {
		t.Errorf("the data sets are\n%s", out)
	}
	out := mustMolehill(t, "list", "sketch-flow")
	for _, want := range []string{"one of the experiments", "one of the estimators", "use      molehill run sketch-flow", "quick  ", "paper", "settings  as above", "from     molehill, package molehill/pkg/experiment/privateflow"} {
		if !strings.Contains(out, want) {
			t.Errorf("its page lacks %q:\n%s", want, out)
		}
	}
	for setting, read := range map[string]bool{"bins": true, "epsilon": true, "features": false, "degree": false} {
		if strings.Contains(out, "\n    "+setting+" ") != read {
			t.Errorf("its page has the setting %s: %v\n%s", setting, !read, out)
		}
	}
	if !strings.Contains(out, "and refused: batch, degree, features, generated, learning_rate, scale\n") || strings.Contains(out, "see Pin") {
		t.Errorf("its page says\n%s", out)
	}
	if !strings.Contains(out, "\n  with dataset=celeba  quick") || !strings.Contains(out, "\n    step_size          36  ") {
		t.Errorf("its page lacks what faces have in place of it:\n%s", out)
	}
	if _, err := molehill(t, "list", "sketchflow"); err == nil || !strings.Contains(err.Error(), "did you mean sketch-flow? `molehill list` lists") {
		t.Errorf("list sketchflow: %v", err)
	}
	if _, err := molehill(t, "list", "metrix"); err == nil || !strings.Contains(err.Error(), "did you mean metrics") {
		t.Errorf("list metrix: %v", err)
	}
}

func TestMistakesAnswerWithTheNearest(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for want, arguments := range map[string][]string{
		"did you mean run, runs?":            {"rnu"},
		"did you mean sketch-flow":           {"run", "sketch-flwo"},
		"did you mean epsilon":               {"run", "sketch-flow", "--set", "epsilonn=3"},
		"expected NAME=VALUE":                {"run", "sketch-flow", "--set", "epsilon"},
		"ε = 0; it must be above 0":          {"run", "sketch-flow", "--epsilon", "0"},
		"epsilon cannot be \"-3\"":           {"run", "sketch-flow", "--epsilon", "-3"},
		"--epsilon is empty":                 {"run", "sketch-flow", "--epsilon", ""},
		"epsilon cannot be \"\"":             {"run", "sketch-flow", "--set", "epsilon="},
		"δ = 2":                              {"run", "sketch-flow", "--set", "delta=2"},
		"no preset is called \"huge\"":       {"run", "sketch-flow", "--preset", "huge"},
		"did you mean mnist":                 {"data", "fetch", "mnits"},
		"needs no files":                     {"data", "fetch", "glyphs"},
		"did you mean fetch":                 {"data", "fetsh"},
		"see `molehill run --help`":          {"run", "sketch-flow", "--episilon", "3"},
		"particles is 0":                     {"run", "sketch-flow", "--set", "particles=0"},
		"keeps no privacy, ε = 3 cannot be":  {"run", "swflow", "--epsilon", "3", "--set", "dataset=glyphs"},
		"003 has no noise for this method":   {"run", "sketch-flow", "--set", "published=true", "--set", "dataset=glyphs"},
		"no noise for the data set":          {"run", "dpswflow-r", "--set", "published=true", "--epsilon", "3", "--set", "dataset=glyphs"},
		"add --set stack=false":              {"run", "dpswflow-r", "--set", "published=true", "--epsilon", "10"},
		"give one of them":                   {"run", "sketch-flow", "--epsilon", "2", "--set", "epsilon=3"},
		"bins is 0":                          {"run", "sketch-flow", "--set", "bins=0"},
		"--preset is empty":                  {"run", "five-gaussians", "--preset", ""},
		"--jobs 0; take at least 1":          {"sweep", "flows-table1", "--jobs", "0"},
		"--set steps=1 and --set steps=2":    {"run", "five-gaussians", "--set", "steps=1", "--set", "steps=2"},
		"from 2 to 5000000":                  {"run", "sketch-flow", "--set", "particles=100000000000"},
		"batch is 0":                         {"run", "dpswflow-r", "--set", "batch=0"},
		"use 64 or 72":                       {"run", "dpswflow-r", "--set", "directions=70", "--set", "dataset=glyphs"},
		"use at most":                        {"run", "dpswflow", "--set", "directions=800000", "--set", "dataset=glyphs"},
		"choose 1 to":                        {"run", "sketch-flow", "--set", "bins=90000", "--set", "dataset=glyphs"},
		"no data set is called \"imagenet\"": {"run", "sketch-flow", "--set", "dataset=imagenet"},
		"bins is -3; it is from 1 to":        {"run", "sketch-flow", "--set", "bins=-3"},
		"batch is -3; it is from 1 to":       {"run", "dpswflow-r", "--set", "batch=-3"},
		"`molehill list sketch-flow` lists":  {"run", "sketch-flow", "--set", "epsilonn=3"},
		"`molehill list experiments` lists":  {"run", "nope"},
		"`molehill list` lists":              {"sweep", "nope"},
		"`molehill data list` lists":         {"data", "fetch", "nope"},
		"`molehill data --help` lists":       {"data", "nope"},
		"`molehill --help` lists":            {"help", "nope"},
		"`molehill budget --help` lists":     {"help", "budget", "nope"},
		"\"mnist\" is one argument too many": {"doctor", "mnist"},
		"EXPERIMENT is missing: expected `molehill run EXPERIMENT`, such as `molehill run sketch-flow --epsilon 1`; see `molehill run --help`": {"run"},
		"RUN is missing: expected `molehill show RUN`, such as `molehill show digits`":                                                         {"show"},
		"RUN and NAME are missing":                       {"measure"},
		"NAME is missing: expected `molehill measure":    {"measure", "digits"},
		"expected `molehill name RUN NAME`":              {"name"},
		"expected `molehill sweep NAME`":                 {"sweep"},
		"DATA is missing":                                {"schema"},
		"NAME is missing: expected `molehill data fetch": {"data", "fetch"},
		"RUN or SWEEP is missing":                        {"watch"},
		"DATASET, --delta and --epsilon are missing: expected `molehill budget create DATASET`, such as `molehill budget create mnist --epsilon": {"budget", "create"},
		"people.csv: no such file or folder; expected a table": {"schema", "people.csv"},
		"from 0 to 18446744073709551615, written out":          {"run", "sketch-flow", "--seed", "18446744073709551616"},
		"--steps 1e6: expected a whole":                        {"epsilon", "--noise-multiplier", "1.1", "--rate", "0.01", "--steps", "1e6"},
	} {
		out, err := molehill(t, arguments...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %s: %v, want it to say %q\n%s", strings.Join(arguments, " "), err, want, out)
		}
	}
}

// What learns from images refuses rows that are none, whatever else is wrong with them, and
// says where there are some.
func TestRowsThatAreNoImagesAreRefused(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	of := 0
	for _, e := range experiment.Registry.All() {
		fields, err := experiment.Fields(e.Config(experiment.Quick))
		if err != nil {
			t.Fatal(err)
		}
		var name string
		if fields["dataset"] == nil || json.Unmarshal(fields["dataset"], &name) != nil {
			continue
		}
		usual, err := dataset.Registry.Lookup(name)
		if err != nil {
			continue
		}
		if _, images := usual.(dataset.Pictured); !images {
			continue
		}
		of++
		_, err = molehill(t, "run", e.Describe().Name, "--set", "dataset=biased")
		if err == nil || !strings.Contains(err.Error(), `data set "biased": rows are 16 numbers each, not images; take a data set of images, such as celeba, fashion-mnist, glyphs, mnist`) {
			t.Errorf("%s of a table: %v", e.Describe().Name, err)
		}
	}
	if of < 20 {
		t.Errorf("%d experiments are of images; expected 20 at least", of)
	}
}

func TestRunShowRuns(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	if out := mustMolehill(t, "runs"); !strings.Contains(out, "no runs") {
		t.Errorf("an empty store says %q", out)
	}
	small := []string{"run", "five-gaussians", "--set", "steps=12", "--set", "particles=50", "--set", "directions=10", "--json"}
	var s runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, small...)), &s); err != nil {
		t.Fatal(err)
	}
	if s.State != run.Finished || !(s.Metrics["sliced W₂"] > 0) {
		t.Fatalf("the run is %s with metrics %v", s.State, s.Metrics)
	}
	for _, name := range []string{"step-1.npy", "step-10.npy", "target.npy"} {
		if _, err := os.Stat(filepath.Join(s.Dir, "artefacts", name)); err != nil {
			t.Error(err)
		}
	}
	began := time.Now()
	var again runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, small...)), &again); err != nil || again.Metrics["sliced W₂"] != s.Metrics["sliced W₂"] {
		t.Errorf("asked again: %v, %v", again.Metrics, err)
	}
	if elapsed := time.Since(began); elapsed > time.Second {
		t.Errorf("a finished run was answered in %v, want under a second", elapsed)
	}
	if n := len(again.Computed); n != 1 {
		t.Errorf("%d processes computed, want one", n)
	}
	measures := filepath.Join(s.Dir, "artefacts", "measures")
	if err := os.MkdirAll(measures, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(measures, "fid-100.json"), []byte(`{"values": {"fid-768": 0.25}, "rows": 100, "note": "of nothing"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	out := mustMolehill(t, "show", "five")
	for _, want := range []string{"  fid-768 0.25\n  of 100 generated rows; of nothing\n", "finished", "sliced W₂", "preset quick, seed 1; not the preset's: directions=10 (200), steps=12 (200), particles=50 (1000)\nsettings: sigma=0 "} {
		if !strings.Contains(out, want) {
			t.Errorf("show does not say %q but\n%s", want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(measures, "mlp-100.json"), []byte(`{"values": {"ml`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := mustMolehill(t, "show", "five"); !strings.Contains(out, "mlp-100.json") || !strings.Contains(out, "sliced W₂") {
		t.Errorf("with a damaged measure show says\n%s", out)
	}
	if out := mustMolehill(t, "runs"); !strings.Contains(out, s.ID) {
		t.Errorf("runs says\n%s", out)
	}
	if _, err := molehill(t, "show", "six"); err == nil {
		t.Error("an unknown run was shown")
	}
	if _, err := molehill(t, "delete", "five"); err == nil || !strings.Contains(err.Error(), s.ID) {
		t.Errorf("deleting by the beginning of an ID: %v", err)
	}
	if _, err := molehill(t, "cancel", s.ID); err == nil {
		t.Error("a finished run was cancelled")
	}
	// A newer program's run: nobody deletes it by half its ID, and lists tell of it.
	record := filepath.Join(s.Dir, "run.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 2`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "delete", "five"); err == nil || !strings.Contains(err.Error(), "whole ID") {
		t.Errorf("deleting one that cannot be read by the beginning of its ID: %v", err)
	}
	var listed []runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, "runs", "--json")), &listed); err != nil || len(listed) != 1 || listed[0].ID != s.ID || listed[0].Unread == "" {
		t.Errorf("one that cannot be read is listed as %+v, %v", listed, err)
	}
	if out := mustMolehill(t, "delete", s.ID); !strings.Contains(out, "stays spent") {
		t.Errorf("delete says %q", out)
	}
	if _, err := molehill(t, "show", s.ID); err == nil {
		t.Error("a deleted run was shown")
	}
}

func TestDataListAndVerify(t *testing.T) {
	var all []presence
	if err := json.Unmarshal([]byte(mustMolehill(t, "data", "list", "--json")), &all); err != nil || len(all) < 4 {
		t.Fatalf("%v, %v", all, err)
	}
	empty := t.TempDir()
	out, err := molehill(t, "data", "verify", "mnist", "--dir", empty)
	if err == nil || !strings.Contains(err.Error(), "data fetch") || !strings.Contains(out, "train-images") {
		t.Errorf("verifying an empty folder: %v\n%s", err, out)
	}
	source, err := dataset.Registry.Lookup("mnist")
	if err != nil {
		t.Fatal(err)
	}
	var missing *dataset.NotFoundError
	if _, err := source.Load(t.Context(), dataset.Options{}); errors.As(err, &missing) {
		t.Skip("WITHOUT mnist: its verification was not tested")
	}
	if out := mustMolehill(t, "data", "verify", "mnist"); strings.Count(out, "ok") != 4 {
		t.Errorf("verify says\n%s", out)
	}
}

func TestDoctorHasALineForEach(t *testing.T) {
	var findings []finding
	if err := json.Unmarshal([]byte(mustMolehill(t, "doctor", "--json")), &findings); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range findings {
		seen[f.Subject] = true
		if !f.OK && f.Advice == "" {
			t.Errorf("%s: %q without advice", f.Subject, f.Found)
		}
		if strings.Contains(f.Found, "\n") {
			t.Errorf("%s takes more than a line: %q", f.Subject, f.Found)
		}
	}
	for _, want := range []string{"go", "python", "kernel", "simd", "backend", "graph", "randomness", "runs", "data"} {
		if !seen[want] {
			t.Errorf("nothing on %s", want)
		}
	}
}

// Where nothing can be computed the doctor says so, and fails.
func TestDoctorFindsFoldersThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{file, file + "/runs", "/proc/nope/runs"} {
		t.Setenv("MOLEHILL_RUNS", place)
		out, err := molehill(t, "doctor", "--json")
		if err == nil || !strings.Contains(err.Error(), "as things are: runs") || !strings.Contains(out, "set MOLEHILL_RUNS to a folder that you may write to") {
			t.Errorf("%s: %v\n%s", place, err, out)
		}
	}
}

func TestTheProgramSaysWhatItIs(t *testing.T) {
	for _, asked := range []string{"--version", "version"} {
		out := mustMolehill(t, asked)
		for _, want := range []string{"molehill", "\ncommit ", "\ngo1."} { // a test is not told its modules
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%s", asked, want, out)
			}
		}
	}
}

// Who computes networks without XLA is told what makes them slow, once, unless that was asked
// for; who computes others, or looks at runs, is not.
func TestSlowIsTold(t *testing.T) {
	for _, name := range []string{"GOMLX_BACKEND", "PJRT_PLUGIN_LIBRARY_PATH", "VIRTUAL_ENV", "MOLEHILL_ROOT"} {
		t.Setenv(name, "")
	}
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()+"/ledger.db")
	t.Chdir(t.TempDir())
	network := []string{"circle", "--set", "records=400", "--set", "batch=100", "--set", "frames=2", "--set", "projections=6"}
	for _, c := range []struct {
		arguments []string
		times     int
		backend   string
	}{
		{with(small, "run", "five-gaussians"), 0, ""},
		{append([]string{"run"}, append(network, "--set", "steps=3", "--name", "c")...), 1, ""},
		{[]string{"show", "c"}, 0, ""},
		{[]string{"audit", "c", "--seeds", "20"}, 1, ""},
		{append([]string{"sweep"}, append(network, "--grid", "steps=4,5")...), 1, ""},
		{append([]string{"run"}, append(network, "--set", "steps=6")...), 0, "go"},
	} {
		t.Setenv("GOMLX_BACKEND", c.backend)
		out, err := everything(t, c.arguments...)
		if err != nil {
			t.Errorf("%v: %v\n%s", c.arguments, err, out)
		}
		if times := strings.Count(out, "make lab CHECK=1"); times != c.times {
			t.Errorf("%v tells %d times what makes networks slow, want %d:\n%s", c.arguments, times, c.times, out)
		}
	}
}

func TestManySeedsAreASlip(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for _, arguments := range [][]string{
		{"sweep", "five-gaussians", "--seeds", "20240101", "--finished"}, {"sweep", "flows-table1", "--seeds", "20240101", "--finished"},
	} {
		if _, err := molehill(t, arguments...); err == nil || !strings.Contains(err.Error(), "--seed is the first of them") {
			t.Errorf("%v: %v", arguments, err)
		}
	}
	if _, err := molehill(t, "sweep", "five-gaussians", "--seeds", "1000", "--grid", "steps="+numbered(101), "--finished"); err == nil || !strings.Contains(err.Error(), "fewer seeds") {
		t.Error(err)
	}
}

func numbered(n int) string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return strings.Join(all, ",")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestWhatCannotBeWrittenIsRemembered(t *testing.T) {
	out := &output{to: full{}}
	fmt.Fprintln(out, "a table") // whose error nobody looks at
	if !errors.Is(out.err, syscall.ENOSPC) {
		t.Error(out.err)
	}
}

// Where results cannot be written nothing is computed.
func TestASweepWritesSomewhere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "sweep", "five-gaussians", "--grid", "steps=1,2", "--out", file); err == nil || !strings.Contains(err.Error(), "nothing was computed") {
		t.Error(err)
	}
	if made, err := filepath.Glob(filepath.Join(dir, "runs", "five-gaussians-*")); err != nil || len(made) > 0 {
		t.Errorf("%q were made, %v", made, err)
	}
}

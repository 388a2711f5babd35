package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molehill/pkg/command/runs"
	"molehill/pkg/launch/slurmtest"
	"molehill/pkg/run"
)

// small are flags of a run that takes a moment.
var small = []string{"--set", "steps=12", "--set", "particles=50", "--set", "points=60", "--set", "directions=10"}

func with(flags []string, more ...string) []string { return append(more, flags...) }

func TestRunsAreNamedComparedAndResumed(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	mustMolehill(t, with(small, "run", "five-gaussians", "--name", "first")...)
	var second runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, with(small, "run", "five-gaussians", "--set", "sigma=0.5", "--json")...)), &second); err != nil {
		t.Fatal(err)
	}
	if out := mustMolehill(t, "name", run.Short(second.ID), "second"); !strings.Contains(out, second.ID+" is called second") {
		t.Errorf("name says %q", out)
	}
	if out := mustMolehill(t, "show", "second"); !strings.Contains(out, "called second") {
		t.Errorf("show says %q", out)
	}
	if out := mustMolehill(t, "runs"); !strings.Contains(out, "first") || !strings.Contains(out, "second") {
		t.Errorf("runs says\n%s", out)
	}
	picture := filepath.Join(t.TempDir(), "both.png")
	out := mustMolehill(t, "compare", "first", "second", "--figure", picture, "--metric", "sliced W₂")
	for _, want := range []string{"first", "second", "sigma", "0.5", "finished", "sliced W₂", picture} {
		if !strings.Contains(out, want) {
			t.Errorf("compare lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "to the target") {
		t.Errorf("compare shows a metric that was not asked for:\n%s", out)
	}
	if info, err := os.Stat(picture); err != nil || info.Size() < 5000 {
		t.Errorf("the picture: %v, %v", info, err)
	}
	if out := mustMolehill(t, "watch", "first"); !strings.Contains(out, "finished") {
		t.Errorf("watch of a finished run says %q", out)
	}
	if out := mustMolehill(t, "resume", "first"); !strings.Contains(out, "finished") {
		t.Errorf("resume of a finished run says %q", out)
	}
	if out := mustMolehill(t, "name", "first", "second"); !strings.Contains(out, "was the name of "+second.ID) {
		t.Errorf("a name that moves says %q", out)
	}
	for want, arguments := range map[string][]string{
		"cannot name a run":                   {"run", "five-gaussians", "--name", "a b"},
		"looks like the ID":                   {"name", "first", second.ID},
		"unknown run \"third\"":               {"watch", "third"},
		"none of the runs has measured that":  {"compare", "first", "--metric", "beauty"},
		"no curve to draw":                    {"compare", "first", "--figure", picture, "--curve", "beauty"},
		"such as --figure curves.png":         {"compare", "first", "--curve", "loss"},
		"did you mean here, slurm":            {"run", "five-gaussians", "--on", "mars"},
		"without --on slurm":                  {"run", "five-gaussians", "--sbatch=--mem=1G"},
		"second calls five-gaussians-":        {"delete", "second"},
		"no run is called \"third\"":          {"name", "--remove", "third"},
		"\"second\" is one argument too many": {"name", "--remove", "first", "second"},
		"NAME is missing":                     {"name", "first"},
	} {
		if out, err := molehill(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %s: %v, want it to say %q\n%s", strings.Join(arguments, " "), err, want, out)
		}
	}
}

func TestNamesAndSweepsGoAndRunsStay(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	mustMolehill(t, with(small, "sweep", "five-gaussians", "--grid", "sigma=0.5,1")...)
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	sweeps, err := store.Sweeps()
	if err != nil || len(sweeps) != 1 {
		t.Fatalf("sweeps %v, %v", sweeps, err)
	}
	sweep := sweeps[0]
	mustMolehill(t, "name", sweep.Runs[0], "half")
	mustMolehill(t, "name", sweep.Runs[0], "wide")
	if out := mustMolehill(t, "name", "--remove", "half"); !strings.Contains(out, sweep.Runs[0]+" is not called half any more") {
		t.Errorf("name --remove says %q", out)
	}
	if _, err := molehill(t, "show", "half"); err == nil {
		t.Error("a name that was taken calls a run")
	}
	mustMolehill(t, "show", "wide")
	if _, err := molehill(t, "delete", run.Short(sweep.ID)); err == nil || !strings.Contains(err.Error(), "whole ID") {
		t.Errorf("half an ID deletes a sweep: %v", err)
	}
	if err := sweep.Acquire(); err != nil {
		t.Fatal(err)
	}
	if _, err := molehill(t, "delete", sweep.ID); !errors.Is(err, run.ErrBusy) {
		t.Errorf("a sweep that is being made is deleted: %v", err)
	}
	if err := sweep.Release(); err != nil {
		t.Fatal(err)
	}
	mustMolehill(t, "delete", sweep.ID)
	if out := mustMolehill(t, "runs"); strings.Contains(out, "sweep ") || !strings.Contains(out, "wide") || !strings.Contains(out, sweep.Runs[1]) {
		t.Errorf("after its sweep is deleted there is\n%s", out)
	}
	if _, err := molehill(t, "delete", sweep.ID); !errors.Is(err, run.ErrUnknown) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestGridIsSweptAndGoesOn(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", filepath.Join(t.TempDir(), "runs"))
	out := filepath.Join(t.TempDir(), "out")
	grid := with(small, "sweep", "five-gaussians", "--grid", "sigma=0,0.5", "--grid", "step_size=1,0.5", "--seeds", "2", "--out", out)
	// One run of the grid is there before: it is not made again.
	mustMolehill(t, with(small, "run", "five-gaussians", "--set", "sigma=0", "--seed", "2", "--name", "early")...)
	said := mustMolehill(t, grid...)
	if !strings.Contains(said, "results of 8 of 8 runs are in "+out) || !strings.Contains(said, "2 of 2") {
		t.Errorf("sweep says\n%s", said)
	}
	for _, name := range []string{"results.json", "report.md", "overview.png"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var runs []runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, "runs", "--json")), &runs); err != nil || len(runs) != 8 {
		t.Fatalf("%d runs, %v; want 2·2·2", len(runs), err)
	}
	for _, r := range runs {
		if n := len(r.Computed); n != 1 || r.State != run.Finished {
			t.Errorf("%s is %s after %d computations", r.ID, r.State, n)
		}
	}

	// Left alone it makes its runs too.
	var left struct {
		ID   string
		Runs []string
	}
	if err := json.Unmarshal([]byte(mustMolehill(t, with(small, "sweep", "five-gaussians", "--grid", "sigma=0.1,0.2,0.3", "--detach", "--json")...)), &left); err != nil || len(left.Runs) != 3 {
		t.Fatalf("left alone: %+v, %v", left, err)
	}
	if out := mustMolehill(t, "watch", left.ID); strings.Count(out, ": finished") != 3 || !strings.Contains(out, "sliced W₂") {
		t.Errorf("watch says\n%s", out)
	}
	if out := mustMolehill(t, "runs"); !strings.Contains(out, left.ID+"  five-gaussians over sigma 0.1, 0.2, 0.3: 3 of 3 runs finished") {
		t.Errorf("runs says\n%s", out)
	}
	if _, err := molehill(t, "cancel", left.ID); err == nil || !strings.Contains(err.Error(), "no process is computing it") {
		t.Errorf("cancelling what is finished: %v", err)
	}
	// What keeps a run from its end is told once, and so is its name at the end.
	said, err := molehill(t, with(small, "sweep", "five-gaussians", "--grid", "sigma=0,1e300")...)
	if err == nil || strings.Count(said+err.Error(), "five-gaussians@") != 1 || strings.Contains(said, "run: ") || strings.Count(said, ": failed: ") != 1 || !strings.Contains(err.Error(), "1 of 2 runs did not finish, for the reasons above: five-gaussians@") {
		t.Errorf("a sweep with a run that fails says\n%s\n%v", said, err)
	}
	// Alone it says as much, and has its name, however soon it failed.
	_, err = molehill(t, with(small, "run", "five-gaussians", "--set", "sigma=1e300", "--name", "broken")...)
	if out := mustMolehill(t, "show", "broken"); err == nil || !strings.HasPrefix(err.Error(), "run: five-gaussians-") || strings.Contains(err.Error(), "it printed") || !strings.Contains(out, "\nfailed: sliced") {
		t.Errorf("a run that fails ends with %v and is shown as\n%s", err, out)
	}
	for want, arguments := range map[string][]string{
		"expected NAME=A,B,C":            {"sweep", "five-gaussians", "--grid", "sigma"},
		"empty or there twice":           {"sweep", "five-gaussians", "--grid", "sigma=1,,2"},
		"--with is for a table":          {"sweep", "five-gaussians", "--grid", "sigma=1", "--with", "results.json"},
		"there twice":                    {"sweep", "five-gaussians", "--grid", "sigma=1,1"},
		"give them all in one":           {"sweep", "five-gaussians", "--grid", "sigma=1", "--grid", "sigma=2"},
		"did you mean sigma":             {"sweep", "five-gaussians", "--grid", "sigmaa=1,2"},
		"give one of them":               {"sweep", "five-gaussians", "--grid", "sigma=1,2", "--set", "sigma=3"},
		"expected numbers from 0 on":     {"sweep", "five-gaussians", "--grid", "seed=1,-2"},
		"is for grids of an experiment":  {"sweep", "flows-table1", "--grid", "epsilon=1"},
		"none of the 2 runs is finished": {"sweep", "circle", "--grid", "epsilon=1,2", "--finished"}, // a table's name, too
		"did you mean five-gaussians":    {"sweep", "five-gausians", "--grid", "sigma=1"},
		"more than 100000 runs":          {"sweep", "five-gaussians", "--grid", "sigma=" + many(400), "--grid", "steps=" + many(400)},
	} {
		if out, err := molehill(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %.60s: %v, want it to say %q\n%s", strings.Join(arguments, " "), err, want, out)
		}
	}
	if out, _ := molehill(t, "sweep", "circle", "--seed", "4", "--finished"); !strings.Contains(out, "circle is a table, too: with --seed these are runs of the experiment") {
		t.Errorf("who asks for runs of an experiment that has a table's name is told\n%s", out)
	}
}

// many are n different numbers.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(",", min(i, 1)) + "1" + strings.Repeat("0", i/10) + string(rune('0'+i%10)))
	}
	return b.String()
}

// A sweep and a run on a real cluster: submitted, watched, cancelled, continued,
// and a run that fails told by itself.
func TestSweepOnSlurm(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("slow; MOLEHILL_THOROUGH=1 runs it")
	}
	slurmtest.Start(t)
	t.Setenv("MOLEHILL_RUNS", filepath.Join(t.TempDir(), "runs"))
	out := filepath.Join(t.TempDir(), "out")
	grid := with(small, "sweep", "five-gaussians", "--on", "slurm", "--grid", "sigma=0,0.5,1e300", "--out", out)
	said, err := molehill(t, grid...)
	if err == nil || !strings.Contains(err.Error(), "five-gaussians@") || !strings.Contains(said, "results of 2 of 3 runs are in "+out) || !strings.Contains(said, "3 of 3 runs are given to Slurm") {
		t.Errorf("a sweep of which one run fails ends with %v and says\n%s", err, said)
	}
	var s runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, with(small, "run", "five-gaussians", "--on", "slurm", "--sbatch=--comment=a test", "--set", "sigma=0.25", "--json")...)), &s); err != nil || s.State != run.Finished {
		t.Errorf("a run on the cluster is %s, %v", s.State, err)
	}
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := store.Open(s.ID); err != nil {
		t.Error(err)
	} else if owner, err := r.Owner(); err != nil || owner.Host != slurmtest.Node {
		t.Errorf("it was computed on %+v, %v", owner, err)
	}

	var left struct {
		ID   string
		Runs []string
	}
	long := []string{"sweep", "five-gaussians", "--on", "slurm", "--jobs", "2", "--grid", "sigma=0,0.1,0.2,0.3,0.4,0.5", "--set", "steps=20000", "--detach", "--json"}
	if err := json.Unmarshal([]byte(mustMolehill(t, long...)), &left); err != nil || len(left.Runs) != 6 {
		t.Fatalf("left alone: %+v, %v", left, err)
	}
	first, err := store.Open(left.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if e, ok := first.Last(); ok && e.Step > 0 {
			break
		}
	}
	if said := mustMolehill(t, "runs"); strings.Count(said, "queued as Slurm job") != 4 || !strings.Contains(said, "running, 0 %") { // the node has 4 cores, and --jobs says 2
		t.Errorf("runs says\n%s", said)
	}
	if _, err := molehill(t, "delete", left.Runs[0]); err == nil {
		t.Error("a run was deleted while the cluster computes it")
	}
	mustMolehill(t, "cancel", left.ID)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		said := mustMolehill(t, "runs")
		if strings.Count(said, "interrupted") == 2 && strings.Count(said, "pending") == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("cancelled, runs says\n%s", said)
		}
	}
}

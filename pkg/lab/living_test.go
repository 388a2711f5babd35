package lab_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"molehill/pkg/lab"
	"molehill/pkg/run"
	"molehill/viz"
)

// aCell is what a cell does in a kernel's process of its own; see TestMain.
func aCell(which string) {
	if which == "mistaken" {
		viz.Show(lab.Compare(lab.Open("short")).Against("colour", "sliced W₂"))
		fmt.Println("the cell went on")
		return
	}
	r := lab.Run("five-gaussians", long...)
	fmt.Println("the cell has", r.Metric("sliced W₂") > 0)
}

// long is a run of a second or more, which has no time to end by itself before a
// test is done with it.
var long = []lab.Option{lab.Set("steps", 500), lab.Set("particles", 100), lab.Set("points", 200), lab.Set("directions", 50), lab.Name("long")}

// kernel starts a cell as a notebook's kernel does, in a process group.
func kernel(t *testing.T) (*exec.Cmd, *bytes.Buffer) { return kernelOf(t, "long") }

// kernelOf is kernel for one of the cells.
func kernelOf(t *testing.T, which string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MOLEHILL_TEST_CELL="+which)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &said
}

// underWay waits until the cell's run is computed and has told of some steps.
func underWay(t *testing.T) *run.Run {
	t.Helper()
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if r, err := store.Open("long"); err == nil {
			if e, ok := r.Last(); ok && e.Step > 3 {
				return r
			}
		}
	}
	t.Fatal("no run is under way")
	return nil
}

func lives(t *testing.T, r *run.Run) int {
	t.Helper()
	all, err := r.Provenance()
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A kernel that is killed, with all that is in its process group, takes nothing
// with it: the run goes on, the cell comes back to it, and it was computed once.
func TestKernelKilledMidRun(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	cmd, _ := kernel(t)
	r := underWay(t)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the cell had ended before it was killed")
	}
	if state, err := r.State(); state != run.Running || err != nil {
		t.Fatalf("the kernel is dead and the run %s, %v", state, err)
	}
	if again := lab.Run("five-gaussians", long...); again.ID != r.ID || lives(t, r) != 1 {
		t.Errorf("the cell came back to %s after %d computations, want %s after one", again.ID, lives(t, r), r.ID)
	}
}

// An interrupted cell stops watching and says so; the run goes on until somebody
// cancels it, and then from where it was.
func TestInterruptedCellComesBack(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	cmd, said := kernel(t)
	r := underWay(t)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "molehill cancel "+run.Short(r.ID)) {
		t.Errorf("the cell ended with %v and said\n%s", err, said)
	}
	if state, err := r.State(); state != run.Running || err != nil {
		t.Fatalf("the run is %s, %v", state, err)
	}
	opened := lab.Open("long")
	opened.Cancel()
	if _, err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("cancelled it ends with %v", err)
	}
	opened.Cancel() // nothing to cancel is no mistake
	if table := lab.Runs("five-gaussians").Table().String(); !strings.Contains(table, "interrupted, ") || !strings.Contains(table, "long") {
		t.Errorf("the list says\n%s", table)
	}
	lab.Start("five-gaussians", long...).Watch()
	if lives(t, r) != 2 {
		t.Errorf("%d computations, want the interrupted one and one more", lives(t, r))
	}
}

// Two kernels on one store ask for the same run: one computes, both have it.
func TestTwoKernelsOneRun(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("slow; MOLEHILL_THOROUGH=1 runs it")
	}
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	first, a := kernel(t)
	second, b := kernel(t)
	for cmd, said := range map[*exec.Cmd]*bytes.Buffer{first: a, second: b} {
		if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "the cell has true") {
			t.Errorf("a cell ended with %v and said\n%s", err, said)
		}
	}
	if r := lab.Open("long"); lives(t, r.Run) != 1 {
		t.Errorf("%d computations of one run", lives(t, r.Run))
	}
}

func TestARunsFolderThatIsNoneIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOLEHILL_RUNS", file)
	cmd, said := kernel(t)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), file) {
		t.Errorf("the cell ended with %v and said\n%s", err, said)
	}
}

// What nobody can compare is said, and ends the cell.
func TestAMistakenComparisonEndsTheCell(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	lab.Run("five-gaussians", lab.Set("steps", 4), lab.Set("particles", 40), lab.Set("directions", 8), lab.Name("short"))
	cmd, said := kernelOf(t, "mistaken")
	err := cmd.Wait()
	if text := said.String(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "lab: no run has a setting colour") || strings.Contains(text, "went on") {
		t.Errorf("the cell ended with %v and said\n%s", err, text)
	}
}

func TestSweepFromACell(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	grid := []lab.Option{lab.Grid("sigma", 0.0, 0.5, 1.0), lab.Seeds(2), lab.Set("steps", 12), lab.Set("particles", 40), lab.Set("points", 60), lab.Set("directions", 8)}
	s := lab.Sweep("five-gaussians", grid...)
	if len(s.Runs) != 6 {
		t.Fatalf("%d runs, want 3·2", len(s.Runs))
	}
	for _, r := range s.Runs {
		if state, err := r.State(); state != run.Finished || err != nil {
			t.Errorf("%s is %s, %v", r.ID, state, err)
		}
	}
	summary := s.Summary("sliced W₂")
	if len(summary.Rows) != 3 || fmt.Sprint(summary.Header) != "[sigma finished sliced W₂]" || summary.Rows[1][0] != "0.5" || !strings.Contains(fmt.Sprint(summary.Rows[2][2]), " ± ") {
		t.Errorf("the summary is\n%s", summary)
	}
	want := (s.Runs[2].Metric("sliced W₂") + s.Runs[3].Metric("sliced W₂")) / 2
	if got := fmt.Sprint(summary.Rows[1][2]); !strings.HasPrefix(got, fmt.Sprintf("%.4g ", want)) {
		t.Errorf("the mean of sigma 0.5 is %s, want %.4g", got, want)
	}
	against := s.Against("sigma", "sliced W₂")
	if len(against.Lines) != 1 || len(against.Lines[0].X) != 3 || against.Lines[0].X[2] != 1 || !(against.Lines[0].Low[1] < against.Lines[0].Y[1]) {
		t.Errorf("the picture has %+v", against.Lines)
	}
	if figure := s.Figure(); len(figure.Lines) != 6 || figure.Lines[3].Name != "sigma 0.5, seed 2" {
		t.Errorf("the curves are %d, the fourth of %+v", len(figure.Lines), figure.Lines)
	}
	again := lab.Sweep("five-gaussians", grid...)
	if again.ID != s.ID || lives(t, again.Runs[0].Run) != 1 {
		t.Errorf("asked again: %s, %d computations", again.ID, lives(t, again.Runs[0].Run))
	}
	if opened := lab.OpenSweep(s.ID[:len(s.ID)-4]); len(opened.Runs) != 6 {
		t.Errorf("opened with %d runs", len(opened.Runs))
	}

	two := lab.Compare(s.Runs[0], s.Runs[5].Name("last"))
	if fmt.Sprint(two.Labels) != "[sigma 0 last]" {
		t.Errorf("labels %q", two.Labels)
	}
	table := two.Table("sliced W₂").String()
	for _, want := range []string{"sigma", "seed", "finished", "sliced W₂", run.Short(s.Runs[5].ID)} {
		if !strings.Contains(table, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "to the target") {
		t.Errorf("a metric that was not asked for:\n%s", table)
	}
}

// A sweep that is cancelled leaves its runs to be continued, and one of its runs
// that is deleted while it is watched is said to be.
func TestSweepCancelled(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	s := lab.StartSweep("five-gaussians", lab.Grid("sigma", 0, 0.5, 1), lab.Set("steps", 5000), lab.Jobs(1))
	first := s.Runs[0]
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if state, _ := first.State(); state == run.Running {
			break
		}
	}
	s.Cancel()
	for i, want := range []run.State{run.Interrupted, run.Pending, run.Pending} {
		if state, err := s.Runs[i].State(); state != want || err != nil {
			t.Errorf("run %d is %s, %v; want %s", i, state, err, want)
		}
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = said
	s.Wait()
	os.Stderr = before
	if text, err := os.ReadFile(said.Name()); err != nil || !strings.Contains(string(text), "lab: sigma 0.5: it is pending") {
		t.Errorf("outside a notebook it is not said which runs did not end: %v\n%s", err, text)
	}
	if err := os.RemoveAll(s.Runs[2].Dir); err != nil {
		t.Fatal(err)
	}
	c := lab.Watch(s.Runs[1], s.Runs[2]) // both at rest
	if table := c.Rows().String(); !strings.Contains(table, "deleted") {
		t.Errorf("the table says\n%s", table)
	}
}

// The process that starts the runs of a sweep may be killed too: what it has
// started goes on, and the same sweep again makes the rest.
func TestSweepKilled(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	grid := append([]lab.Option{lab.Grid("sigma", 0, 0.5, 1), lab.Jobs(1)}, long[:4]...)
	s := lab.StartSweep("five-gaussians", grid...)
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := store.OpenSweep(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := killed.Owner()
	if err != nil {
		t.Fatal(err)
	}
	first := s.Runs[0]
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if e, ok := first.Last(); ok && e.Step > 0 {
			break
		}
	}
	if err := syscall.Kill(owner.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if state, err := first.State(); state != run.Running || err != nil {
		t.Fatalf("its run is %s, %v", state, err)
	}
	for busy := true; busy && err == nil; time.Sleep(time.Millisecond) { // dying takes a moment
		busy, err = killed.Working()
	}
	if err != nil {
		t.Fatal(err)
	}
	lab.Sweep("five-gaussians", grid...)
	for _, r := range s.Runs {
		if state, err := r.State(); state != run.Finished || err != nil || lives(t, r.Run) != 1 {
			t.Errorf("%s is %s after %d computations, %v", r.ID, state, lives(t, r.Run), err)
		}
	}
}

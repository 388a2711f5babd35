package here_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/lab"
	"molehill/pkg/lab/here"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

// cellVariable turns this program into a cell: it holds the number of steps.
const cellVariable = "MOLEHILL_TEST_CELL"

func TestMain(m *testing.M) {
	if steps := os.Getenv(cellVariable); steps != "" {
		dataset.Register("pebbles", "for tests", func(context.Context, dataset.Options) (*dataset.Splits, error) {
			return nil, errors.New("nobody looks at them")
		})
		r := here.Run(walk{Stride: 1}, lab.Set("steps", steps), lab.Epsilon(3), lab.Seed(7), lab.Name("stroll"))
		fmt.Println("ended at", r.Metric("place"))
		return
	}
	os.Exit(m.Run())
}

type walkConfig struct {
	Steps   int             `json:"steps"`
	Epsilon privacy.Epsilon `json:"epsilon"`
}

func (*walkConfig) Check() error { return nil }

// walk is an experiment as a cell declares one: it pays, and then makes steps of
// 5 ms, with a checkpoint after each. Its place shows a step that is made twice
// or never.
type walk struct{ Stride int64 }

func (walk) Describe() plugin.Info {
	return plugin.Info{Name: "walk", Version: "1", Summary: "for tests"}
}
func (walk) Config(experiment.Preset) experiment.Config { return &walkConfig{Steps: 10, Epsilon: 1} }
func (w walk) Run(ctx context.Context, r *run.Run, config experiment.Config) (run.Result, error) {
	c := config.(*walkConfig)
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "the mean"},
		Records: 10, Steps: 1, Budget: privacy.Budget{Epsilon: float64(c.Epsilon), Delta: 1e-5}})
	if err != nil {
		return run.Result{}, err
	}
	paid, err := experiment.Reserve(ctx, r, "pebbles", plan)
	if err != nil {
		return run.Result{}, err
	}
	var place int64
	step, _, err := r.Restore(func(_ int, from io.Reader) error { return binary.Read(from, binary.LittleEndian, &place) })
	if err != nil {
		return run.Result{}, err
	}
	for ; step < c.Steps; step++ {
		if err := ctx.Err(); err != nil {
			return run.Result{}, err
		}
		time.Sleep(5 * time.Millisecond)
		place += w.Stride * int64(step)
		if err := r.Emit(run.Event{Step: step + 1, Total: c.Steps, Values: run.Values{"place": float64(place)}}); err != nil {
			return run.Result{}, err
		}
		if err := r.Checkpoint(step+1, func(to io.Writer) error { return binary.Write(to, binary.LittleEndian, place) }); err != nil {
			return run.Result{}, err
		}
	}
	return run.Result{Metrics: run.Values{"place": float64(place)}}, paid.Commit(ctx)
}

// desk is where a test's cells are executed: runs and a ledger of their own.
func desk(t *testing.T) run.Store {
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv(ledger.Variable, filepath.Join(dir, "ledger.db"))
	return run.Store{Dir: filepath.Join(dir, "runs")}
}

// cell starts the cell; the buffer holds what it has said when it has ended.
func cell(t *testing.T, steps int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := exec.Command(self), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), cellVariable+"="+strconv.Itoa(steps))
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, said
}

// executed executes the cell to its end and returns what it said.
func executed(t *testing.T, steps int) string {
	t.Helper()
	cmd, said := cell(t, steps)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return said.String()
}

// only waits for the one run of a store to have made a step.
func only(t *testing.T, s run.Store, step int) *run.Run {
	t.Helper()
	for range 1000 {
		entries, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 1 && entries[0].Run != nil {
			events, _ := entries[0].Run.Events()
			if len(events) > 0 && events[len(events)-1].Step >= step {
				return entries[0].Run
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the cell starts no run")
	return nil
}

func TestACellsExperimentIsARunLikeAnyOther(t *testing.T) {
	store := desk(t)
	if said := executed(t, 10); !strings.Contains(said, "ended at 45") { // 0 + 1 + … + 9
		t.Errorf("the cell says\n%s", said)
	}
	began := time.Now()
	if said := executed(t, 10); !strings.Contains(said, "ended at 45") {
		t.Errorf("again it says\n%s", said)
	}
	t.Logf("again: %v", time.Since(began))
	r := only(t, store, 10)
	if state, err := r.State(); err != nil || state != run.Finished {
		t.Errorf("the run is %s, %v", state, err)
	}
	if computed, err := r.Provenance(); err != nil || len(computed) != 1 {
		t.Errorf("executed twice, computed %d times, %v; want once", len(computed), err)
	}
	if !experiment.OfCell(r.Spec) || r.Spec.Seed != 7 {
		t.Errorf("the spec is %+v", r.Spec)
	}
	if named, err := store.Open("stroll"); err != nil || named.ID != r.ID {
		t.Errorf("by its name: %v, %v", named, err)
	}
	// Programs without the code, such as this one, say so.
	var refusal *experiment.CellError
	if _, err := (experiment.Request{Experiment: "walk"}).Spec(); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "execute that cell") || !strings.Contains(err.Error(), r.ID) {
		t.Errorf("started elsewhere: %v", err)
	}
	if _, err := (experiment.Request{Experiment: "wlak"}).Spec(); err == nil || errors.As(err, &refusal) {
		t.Errorf("another name: %v", err)
	}
}

func TestInterruptedAndKilledCellsGoOn(t *testing.T) {
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "kill": syscall.SIGKILL} {
		store := desk(t)
		cmd, said := cell(t, 60)
		r := only(t, store, 3)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("%s: the cell ended well:\n%s", name, said)
		}
		if signal == os.Interrupt && !strings.Contains(said.String(), "Execute the cell again") {
			t.Errorf("interrupted, the cell says\n%s", said)
		}
		if state, err := r.State(); err != nil || state != run.Interrupted {
			t.Fatalf("%s: the run is %s, %v", name, state, err)
		}
		if err := compute(t, r); err == nil || !strings.Contains(err.Error(), "notebook cell") {
			t.Errorf("%s: a program without the code computes it: %v", name, err)
		}
		if said := executed(t, 60); !strings.Contains(said, "ended at 1770") { // 0 + … + 59
			t.Errorf("%s: the cell goes on to\n%s", name, said)
		}
		events, err := r.Events()
		if err != nil {
			t.Fatal(err)
		}
		steps := map[int]int{}
		for _, e := range events {
			if e.Values != nil {
				steps[e.Step]++
			}
		}
		if len(steps) != 60 || steps[1] != 1 || steps[60] != 1 {
			t.Errorf("%s: the curve has %d steps of 60", name, len(steps))
		}
		if n := reservations(t); n != 1 {
			t.Errorf("%s: paid %d times, want once", name, n)
		}
	}
}

// compute is what a program without the code makes of a run.
func compute(t *testing.T, r *run.Run) error {
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return experiment.Compute(t.Context(), r)
}

func reservations(t *testing.T) int {
	l, err := ledger.Open(os.Getenv(ledger.Variable))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	history, err := l.History(t.Context(), "pebbles")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range history.Entries {
		if e.Kind == ledger.Reserved {
			n++
		}
	}
	return n
}

func TestTwoKernelsComputeOnce(t *testing.T) {
	store := desk(t)
	first, saidFirst := cell(t, 60)
	r := only(t, store, 2)
	second, saidSecond := cell(t, 60)
	for cmd, said := range map[*exec.Cmd]*bytes.Buffer{first: saidFirst, second: saidSecond} {
		if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "ended at 1770") {
			t.Errorf("%v\n%s", err, said)
		}
	}
	if computed, err := r.Provenance(); err != nil || len(computed) != 1 {
		t.Errorf("computed %d times, %v; want once", len(computed), err)
	}
}

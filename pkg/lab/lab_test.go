package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molehill/pkg/command"
	"molehill/pkg/lab"
	"molehill/viz"
)

// TestMain lets this program stand in for molehill, which lab asks for runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		command.Main()
		return
	}
	if which := os.Getenv("MOLEHILL_TEST_CELL"); which != "" {
		aCell(which)
		return
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Setenv("MOLEHILL_BIN", self)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// What a cell does, outside a notebook: run, look, run again, open.
func TestACell(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	small := []lab.Option{lab.Set("steps", 12), lab.Set("particles", 40), lab.Set("directions", 8), lab.Seed(3), lab.Research()}
	r := lab.Run("five-gaussians", small...)
	if d := r.Metric("sliced W₂"); !(d > 0) {
		t.Errorf("sliced W₂ = %v", d)
	}
	if x, columns := r.Table("step-10.npy"); columns != 2 || len(x) != 80 {
		t.Errorf("step 10 is %d numbers in %d columns, want 40 points of the plane", len(x), columns)
	}
	if line := r.Line("sliced W₂"); len(line.X) != 12 || line.X[11] != 12 {
		t.Errorf("the curve has its steps at %v", line.X)
	}
	var figure viz.Figure = r.Curve("sliced W₂")
	if err := figure.Save(filepath.Join(t.TempDir(), "curve.png")); err != nil {
		t.Error(err)
	}
	if again := lab.Start("five-gaussians", small...).Wait(); again.ID != r.ID {
		t.Errorf("the same cell again made %s of %s", again.ID, r.ID)
	}
	if other := lab.Run("five-gaussians", append(small, lab.Seed(4))...); other.ID == r.ID {
		t.Error("another seed is the same run")
	}
	if opened := lab.Open(r.ID[:18]); opened.ID != r.ID {
		t.Errorf("opened %s", opened.ID)
	}
}

func TestMistakesComeBackAsMolehillSaysThem(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	err := lab.Ask("five-gausians")
	if err == nil || !strings.HasPrefix(err.Error(), "no experiment is called") {
		t.Errorf("error %v", err)
	}
	for said, want := range map[string]string{
		"molehill: ε is 0\n": "ε is 0",
		"molehill: slow here\nmolehill: other\nmolehill: ε is 0\nδ too\n": "ε is 0\nδ too",
		"a tool of another: molehill: no\n":                               "a tool of another: molehill: no",
		"panic":                                                           "panic",
		"":                                                                "",
	} {
		if got := lab.Mistake(said); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
	}
}

func TestPrivateRunsShowTheirPromise(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	r := lab.Run("sketch-flow", lab.Dataset("glyphs"), lab.Epsilon(2), lab.Set("particles", 200), lab.Set("steps", 10))
	s := r.Statement()
	if !(s.Epsilon() <= 2 && s.Epsilon() >= 1.9) || s.Research {
		t.Errorf("the statement proves ε = %v, research %v; want 2 under a secret key", s.Epsilon(), s.Research)
	}
	table := r.Privacy().String()
	for _, want := range []string{"ε = 2", "replace-one", "bin means", "secure", "not covered", "public by construction"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q:\n%s", want, table)
		}
	}
	grid := r.Samples(9)
	if grid.Height != 32 || len(grid.X) != 9*32*32 {
		t.Errorf("%d values of images %d high", len(grid.X), grid.Height)
	}
	// The result is on the disk first, so that a crash between the two loses no run.
	for finished := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(r.Dir, "key"))
		if os.IsNotExist(err) {
			break
		}
		if time.Since(finished) > 10*time.Second {
			t.Fatalf("the noise key is still there after the run: %v", err)
		}
	}
}

func TestCatalogueAsksTheProgram(t *testing.T) {
	if text := lab.Catalogue("metrics").String(); !strings.Contains(text, "sliced-w2") || !strings.Contains(text, "003 Eq. 4") {
		t.Errorf("the metrics are\n%s", text)
	}
	if page := lab.Catalogue("five-gaussians"); !strings.Contains(page.String(), "step_size") || !strings.Contains(page.Caption, "molehill run five-gaussians") {
		t.Errorf("its page is\n%s", page)
	}
}

// A line of events that is none is passed over, and whole numbers may be floats in Go.
func TestAForeignEventHidesNoRun(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	ask := func() *lab.Result {
		return lab.Run("five-gaussians", lab.Set("particles", 2e2), lab.Set("steps", 20), lab.Set("sigma", 0.25))
	}
	r := ask()
	path := filepath.Join(r.Run.Dir, "events.jsonl")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append([]byte("garbage\n"), text...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again := ask(); again.ID != r.ID {
		t.Errorf("found %s, want %s", again.ID, r.ID)
	}
}

// A value of a grid is one, whatever it holds: the command reads it back as it was.
func TestGridQuotesCommas(t *testing.T) {
	if words := lab.Grid("radii", "0,0.1", 0.2, 1.0)(nil); !slices.Equal(words, []string{"--grid", `radii="0,0.1",0.2,1`}) {
		t.Errorf("%q", words)
	}
}

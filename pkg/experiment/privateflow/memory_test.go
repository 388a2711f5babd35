package privateflow

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/privacy/noise"
	"molehill/transport"
)

// A method at the paper's sizes, 30,000 records of 8 numbers and 10,000 particles, makes
// its plan, releases and moves within little memory, of which steps keep less than a
// table of projections (2.9 MB) each. The peak is that of a process of its own, by what
// the system counts, Go's runtime included; a run has the images and the autoencoder on
// top (docs/numbers.md).
func TestFlowsTakeLittleMemory(t *testing.T) {
	const child = "MOLEHILL_TEST_MEMORY"
	limits := map[string]int{ // MiB
		"dpswflow-r": 150, "harmonic-flow": 400,
	}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		maps.Copy(limits, map[string]int{"dpswflow": 150, "sketch-flow": 150, "harmonic-classes": 400, "private-normal": 150, "swflow": 150})
	}
	if name := os.Getenv(child); name != "" {
		moveAtPaperSize(t, name, 12)
		small := experimenttest.MostMemory(t)
		moveAtPaperSize(t, name, 75) // more steps take no more
		t.Logf("peaks %d %d", small, experimenttest.MostMemory(t))
		return
	}
	for name, limit := range limits {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFlowsTakeLittleMemory$", "-test.v")
		cmd.Env = append(os.Environ(), child+"="+name)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if strings.Contains(string(text), "SKIP") {
			t.Skip(string(text))
		}
		_, told, _ := strings.Cut(string(text), "peaks ")
		var few, many int
		if _, err := fmt.Sscan(told, &few, &many); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		t.Logf("%s: %d MiB after 12 steps, %d after 75 more", name, few, many)
		if many > limit || many > few+100 {
			t.Errorf("%s took %d MiB, and %d with more steps; at most %d, and hardly more for steps", name, few, many, limit)
		}
	}
}

func moveAtPaperSize(t *testing.T, name string, steps int) {
	t.Helper()
	e, err := Estimators.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	c, public := e.Config(experiment.Paper), noise.Seeded(1)
	if c.Particles < 10_000 {
		t.Fatalf("%d particles in the paper's preset", c.Particles)
	}
	c.Steps = steps
	rng := rand.New(rand.NewPCG(1, 1))
	records := Records{Points: transport.NewPoints(30_000, 8)}
	for i := range records.Points.Data {
		records.Points.Data[i] = float32(rng.NormFloat64())
	}
	records.Points.OnSphere()
	for i := range c.Classes * 3000 {
		records.Labels = append(records.Labels, i%c.Classes)
	}
	plan, _, err := e.Plan(c, records.Points.Len(), 8, public)
	if err != nil {
		t.Fatal(err)
	}
	guide, err := e.Guide(c, records, plan.Releaser(noise.Seeded(2)), public)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Follow(t.Context(), c, guide, 8, public); err != nil {
		t.Fatal(err)
	}
}

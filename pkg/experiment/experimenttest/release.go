package experimenttest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/npy"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
)

// Numbers are those of an artefact in double precision, such as a release.
func Numbers(t *testing.T, r *run.Run, artefact string) []float64 {
	t.Helper()
	_, values, err := npy.ReadOf[float64](Read(t, r, artefact))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// ReleasesTheSame has the run that q asks for stopped after its release, which it leaves as
// an artefact, and checks that it goes on with the same one.
func ReleasesTheSame(t *testing.T, q experiment.Request, artefact string) {
	t.Helper()
	r := Acquired(t, q)
	if experiment.Compute(&released{t.Context(), r, artefact}, r) == nil {
		t.Fatal("the run was faster than its interruption")
	}
	before := Read(t, r, artefact)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, Read(t, Computed(t, r, 0), artefact)) {
		t.Error("stopped after its release, the run made another one")
	}
}

// released is a context that ends once a run has left an artefact.
type released struct {
	context.Context
	run      *run.Run
	artefact string
}

func (c *released) Err() error {
	if names, err := c.run.Artefacts(); err == nil && strings.Contains(strings.Join(names, " "), c.artefact) {
		return context.Canceled
	}
	return c.Context.Err()
}

// Audited audits a finished run, and checks that its claim survives, that the audit comes
// to more than a part least of it, and that again, which makes the game of a statement,
// makes none of another one. Confidence 1 − 1e-6 a bound: a false alarm in 100,000 tests.
func Audited(t *testing.T, r *run.Run, least float64, again func(privacy.Statement) (audit.Game, error)) audit.Game {
	t.Helper()
	game, statement, err := experiment.Game(r)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Run(t.Context(), game, audit.Options{Delta: statement.Delta, Confidence: 1 - 1e-6, Random: rand.New(rand.NewPCG(1, 2)),
		Secret: func(execution int) (noise.Source, error) { return noise.Seeded(uint64(execution)), nil }})
	if err != nil {
		t.Fatal(err)
	}
	found, claimed := report.Best().Epsilon, float64(statement.Epsilon())
	t.Logf("audited ε ≥ %v of %v claimed", found, claimed)
	if !(found > least*claimed && found <= claimed) {
		t.Errorf("audited ε ≥ %v of %v claimed, want more than a part of %v", found, claimed, least)
	}
	ReadsValues(t, statement, again)
	another := statement
	another.NoiseStd /= 2
	another.Sensitivity.Value /= 2
	for _, s := range []privacy.Statement{{}, another} {
		if _, err := again(s); err == nil || !strings.Contains(err.Error(), "audit it with the version that made it") {
			t.Errorf("%+v was taken: %v", s, err)
		}
	}
	return game
}

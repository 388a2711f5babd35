package privateflow

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/models/inception"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
)

// onSphere are n random points.
func onSphere(n, dim int, seed uint64) transport.Points {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := transport.NewPoints(n, dim)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	x.OnSphere()
	return x
}

// inTurn are n labels below classes.
func inTurn(n, classes int) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i % classes
	}
	return labels
}

// What an estimator tells of the records passes through its releaser: with what
// was released put in the place of its answers, records that are all zero make
// the same guide. It is what allows a release to be used again, and would show an
// estimator that looks at records behind the releaser's back.
func TestAGuideIsMadeOfItsReleaseAlone(t *testing.T) {
	const n, dim = 400, 8
	tested := 0
	for _, e := range Estimators.All() {
		for _, epsilon := range []privacy.Epsilon{2, privacy.Epsilon(math.Inf(1))} {
			c := Experiment{e}.Config(experiment.Quick).(*Config)
			c.Epsilon, c.Degree = epsilon, 3 // higher harmonics take time and show no more
			if c.Check() != nil {
				continue
			}
			public := noise.Seeded(1)
			plan, _, err := e.Plan(c, n, dim, public)
			if err != nil {
				t.Fatal(err)
			}
			if !releasesOnce(plan) {
				continue
			}
			tested++
			var kept []float64
			known := onSphere(n/2, dim, 5) // not the records: of Informed estimators alone
			release := plan.Releaser(noise.Seeded(2))
			release.Keep(func(_ int, released []float64) error { kept = slices.Clone(released); return nil })
			guide, err := e.Guide(c, Records{onSphere(n, dim, 3), inTurn(n, 10), known}, release, public)
			if err != nil {
				t.Fatal(err)
			}
			replay, err := plan.Replay(kept)
			if err != nil {
				t.Fatal(err)
			}
			again, err := e.Guide(c, Records{transport.NewPoints(n, dim), make([]int, n), known}, replay, public)
			if err != nil {
				t.Fatal(err)
			}
			blind, err := e.Guide(c, Records{onSphere(n, dim, 4), inTurn(n, 7), known}, plan.Releaser(noise.Seeded(2)), public)
			if err != nil {
				t.Fatal(err)
			}
			f := flow.Flow{StepSize: 1, Random: noise.Seeded(5)}
			x := onSphere(50, dim, 6)
			drift := func(g flow.Guide) []float32 {
				v, err := g.Drift(f, x, 3)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			want := drift(guide)
			if !slices.Equal(drift(again), want) {
				t.Errorf("%s, ε = %v: the guide of the release alone is another", e.Describe().Name, epsilon)
			}
			if slices.Equal(drift(blind), want) {
				t.Errorf("%s, ε = %v: other records made the same guide", e.Describe().Name, epsilon)
			}
		}
	}
	if tested < 16 {
		t.Errorf("%d estimators and budgets were tested, want both of at least eight", tested)
	}
}

// made is a finished run on glyphs, tiny.
func made(t *testing.T, store run.Store, method string, settings map[string]string) (*run.Run, error) {
	t.Helper()
	all := map[string]string{"dataset": "glyphs", "particles": "60", "steps": "5"}
	for name, value := range settings {
		all[name] = value
	}
	spec, err := experiment.Request{Experiment: method, Seed: 7, Settings: all}.Spec()
	if err != nil {
		return nil, err
	}
	r, err := store.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return r, experiment.Compute(context.Background(), r)
}

func TestAReleaseIsUsedAgain(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	first, err := made(t, store, "harmonic-flow", map[string]string{"epsilon": "2", "degree": "3"})
	if err != nil {
		t.Fatal(err)
	}
	// A release that was damaged is taken up by nobody.
	kept := filepath.Join(first.Dir, "artefacts", experiment.ReleaseFile)
	whole, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := binary.LittleEndian.AppendUint64(slices.Clone(whole[:len(whole)-8]), math.Float64bits(math.NaN()))
	if err := os.WriteFile(kept, spoilt, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := made(t, store, "harmonic-generator", map[string]string{"release": first.ID, "generated": "20"}); err == nil || !strings.Contains(err.Error(), "not finite") || !strings.Contains(err.Error(), experiment.ReleaseFile) {
		t.Errorf("a release with a number that is none: %v", err)
	}
	if err := os.WriteFile(kept, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	generator, err := made(t, store, "harmonic-generator", map[string]string{"release": first.ID, "generated": "20"})
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	if err := json.Unmarshal(generator.Spec.Config, &c); err != nil {
		t.Fatal(err)
	}
	if c.Epsilon != 2 || c.Degree != 3 || c.Release != first.ID {
		t.Errorf("ε = %v, degree %d, release %s; want those of the release", c.Epsilon, c.Degree, c.Release)
	}
	text, err := generator.Privacy()
	if err != nil || !strings.Contains(string(text), first.ID) {
		t.Errorf("%v: the statement does not name the run that released:\n%s", err, text)
	}
	if _, err := generator.Artefact(experiment.ReleaseFile); err == nil {
		t.Error("a run that releases nothing kept a release")
	}
	// A third one may name the second; it is the first that released.
	third, err := made(t, store, "harmonic-flow", map[string]string{"release": generator.ID, "steps": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(third.Spec.Config, &c); err != nil || c.Release != first.ID {
		t.Errorf("released by %s (%v), want %s", c.Release, err, first.ID)
	}
	// Read beside the public half it is the same release, and the statement says so.
	beside, err := made(t, store, "harmonic-prior", map[string]string{"release": first.ID, "steps": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := beside.Privacy(); err != nil || !strings.Contains(string(text), first.ID) || !strings.Contains(string(text), "public half of glyphs, beside which") {
		t.Errorf("%v: the statement does not name the run that released, or what it is read beside:\n%s", err, text)
	}
	for _, bad := range []struct {
		method, setting, value, want string
	}{
		{"harmonic-flow", "epsilon", "1", "epsilon is 1,"},
		{"harmonic-flow", "degree", "2", "degree is 2,"},
		{"dp-merf", "steps", "4", "cannot read"},
	} {
		_, err := made(t, store, bad.method, map[string]string{"release": first.ID, bad.setting: bad.value})
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s with %s = %s: %v, want it to say %q", bad.method, bad.setting, bad.value, err, bad.want)
		}
	}
	if _, err := made(t, store, "harmonic-flow", map[string]string{"release": "nothing-of-that"}); err == nil {
		t.Error("a release that is not there was used")
	}
}

// A generator trains on the sketch that a flow paid for, and looks at no record.
func TestAGeneratorFollowsASketch(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	first, err := made(t, store, "sketch-flow", map[string]string{"epsilon": "2", "bins": "8", "directions": "72", "per_step": "72"})
	if err != nil {
		t.Fatal(err)
	}
	generator, err := made(t, store, "sketch-generator", map[string]string{"release": first.ID, "generated": "20", "per_step": "72"})
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	if err := json.Unmarshal(generator.Spec.Config, &c); err != nil {
		t.Fatal(err)
	}
	if c.Epsilon != 2 || c.Bins != 8 || c.Learner != Generator {
		t.Errorf("ε = %v, %d bins, learner %s; want those of the release, and a generator", c.Epsilon, c.Bins, c.Learner)
	}
	if text, err := generator.Privacy(); err != nil || !strings.Contains(string(text), first.ID) {
		t.Errorf("%v: the statement does not name the run that released:\n%s", err, text)
	}
	if _, err := generator.Artefact(experiment.ReleaseFile); err == nil {
		t.Error("a run that releases nothing kept a release")
	}
	if values, _, err := generator.Table("particles.npy"); err != nil || len(values) == 0 {
		t.Errorf("%d values of what was generated, %v", len(values), err)
	}
	if _, err := made(t, store, "harmonic-generator", map[string]string{"release": first.ID}); err == nil || !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("harmonics were read from a sketch: %v", err)
	}
}

// A finished run is measured once: the second answer is the first one, kept.
func TestARunIsMeasuredOnce(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	r, err := made(t, store, "private-normal", map[string]string{"epsilon": "2"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, told := context.Background(), 0
	say := func(run.Event) { told++ }
	found, err := experiment.Measure(ctx, r, "copies", 40, say)
	if err != nil {
		t.Fatal(err)
	}
	if !found.NonPrivate || found.Rows != 40 || !(found.Values["nearer a private row without copying"] > 0 && found.Values["nearer a private row of public rows"] > 0) {
		t.Errorf("found %+v", found)
	}
	before := told
	again, err := experiment.Measure(ctx, r, "copies", 40, say)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(found) || told != before {
		t.Errorf("again: %+v, %v, told %d times more", again, err, told-before)
	}
	pixels, err := experiment.Measure(ctx, r, "pixels", 40, say)
	if ratio := pixels.Values["pixel sliced W₂"] / pixels.Values["pixel sliced W₂ floor"]; err != nil || pixels.NonPrivate || pixels.Rows != 40 || !(ratio > 0.5 && ratio < 4) {
		t.Errorf("found %+v, %v; want a value and a floor of one order", pixels, err)
	}
	all, err := experiment.AllMeasured(r)
	if err != nil || len(all) != 2 {
		t.Errorf("measured %v, %v", all, err)
	}
	for name, want := range map[string]fs.FileMode{"measures/keeper-only/copies-40.json": 0o600, "measures/pixels-40.json": 0o644} {
		if info, err := os.Stat(filepath.Join(r.Dir, "artefacts", name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", name, info, err, want)
		}
	}
	row, err := sweep.Finished(r)
	if wanted := 1; err != nil || !r.Spec.Research && len(row.Measured) != wanted {
		t.Errorf("a table would have %+v, %v; want what is not for the keeper", row.Measured, err)
	}
	for _, bad := range []struct {
		name string
		rows int
		want string
	}{{"beauty", 40, "fid, copies, pixels"}, {"copies", 1, "at least 2"}} {
		if _, err := experiment.Measure(ctx, r, bad.name, bad.rows, say); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s of %d: %v, want it to say %q", bad.name, bad.rows, err, bad.want)
		}
	}
	if network, err := inception.Open(""); err == nil {
		found, err := experiment.Measure(ctx, r, "fid", 8, say)
		if err != nil {
			t.Fatal(err)
		}
		value := found.Values[network.Metric()]
		if floor := found.Values[network.Metric()+" of reconstructions"]; !(value > floor && floor > 0) {
			t.Errorf("%s is %v, of reconstructions %v", network.Metric(), value, floor)
		}
		if decoded := found.Values[network.Metric()+latent.ToDecoded]; !(decoded > 0 && decoded < value) {
			t.Errorf("%s is %v, and %v without the autoencoder's blur", network.Metric(), value, decoded)
		}
	} else {
		t.Log("no FID: ", err)
	}
}

// What is proved of a release stays proved; what a paper claims of what follows it goes by
// the settings of what follows.
func TestClaimsOfAPaperAreNotInherited(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	diffused, err := made(t, store, "dpswflow", map[string]string{"diffusion": "0.1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := made(t, store, "dpswflow", map[string]string{"release": diffused.ID})
	if err != nil {
		t.Fatal(err)
	}
	said := func(r *run.Run) string {
		text, err := r.Privacy()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before, after := said(diffused), said(again)
	proved := strings.Count(before, privacy.AsProved)
	if !strings.Contains(before, "003 Theorem 3") || strings.Contains(after, "003 Theorem 3") || !strings.Contains(after, "classical Gaussian") || proved == 0 || strings.Count(after, privacy.AsProved) != proved {
		t.Errorf("with diffusion\n%s\nand then without\n%s", before, after)
	}
}

package swae

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

// What a run has learned is used again, by name of the run or of one that has used it:
// with the same settings it comes to the same to the last digit, and others change what is
// generated. Nothing is paid, no record is drawn, and the statement is the first one's.
func TestNetworksAreUsedAgain(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	cases := map[string]map[string]string{"a prior": nil}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		cases["no prior"] = map[string]string{"alpha": "0", "law": "2", "labels": "0", "supervision": "30"}
		cases["no budget"] = map[string]string{"epsilon": "inf"}
	}
	for name, settings := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
			asked := request(settings)
			asked.Research = false
			first := created(t, store, asked)
			nothing := filepath.Join(t.TempDir(), "nothing.db")
			t.Setenv(ledger.Variable, nothing) // nobody has a budget here
			reuse := func(of *run.Run, settings map[string]string) *run.Run {
				all := map[string]string{"dataset": "few-glyphs", "release": of.ID, "samples": "100"}
				maps.Copy(all, settings)
				return created(t, store, experiment.Request{Experiment: "dp-swae", Seed: 1, Settings: all})
			}
			same := reuse(first, nil)
			if a, b := experimenttest.Metrics(t, first), experimenttest.Metrics(t, same); !maps.Equal(a, b) {
				t.Errorf("used again with the same settings:\n%v\nat first\n%v", b, a)
			}
			for _, name := range []string{autoencoderFile, lawFile, labelsFile} {
				if contains(t, first, name) != contains(t, same, name) || contains(t, first, name) && !bytes.Equal(experimenttest.Read(t, first, name), experimenttest.Read(t, same, name)) {
					t.Errorf("%s is another", name)
				}
			}
			other := reuse(same, map[string]string{"passes": "2", "grain": "0.5"})
			if bytes.Equal(experimenttest.Read(t, first, "samples.npy"), experimenttest.Read(t, other, "samples.npy")) {
				t.Error("passes and grain change nothing")
			}
			var c Config
			if err := json.Unmarshal(other.Spec.Config, &c); err != nil || c.Release != first.ID || c.Steps != 6 || c.Passes != 2 {
				t.Errorf("settings %+v, %v; want those of %s, with two passes", c, err, first.ID)
			}
			was, now := statement(t, first), statement(t, other)
			if !strings.Contains(now.Mechanism, first.ID) || now.Claims[0].Epsilon != was.Claims[0].Epsilon || now.NoiseStd != was.NoiseStd || now.Steps != was.Steps {
				t.Errorf("%+v\nis said of what was released by\n%+v", now, was)
			}
			if _, err := experiment.Measure(t.Context(), other, "mlp", 100, func(run.Event) {}); err != nil {
				t.Errorf("it is not measured: %v", err)
			}
			if _, err := os.Stat(nothing); !os.IsNotExist(err) {
				t.Errorf("something was paid for what was learned before: %v", err)
			}
		})
	}
}

// What determines a release cannot be changed any more, and only finished trainings are
// used again.
func TestWhatWasLearnedStays(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go")
	store := run.Store{Dir: t.TempDir()}
	t.Setenv("MOLEHILL_RUNS", store.Dir)
	t.Setenv(ledger.Variable, filepath.Join(t.TempDir(), "ledger.db"))
	first := created(t, store, request(nil))
	for name, value := range map[string]string{"steps": "7", "epsilon": "9", "latent": "3", "dataset": "zeros"} {
		_, err := experiment.Request{Experiment: "dp-swae", Seed: 1, Settings: map[string]string{"release": first.ID, name: value}}.Spec()
		if err == nil || !strings.Contains(err.Error(), name+" is "+value) {
			t.Errorf("%s = %s of a network with another: %v", name, value, err)
		}
	}
	unfinished := experimenttest.PreparedIn(t, store, request(map[string]string{"steps": "8"}))
	for id, want := range map[string]string{unfinished.ID: "when its run is finished", "dp-swae-none": "dp-swae-none"} {
		_, err := experiment.Request{Experiment: "dp-swae", Seed: 1, Settings: map[string]string{"release": id}}.Spec()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release of %s: %v; want %q", id, err, want)
		}
	}
}

// created is a finished run in a store.
func created(t *testing.T, store run.Store, q experiment.Request) *run.Run {
	t.Helper()
	r := experimenttest.PreparedIn(t, store, q)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	return experimenttest.Computed(t, r, 0)
}

func contains(t *testing.T, r *run.Run, name string) bool {
	t.Helper()
	return !r.Changed(name).IsZero()
}

func statement(t *testing.T, r *run.Run) (s privacy.Statement) {
	t.Helper()
	text, err := r.Privacy()
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

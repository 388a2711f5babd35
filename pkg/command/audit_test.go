package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/pkg/command/runs"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// finished makes a run of 2,000 records that left what an audit reads: its
// settings, its statement and the shape of its particles.
func finished(t *testing.T, request experiment.Request, change func(*privacy.Statement)) string {
	t.Helper()
	spec, err := request.Spec()
	if err != nil {
		t.Fatal(err)
	}
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	if estimator, err := privateflow.Estimators.Lookup(request.Experiment); err == nil {
		c := estimator.Config(experiment.Quick)
		if err := json.Unmarshal(spec.Config, c); err != nil {
			t.Fatal(err)
		}
		plan, published, err := estimator.Plan(c, 2000, 8, noise.Seeded(spec.Seed))
		if err != nil {
			t.Fatal(err)
		}
		statement, err := plan.Statement(noise.Seeded(0), published)
		if err != nil {
			t.Fatal(err)
		}
		change(&statement)
		if err := r.WritePrivacy(statement); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteTable("particles.npy", make([]float32, 16), 8); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(run.Result{}); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func asItIs(*privacy.Statement) {}

func TestAuditOfARun(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for name, settings := range map[string]map[string]string{
		"dpswflow":    {"dataset": "glyphs"},
		"dpswflow-r":  {"dataset": "glyphs", "steps": "10"},
		"sketch-flow": {"dataset": "glyphs", "directions": "72", "per_step": "72"},
	} {
		id := finished(t, experiment.Request{Experiment: name, Settings: settings}, func(s *privacy.Statement) { s.Sampler = "a few of many" }) // words, which no audit reads
		var answer runs.Audited
		if err := json.Unmarshal([]byte(mustMolehill(t, "audit", id, "--json", "--confidence", "0.9999")), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Run != id || len(answer.Audit.Bounds) < 2 || len(answer.Claims) == 0 || answer.Audit.Tested == "" || len(answer.Audit.NotTested) == 0 {
			t.Errorf("%s: %+v", name, answer)
		}
		for _, c := range answer.Claims {
			if c.Refuted {
				t.Errorf("%s: the claim %+v was refuted: %+v", name, c.Claim, answer.Audit.Bounds)
			}
		}
		text := mustMolehill(t, "audit", id, "--seeds", "2")
		for _, want := range []string{"survives", "tested:", "not tested:", "guesses", "replace-one", "2 executions"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the audit does not say %q:\n%s", name, want, text)
			}
		}
	}
}

// A claim of half the ε that the noise gives is refuted: one that a paper makes
// is an answer, one that is said to be proved an error.
func TestAuditRefutesAFalseClaim(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	request := experiment.Request{Experiment: "dpswflow", Settings: map[string]string{"dataset": "glyphs"}}
	id := finished(t, request, func(s *privacy.Statement) {
		s.Claims = append(s.Claims, privacy.Claim{Label: "as published", Accountant: "theirs", Epsilon: 5})
	})
	if text := mustMolehill(t, "audit", id); !strings.Contains(text, "REFUTED with confidence 0.95") {
		t.Errorf("a claim of half the ε survives:\n%s", text)
	}
	request.Seed = 2
	id = finished(t, request, func(s *privacy.Statement) {
		s.Claims = append(s.Claims, privacy.Claim{Label: "as proved", Accountant: "wishes", Epsilon: 5, Sound: true})
	})
	if text, err := molehill(t, "audit", id); err == nil || !strings.Contains(err.Error(), "do not rely on the run") {
		t.Errorf("a refuted proof is no error: %v\n%s", err, text)
	}
}

// What somebody has written into a finished run's statement is neither shown as its promise
// nor audited.
func TestAnEditedStatementIsNotShown(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	id := finished(t, experiment.Request{Experiment: "dpswflow", Settings: map[string]string{"dataset": "glyphs"}}, asItIs)
	const promise = "as proved"
	if said := mustMolehill(t, "show", id); !strings.Contains(said, promise) {
		t.Fatalf("show does not say what is promised:\n%s", said)
	}
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(store.Dir, id, "privacy.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := regexp.MustCompile(`"epsilon": [0-9.]+`).ReplaceAll(text, []byte(`"epsilon": 0.1`))
	if bytes.Equal(edited, text) {
		t.Fatalf("no ε to edit in\n%s", text)
	}
	if err := os.WriteFile(path, edited, 0o644); err != nil {
		t.Fatal(err)
	}
	if said := mustMolehill(t, "show", id); !strings.Contains(said, "not what the run ended with") || strings.Contains(said, promise) {
		t.Errorf("show says\n%s", said)
	}
	var shown runs.Summary
	if err := json.Unmarshal([]byte(mustMolehill(t, "show", id, "--json")), &shown); err != nil || shown.Privacy != nil || !strings.Contains(shown.Unread, "not what the run ended with") {
		t.Errorf("as JSON: %s, %q, %v", shown.Privacy, shown.Unread, err)
	}
	if said, err := molehill(t, "audit", id); err == nil || !strings.Contains(err.Error(), "not what the run ended with") {
		t.Errorf("audit: %v\n%s", err, said)
	}
	// Neither is it where the result that would tell is damaged.
	result := filepath.Join(store.Dir, id, "result.json")
	for _, damaged := range []string{"", `{"metrics": {`} {
		if said := mustMolehill(t, "runs"); strings.Contains(said, "0.1") || !strings.Contains(said, id+" is not believed: ") {
			t.Errorf("before %q runs says\n%s", damaged, said)
		}
		if err := os.WriteFile(result, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said := mustMolehill(t, "runs"); strings.Contains(said, "0.1") || !strings.Contains(said, "result.json") {
		t.Errorf("runs says\n%s", said)
	}
}

func TestAuditRefusesKindly(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	good := experiment.Request{Experiment: "sketch-flow", Settings: map[string]string{"dataset": "glyphs", "directions": "72", "per_step": "72"}}
	id := finished(t, good, asItIs)
	open := finished(t, experiment.Request{Experiment: "swflow", Settings: map[string]string{"dataset": "glyphs"}}, asItIs)
	toy := finished(t, experiment.Request{Experiment: "five-gaussians"}, asItIs)
	good.Seed = 7
	other := finished(t, good, func(s *privacy.Statement) { s.NoiseStd *= 2 })
	good.Seed = 8
	earlier := finished(t, good, func(s *privacy.Statement) { s.Sampling = sampling.Scheme{} })
	good.Seed = 10
	sampled := finished(t, good, func(s *privacy.Statement) { s.Sampling = sampling.Describe(sampling.FixedSize{Size: 5}, 2000) })
	good.Seed = 9
	spec, err := good.Spec()
	if err != nil {
		t.Fatal(err)
	}
	store, _ := run.DefaultStore()
	unfinished, err := store.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want      string
		arguments []string
	}{
		{"unknown run", []string{"nothing"}},
		{"let it finish first", []string{unfinished.ID}},
		{"is not private (ε = ∞)", []string{open}},
		{"made no release of private records", []string{toy}},
		{"another plan", []string{other}},
		{`says "All of 2000 records" of samples in words alone, and audits read values; audit it with the version that made it`, []string{earlier}},
		{"another plan", []string{sampled}},
		{"--seeds 0: expected at least 1", []string{id, "--seeds", "0"}},
		{"--canaries -3", []string{id, "--canaries", "-3"}},
		{"takes 1 to 1 in an execution", []string{id, "--canaries", "5"}},
		{"--confidence 1: expected", []string{id, "--confidence", "1"}},
		{"--confidence NaN", []string{id, "--confidence", "NaN"}},
	} {
		if out, err := molehill(t, append([]string{"audit"}, c.arguments...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("audit %v: error %v, want it to say %q\n%s", c.arguments, err, c.want, out)
		}
	}
}

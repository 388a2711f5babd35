package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molehill/pkg/run"
	"molehill/privacy"
)

// stated makes a finished run that was asked for one ε and proves another.
func stated(t *testing.T, store run.Store, version string, seed uint64, config string, proved float64, loss float64) *run.Run {
	t.Helper()
	r, err := store.Create(run.Spec{Experiment: "made-up", Version: version, Preset: "quick", Seed: seed, Config: json.RawMessage(config)})
	if err == nil {
		err = r.Acquire()
	}
	if err == nil && proved > 0 {
		err = r.WritePrivacy(privacy.Statement{Sensitivity: privacy.Sensitivity{Relation: privacy.AddRemove}, Claims: []privacy.Claim{{Label: "as published", Epsilon: 0.5}, {Label: "as proved", Epsilon: privacy.Epsilon(proved), Sound: true}}})
	}
	if err == nil {
		err = r.Finish(run.Result{Metrics: run.Values{"loss": loss}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The ε of a table, a legend and an axis is the one that is proved, and one that was only
// asked for says so.
func TestTheEpsilonThatIsShownIsProved(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	var runs []*run.Run
	for seed := range uint64(2) {
		runs = append(runs, stated(t, store, "1", seed, `{"epsilon": 1}`, 8.0411, 1), stated(t, store, "1", seed, `{"epsilon": 2}`, 8.05+float64(seed), 2))
	}
	list, err := List(runs)
	if text := list.String(); err != nil || !strings.Contains(text, "ε asked for") || !strings.Contains(text, "ε as proved") || !strings.Contains(text, "8.042") {
		t.Errorf("%s %v", text, err)
	}
	c := compared(t, runs...)
	summary, err := c.Summary()
	for _, want := range []string{"ε asked for", "ε as proved", "8.042", "8.05 to 9.05"} {
		if text := summary.String(); err != nil || !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q: %v\n%s", want, err, text)
		}
	}
	figure := drawn(t, c, "epsilon", "loss")
	if figure.X.Label != "ε as proved" || fmt.Sprint(figure.Lines[0].X) != "[8.0411 9.05]" {
		t.Errorf("%q, at %v", figure.X.Label, figure.Lines[0].X)
	}
	alone := func(r *run.Run) string { return (&group{settingsOf(r)[0], []*run.Run{r}}).spoken("epsilon") }
	if label := alone(runs[0]); label != "ε = 1 asked for, 8.042 proved" {
		t.Error(label)
	}
	if label := alone(stated(t, store, "1", 9, `{"epsilon": 3}`, 2.99999, 1)); label != "ε = 3" {
		t.Error(label)
	}
	near := settingsOf(stated(t, store, "1", 9, `{"epsilon": 1.0001}`, 1, 1), stated(t, store, "1", 9, `{"epsilon": 1.0002}`, 1, 1), stated(t, store, "1", 9, `{"epsilon": "inf"}`, 1, 1))
	if near[0]["epsilon"] != "1.0001" || near[1]["epsilon"] != "1.0002" || near[2]["epsilon"] != "∞" {
		t.Errorf("ε that differ in their fifth digit are %v", near)
	}
	var steps []*run.Run // what is proved grows with them, and is no line of its own
	for _, n := range []int{8, 16, 32} {
		steps = append(steps, stated(t, store, "1", 7, fmt.Sprintf(`{"epsilon": 1, "steps": %d}`, n), 1+float64(n)/100, 1), stated(t, store, "1", 7, fmt.Sprintf(`{"epsilon": 5, "steps": %d}`, n), 5, 1))
	}
	grown := drawn(t, compared(t, steps...), "steps", "loss")
	if len(grown.Lines) != 2 || len(grown.Lines[0].X) != 3 || grown.Lines[0].Name != "ε = 1 asked for, 1.08 to 1.32 proved" || grown.Lines[1].Name != "ε = 5" {
		t.Errorf("%+v", grown.Lines)
	}
	without := stated(t, store, "1", 5, `{"epsilon": 4}`, 0, 1)
	if figure := drawn(t, compared(t, append(runs, without)...), "epsilon", "loss"); figure.X.Label != "ε asked for" {
		t.Errorf("a run without a statement is drawn at %q", figure.X.Label)
	}
}

// Of a research run, whose noise can be made again, it is said beside what is proved: in a
// list, beside another run and over seeds.
func TestResearchIsSaidBesideWhatIsProved(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	secret := stated(t, store, "1", 1, `{"epsilon": 1}`, 1.5, 1)
	research, err := store.Create(run.Spec{Experiment: "made-up", Version: "1", Preset: "quick", Seed: 1, Research: true, Config: json.RawMessage(`{"epsilon": 2}`)})
	if err == nil {
		err = research.Acquire()
	}
	if err == nil {
		err = research.WritePrivacy(privacy.Statement{Sensitivity: privacy.Sensitivity{Relation: privacy.AddRemove}, Claims: []privacy.Claim{{Label: "as proved", Epsilon: 2.5, Sound: true}}})
	}
	if err == nil {
		err = research.Finish(run.Result{Metrics: run.Values{"loss": 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := List([]*run.Run{secret, research})
	if err != nil {
		t.Fatal(err)
	}
	c := compared(t, secret, research)
	table, err := c.Table()
	if err != nil {
		t.Fatal(err)
	}
	summary, err := c.Summary()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": list.String(), "table": table.String(), "summary": summary.String()} {
		if !strings.Contains(text, "2.5, research") || strings.Contains(text, "1.5, research") {
			t.Errorf("the %s says\n%s", name, text)
		}
	}
}

// Seeds of one setting are averaged, and nothing else: not another version, nor a run that
// is named twice, nor whole numbers that floating point cannot tell apart.
func TestOnlySeedsAreAveraged(t *testing.T) {
	store := run.Store{Dir: t.TempDir()}
	one := stated(t, store, "1", 1, `{"n": 5}`, 0, 1)
	for name, c := range map[string]struct {
		other *run.Run
		want  string
	}{
		"another version": {stated(t, store, "2", 1, `{"n": 5}`, 0, 3), "1 of 1"},
		"the same run":    {one, "1 of 1"},
		"another seed":    {stated(t, store, "1", 2, `{"n": 5}`, 0, 3), "2 ± 1.4"},
		"a setting which is left out while it is 0": {stated(t, store, "1", 2, `{"n": 5, "passes": 2}`, 0, 3), "1 of 1"},
	} {
		summary, err := compared(t, one, c.other).Summary("loss")
		if text := summary.String(); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q in\n%s, %v", name, c.want, text, err)
		}
	}
	large := []*run.Run{stated(t, store, "1", 1, `{"n": 9007199254740992}`, 0, 1), stated(t, store, "1", 1, `{"n": 9007199254740993}`, 0, 3)}
	if names := varied(large); len(names) != 1 || names[0] != "n" {
		t.Errorf("they differ in %v", names)
	}
	if a, b := settingsOf(&run.Run{Spec: run.Spec{Config: json.RawMessage(`{"x": 0.5}`)}})[0]["x"], settingsOf(&run.Run{Spec: run.Spec{Config: json.RawMessage(`{"x": 5e-1}`)}})[0]["x"]; a != b {
		t.Errorf("%s and %s are two settings", a, b)
	}
	alone := compared(t, large...)
	if figure := drawn(t, alone, "n", "loss"); figure.Lines[0].Low != nil || strings.Contains(figure.Caption, "deviation") {
		t.Errorf("one run each has a band: %+v", figure)
	}
	if err := alone.set("m"); err == nil || !strings.Contains(err.Error(), "they differ in n") || alone.set("n") != nil {
		t.Errorf("a setting that no run has: %v", err)
	}
}

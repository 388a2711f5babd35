package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
)

type exampleConfig struct {
	Dataset string          `json:"dataset"`
	Steps   int             `json:"steps"`
	Rate    float64         `json:"rate"`
	Stack   bool            `json:"stack"`
	Epsilon privacy.Epsilon `json:"epsilon"`
	Word    string          `json:"word,omitempty"`
}

func (c *exampleConfig) Check() error {
	if c.Steps < 1 {
		return fmt.Errorf("steps is %d; it must be at least 1", c.Steps)
	}
	return nil
}

// example is an experiment that does what its run's settings say.
type example struct{}

func (example) Describe() plugin.Info { return plugin.Info{Name: "example", Version: "7"} }
func (example) Config(p experiment.Preset) experiment.Config {
	return &exampleConfig{Dataset: "mnist", Steps: map[experiment.Preset]int{experiment.Quick: 1, experiment.Paper: 100}[p], Rate: 0.5, Epsilon: 10}
}
func (example) Run(ctx context.Context, r *run.Run, c experiment.Config) (run.Result, error) {
	switch c.(*exampleConfig).Dataset {
	case "panic":
		panic("out of cheese")
	case "error":
		return run.Result{}, errors.New("no such thing")
	}
	return run.Result{Metrics: run.Values{"steps": float64(c.(*exampleConfig).Steps)}}, ctx.Err()
}

func init() { experiment.Registry.Register(example{}) }

// suited is example with twice the rate, and no stack, for glyphs.
type suited struct{ example }

type suitedConfig struct{ exampleConfig }

func (c *suitedConfig) Suit() {
	switch c.Dataset {
	case "glyphs":
		c.Rate, c.Word = 2*c.Rate, "suited"
	case "panic":
		panic("out of cheese")
	}
}

func (suited) Describe() plugin.Info { return plugin.Info{Name: "suited", Version: "1"} }
func (s suited) Config(p experiment.Preset) experiment.Config {
	return &suitedConfig{*s.example.Config(p).(*exampleConfig)}
}

func init() { experiment.Registry.Register(suited{}) }

// What follows the data set is changed before what is asked for, whatever its name; what is
// told of the run's settings has both apart.
func TestPresetsFollowTheDataSet(t *testing.T) {
	c := suited{}.Config(experiment.Quick).(*suitedConfig)
	if err := experiment.Apply(c, map[string]string{"dataset": "glyphs", "Rate": "3"}); err == nil {
		t.Error("an unknown setting was taken")
	}
	for settings, want := range map[string]exampleConfig{
		"dataset=glyphs":                   {Dataset: "glyphs", Steps: 1, Rate: 1, Epsilon: 10, Word: "suited"},
		"dataset=glyphs word=mine rate=.5": {Dataset: "glyphs", Steps: 1, Rate: 0.5, Epsilon: 10, Word: "mine"},
		"dataset=mnist":                    {Dataset: "mnist", Steps: 1, Rate: 0.5, Epsilon: 10},
		"rate=3":                           {Dataset: "mnist", Steps: 1, Rate: 3, Epsilon: 10},
	} {
		given := map[string]string{}
		for _, s := range strings.Fields(settings) {
			name, value, _ := strings.Cut(s, "=")
			given[name] = value
		}
		c := suited{}.Config(experiment.Quick).(*suitedConfig)
		if err := experiment.Apply(c, given); err != nil || c.exampleConfig != want {
			t.Errorf("%s: %+v, %v; want %+v", settings, c.exampleConfig, err, want)
		}
	}
	spec, err := experiment.Request{Experiment: "suited", Settings: map[string]string{"dataset": "glyphs", "steps": "5"}}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	usual, err := experiment.Usual(spec)
	if want := `{"dataset":"mnist","epsilon":10,"rate":1,"stack":false,"steps":1,"word":"suited"}`; err != nil || string(usual) != want {
		t.Errorf("usual settings %s, %v; want %s", usual, err, want)
	}
	var panicked *plugin.PanicError
	if _, err := (experiment.Request{Experiment: "suited", Settings: map[string]string{"dataset": "panic"}}).Spec(); !errors.As(err, &panicked) {
		t.Errorf("a Suit that panics: %v", err)
	}
}

// A list tells the defaults that follow a data set, and none of who follows none, fails or
// is unknown.
func TestDefaultsOfADataSetAreTold(t *testing.T) {
	for name, want := range map[string]string{
		"suited glyphs": `{"paper":{"rate":1,"word":"suited"},"quick":{"rate":1,"word":"suited"}}`,
		"suited mnist":  "null", "suited panic": "null", "example glyphs": "null", "nobody glyphs": "null",
	} {
		experimentName, dataset, _ := strings.Cut(name, " ")
		if got, err := json.Marshal(experiment.SuitedTo(experimentName, dataset)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestApplyReadsWhatPeopleType(t *testing.T) {
	c := example{}.Config(experiment.Quick).(*exampleConfig)
	err := experiment.Apply(c, map[string]string{"dataset": "glyphs", "steps": "12", "rate": "1e-3", "stack": "true", "epsilon": "inf"})
	want := exampleConfig{"glyphs", 12, 1e-3, true, privacy.Epsilon(math.Inf(1)), ""}
	if err != nil || *c != want {
		t.Errorf("%+v, %v; want %+v", *c, err, want)
	}
	if err := experiment.Apply(c, map[string]string{"dataset": "12"}); err != nil || c.Dataset != "12" {
		t.Errorf("a data set called 12: %q, %v", c.Dataset, err)
	}
	if err := experiment.Apply(c, map[string]string{"word": "twice"}); err != nil || c.Word != "twice" {
		t.Errorf("a setting that is left out while it is empty: %q, %v", c.Word, err)
	}
}

func TestApplyRefusesKindly(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"did you mean steps":      {"stpes": "3"},
		"did you mean word":       {"Word": "twice"},
		`steps cannot be "many"`:  {"steps": "many"},
		`steps cannot be "1.5"`:   {"steps": "1.5"},
		`stack cannot be "maybe"`: {"stack": "maybe"},
		`epsilon cannot be "-1": privacy: ε = "-1"; expected a number above 0, or inf`:   {"epsilon": "-1"},
		`epsilon cannot be "NaN": privacy: ε = "NaN"; expected a number above 0, or inf`: {"epsilon": "NaN"},
		`rate cannot be "{\"a\":1}`: {"rate": `{"a":1}`},
	} {
		c := example{}.Config(experiment.Quick)
		if err := experiment.Apply(c, settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want it to say %q", settings, err, want)
		}
	}
}

func TestSpecFindsMistakesBeforeAnythingComputes(t *testing.T) {
	for want, q := range map[string]experiment.Request{
		"did you mean example":     {Experiment: "exmaple"},
		"did you mean quick, pape": {Experiment: "example", Preset: "large"},
		"steps is 0":               {Experiment: "example", Settings: map[string]string{"steps": "0"}},
	} {
		if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want it to say %q", q, err, want)
		}
	}
	one, err := experiment.Request{Experiment: "example", Settings: map[string]string{"rate": "0.5"}}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	other, err := experiment.Request{Experiment: "example", Preset: experiment.Quick}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := one.ID()
	b, _ := other.ID()
	if a != b || a == "" {
		t.Errorf("the preset's own value makes another run: %s and %s", a, b)
	}
}

func acquired(t *testing.T, settings map[string]string) *run.Run {
	t.Helper()
	return experimenttest.Acquired(t, experiment.Request{Experiment: "example", Preset: experiment.Paper, Settings: settings})
}

func TestComputeFinishesFailsOrLeavesToBeContinued(t *testing.T) {
	r := acquired(t, nil)
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if result, err := r.Result(); err != nil || result.Metrics["steps"] != 100 {
		t.Errorf("result %+v, %v; want the paper preset's 100 steps", result, err)
	}
	for dataset, want := range map[string]string{"panic": "out of cheese", "error": "no such thing"} {
		r := acquired(t, map[string]string{"dataset": dataset})
		err := experiment.Compute(t.Context(), r)
		state, _ := r.State()
		if err == nil || !strings.Contains(err.Error(), want) || state != run.Failed {
			t.Errorf("%s: state %s, error %v; want failed, and why", dataset, state, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r = acquired(t, nil)
	err := experiment.Compute(ended, r)
	if state, _ := r.State(); !errors.Is(err, context.Canceled) || state != run.Interrupted {
		t.Errorf("cancelled: state %s, error %v; want interrupted", state, err)
	}
}

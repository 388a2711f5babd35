package run

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func id(t *testing.T, config string) string {
	t.Helper()
	name, err := Spec{Experiment: "flow", Seed: 1, Config: json.RawMessage(config)}.ID()
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	return name
}

func TestIDIgnoresSpelling(t *testing.T) {
	for _, same := range [][]string{
		{`{"a":1,"b":{"c":2,"d":[3]}}`, `{ "b":{"d":[3e0], "c":2.0}, "a":10e-1 }`},
		{`{"a":1000}`, `{"a":1e3}`, `{"a":1000.00}`},
		{`{"a":100000000000000000000}`, `{"a":1e20}`},
		{`{"a":0}`, `{"a":-0}`, `{"a":-0.0}`, `{"a":0e9}`},
		{`{"a":0.1}`, `{"a":1e-1}`, `{"a":0.10000000000000000555}`}, // the same float64
		{`{"a":"é<"}`, `{"a":"\u00e9\u003c"}`},
		{`{}`, ``, ` null `, `{ }`},
	} {
		for _, config := range same[1:] {
			if got, want := id(t, config), id(t, same[0]); got != want {
				t.Errorf("%s has ID %s, %s has %s: expected the same", config, got, same[0], want)
			}
		}
	}
}

func TestIDSeesEveryDifference(t *testing.T) {
	base := Spec{Experiment: "flow", Version: "1", Preset: "quick", Seed: 1, Config: json.RawMessage(`{"a":1}`)}
	specs := slices.Repeat([]Spec{base}, 15)
	specs[1].Experiment = "flow2"
	specs[2].Version = "2"
	specs[3].Preset = "paper"
	specs[4].Seed = 2
	specs[5].Research = true
	specs[6].Config = json.RawMessage(`{"a":2}`)
	specs[7].Config = json.RawMessage(`{"a":18446744073709551615}`) // 2⁶⁴-1 and its neighbour
	specs[8].Config = json.RawMessage(`{"a":18446744073709551614}`) // are one number as float64
	for i, config := range []string{`{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[[1],2]}`, `[1]`, `{"a":{"b":1}}`, `{"a":{"b":2}}`} {
		specs[9+i].Config = json.RawMessage(config)
	}
	seen := map[string]int{}
	for i, spec := range specs {
		name, err := spec.ID()
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[name]; ok {
			t.Errorf("specs %d and %d have the same ID %s", i, j, name)
		}
		if seen[name] = i; !strings.HasPrefix(name, spec.Experiment+"-") || len(name) != len(spec.Experiment)+13 {
			t.Errorf("ID %q: expected %s-, and 12 digits", name, spec.Experiment)
		}
	}
}

func TestBadSpecs(t *testing.T) {
	for _, spec := range []Spec{
		{}, {Experiment: "../x"}, {Experiment: "A"}, {Experiment: ".x"}, {Experiment: strings.Repeat("a", 65)},
		{Experiment: "a", Config: json.RawMessage(`{"a":`)},
		{Experiment: "a", Config: json.RawMessage(`{} {}`)},
		{Experiment: "a", Config: json.RawMessage(`{"a":1e999}`)},
		{Experiment: "a", Config: json.RawMessage(`{"a":[{"b":1e999}]}`)},
		{Experiment: "a", Config: json.RawMessage(strings.Repeat("[", 20_000))},
	} {
		if name, err := spec.ID(); err == nil {
			t.Errorf("%.60q: expected an error, found ID %s", spec.Config, name)
		}
	}
}

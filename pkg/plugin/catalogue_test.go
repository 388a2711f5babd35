package plugin

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// gauge is a plug-in with fields; tuned one with presets.
type gauge struct {
	Bins   int
	Scale  float64
	Hidden []byte
	name   string
}

func (g gauge) Describe() Info { return Info{Name: g.name, Summary: "a gauge", Version: "2"} }

type tuned string

func (t tuned) Describe() Info { return Info{Name: string(t), Version: "1"} }

type settings struct {
	Zeta  string  `json:"zeta"`
	Alpha float64 `json:"alpha"`
	later string
	Rare  int `json:"rare,omitempty"`
}

func TestCatalogueShowsAllAlike(t *testing.T) {
	gauges := Registry[gauge]{Kind: "gauge"}
	gauges.Register(gauge{Bins: 3, Scale: 0.5, name: "plain"})
	tunes := Registry[tuned]{Kind: "tune", Defaults: func(p tuned) (map[string]any, error) {
		switch p {
		case "panics":
			panic("out of tune")
		case "refuses":
			return nil, errors.New("no string left")
		}
		return map[string]any{"paper": settings{Zeta: "a", Alpha: 2}, "quick": &settings{Zeta: "b", Alpha: 1, later: "not told"}}, nil
	}}
	for _, p := range []tuned{"good", "panics", "refuses", "good"} {
		tunes.Register(p)
	}
	kinds := map[string]Kind{}
	for _, k := range Catalogue() {
		kinds[k.Kind] = k
	}
	presets, rows, err := kinds["gauges"].Plugins[0].Settings()
	if err != nil || !slices.Equal(presets, []string{NoPreset}) || len(rows) != 2 || rows[0].Name != "Bins" || rows[0].Values[0] != "3" {
		t.Errorf("the fields of a gauge are %v, %v, %v", presets, rows, err)
	}
	plugins := kinds["tunes"].Plugins
	if len(plugins) != 3 || plugins[0].Name != "good" {
		t.Fatalf("the catalogue has %v", plugins)
	}
	// Quick before paper, and the settings in the order of their declaration.
	presets, rows, err = plugins[0].Settings()
	if err != nil || !slices.Equal(presets, []string{"quick", "paper"}) || len(rows) != 3 || rows[0].Name != "zeta" || !slices.Equal(rows[1].Values, []string{"1", "2"}) || rows[2].Name != "rare" {
		t.Errorf("settings %v, %v, %v", presets, rows, err)
	}
	for i, want := range map[int]string{0: "", 1: `tune "panics" panicked in its default settings: out of tune`, 2: "no string left"} {
		if fault := plugins[i].Fault; !strings.HasPrefix(fault, want) || (want == "") != (fault == "") {
			t.Errorf("%s has the fault %q, want %q", plugins[i].Name, fault, want)
		}
	}
	if faults := kinds["tunes"].Faults; len(faults) != 1 || !strings.Contains(faults[0], `tune "good"`) || !strings.Contains(faults[0], "which stays") {
		t.Errorf("registered twice: %v", faults)
	}
	if !slices.ContainsFunc(Faults(), func(err error) bool { return strings.Contains(err.Error(), `tune "good"`) }) {
		t.Errorf("the faults of all are %v", Faults())
	}
}

func TestOrigins(t *testing.T) {
	gauges := Registry[gauge]{Kind: "dial"}
	gauges.Register(gauge{name: "one"})
	o := gauges.Catalogue().Plugins[0].Origin
	if o.Package != "molehill/pkg/plugin" || !o.Ships() || o.Here() || o.String() != "molehill" {
		t.Errorf("registered here, the origin is %+v", o)
	}
	for function, want := range map[string]string{
		"main.main":                            "main",
		"main.init.0":                          "main",
		"example.org/you/hills.init.0.func1":   "example.org/you/hills",
		"gopkg.in/hills%2ev2.(*T[...]).M":      "gopkg.in/hills.v2",
		"molehill/pkg/plugin.(*R[go.shape.x])": "molehill/pkg/plugin",
	} {
		if got := PackageOf(function); got != want {
			t.Errorf("%s is of package %s, want %s", function, got, want)
		}
	}
	for want, o := range map[string]Origin{
		"this notebook":            {Module: "gonb_1a2b", Package: "main"},
		"hills":                    {Module: "hills", Package: "main"},
		"example.org/hills v1.2.0": {Module: "example.org/hills", Version: "v1.2.0", Package: "example.org/hills/data"},
	} {
		if o.String() != want {
			t.Errorf("%+v is %q, want %q", o, o, want)
		}
	}
}

func TestSelect(t *testing.T) {
	kinds := []Kind{
		{Kind: "data sets", Plugins: []Entry{{Info: Info{Name: "mnist"}}}},
		{Kind: "experiments", Plugins: []Entry{{Info: Info{Name: "flow"}}, {Info: Info{Name: "toy"}}}},
		{Kind: "estimators", Plugins: []Entry{{Info: Info{Name: "flow"}}}},
	}
	for _, words := range [][]string{{"data sets"}, {"data", "sets"}, {"dataset"}, {"Data-Set"}} {
		if chosen, depth, err := Select(kinds, words...); err != nil || depth != One || chosen[0].Kind != "data sets" {
			t.Errorf("%q chooses %v, %v", words, chosen, err)
		}
	}
	if chosen, depth, err := Select(kinds, "flow"); err != nil || depth != Own || len(chosen) != 2 || len(chosen[0].Plugins) != 1 {
		t.Errorf("flow chooses %v, %v; want an experiment and an estimator", chosen, err)
	}
	if _, depth, err := Select(kinds); err != nil || depth != All {
		t.Errorf("nothing chooses depth %v, %v; want everything", depth, err)
	}
	for asked, nearest := range map[string]string{"mnits": "mnist", "estimator": "", "estmators": "estimators"} {
		if _, _, err := Select(kinds, asked); (err == nil) != (nearest == "") || err != nil && !strings.Contains(err.Error(), nearest) {
			t.Errorf("%s: %v, want %q suggested", asked, err, nearest)
		}
	}
}

func TestNamesThatCannotBeTypedAreLeftOut(t *testing.T) {
	r := Registry[tuned]{Kind: "song"}
	for _, name := range []tuned{"My Song", "-x", "a/", "ünder", tuned(strings.Repeat("a", 65)), "fine", "also/fine.2_b"} {
		r.Register(name)
	}
	if len(r.All()) != 2 || len(r.Faults()) != 5 {
		t.Errorf("%v are in, %v are out", r.All(), r.Faults())
	}
	if _, err := r.Lookup("My Song"); err == nil || !strings.Contains(err.Error(), "was left out: expected a name of lower-case") {
		t.Errorf("looked up, one that was left out: %v", err)
	}
}

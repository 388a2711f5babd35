package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Rows are averaged where they differ in their seed alone: not those of other data,
// settings or versions, but those that do not tell their version.
func TestPartsAreOfSeedsAlone(t *testing.T) {
	row := func(run, config, data, version string) Row {
		r := Row{Run: run, Config: json.RawMessage(config), Version: version}
		r.Computed.Data = data
		return r
	}
	parts, err := Parts([]Row{
		row("a", `{"steps": 100}`, "all", "1"), row("b", `{"steps": 400}`, "all", "1"), row("c", `{"steps": 100}`, "all", ""),
		row("d", `{"steps": 100}`, "all", "2"), row("e", `{"steps": 100}`, "half", "1"), row("f", `{"steps": 400}`, "all", "1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		names := ""
		for _, r := range p.Rows {
			names += r.Run
		}
		got = append(got, names+": "+p.Unlike)
	}
	if want := []string{"ac: ", "bf: steps = 400 and 100", "d: version 2 and 1", "e: data: half and all"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := Parts([]Row{row("a", `{`, "", ""), row("b", `{}`, "", "")}); err == nil {
		t.Error("settings that are none were compared")
	}
}

// Rows are of one experiment with two seeds where no setting differs that both have, nor
// the data, wherever the store of the weights is.
func TestUnlikeRowsAreToldApart(t *testing.T) {
	row := func(config, data string) Row {
		r := Row{Run: "r", Config: json.RawMessage(config)}
		r.Computed.Data = data
		return r
	}
	halves := func(split string) Row {
		r := row(`{}`, "mnist")
		r.Computed.Split = split
		return r
	}
	for _, c := range []struct {
		a, b Row
		want string
	}{
		{row(`{"steps": 100, "inputs": "x"}`, ""), row(`{"steps": 100, "inputs": "y", "label": "all"}`, "mnist"), ""},
		{row(`{"steps": 100}`, "mnist"), row(`{"steps": 400}`, "mnist"), "steps = 100 and 400"},
		{row(`{"steps": 100}`, "the sample"), row(`{"steps": 100}`, "all of it"), "data: the sample and all of it"},
		{row(`{"weights": "/a/runs/autoencoder-1/artefacts/weights.npz"}`, ""), row(`{"weights": "/b/autoencoder-1/artefacts/weights.npz"}`, ""), ""},
		{row(`{"weights": "/a/runs/autoencoder-1/artefacts/weights.npz"}`, ""), row(`{"weights": "weights.npz"}`, ""), ""},
		{row(`{"weights": "/a/runs/autoencoder-1/artefacts/weights.npz"}`, ""), row(`{"weights": "/a/runs/autoencoder-2/artefacts/weights.npz"}`, ""), "weights = "},
		{halves("one"), halves("other"), "split: one and other"},
		{halves("one"), halves(""), ""},
	} {
		got, err := Unlike(c.a, c.b)
		if err != nil || (c.want == "") != (len(got) == 0) || c.want != "" && !strings.Contains(got[0], c.want) {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
	if _, err := Unlike(row(`{`, ""), row(`{}`, "")); err == nil {
		t.Error("settings that are none were compared")
	}
}

// Data that a run's own seed generates are the same for all, those of one seed are for it.
func TestDataOfTheSeedAreAlike(t *testing.T) {
	row := func(seed uint64, data string) Row {
		r := Row{Seed: seed, Config: json.RawMessage(`{}`)}
		r.Computed.Data = data
		return r
	}
	for _, c := range []struct {
		a, b  Row
		alike bool
	}{
		{row(1, "generated from seed 1"), row(2, "generated from seed 2"), true},
		{row(1, "generated from seed 1"), row(2, "generated from seed 1"), true},
		{row(1, "generated from seed 2"), row(2, "generated from seed 1"), false},
		{row(1, "a file"), row(2, "another file"), false},
	} {
		if differences, err := Unlike(c.a, c.b); err != nil || (len(differences) == 0) != c.alike {
			t.Errorf("%q and %q: %q, %v", c.a.Computed.Data, c.b.Computed.Data, differences, err)
		}
	}
}

// Rows of one key whose versions differ are not averaged.
func TestGroupsAreOfAKeyAndOfSeedsAlone(t *testing.T) {
	row := func(run, config, version string) Row {
		return Row{Run: run, Config: json.RawMessage(config), Version: version}
	}
	type alpha struct{ Alpha float64 }
	groups, err := Groups([]Row{
		row("a", `{"alpha": 1}`, "1"), row("b", `{"alpha": 0}`, "1"), row("c", `{"alpha": 1}`, "2"), row("d", `{"alpha": 1}`, "1"), row("e", `{"alpha": 7}`, "1"),
	}, func(_ Row, c alpha) (float64, bool) { return c.Alpha, c.Alpha < 5 })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		names := ""
		for _, r := range g.Rows {
			names += r.Run
		}
		got = append(got, fmt.Sprint(g.Key, names, g.Besides()))
		if g.Config.Alpha != g.Key {
			t.Errorf("settings %v of key %v", g.Config, g.Key)
		}
	}
	if want := []string{"1ad", "1c (version 2 and 1)", "0b"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	if _, err := Groups([]Row{row("broken", `{`, "1")}, func(Row, any) (int, bool) { return 0, true }); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a row that cannot be read: %v", err)
	}
}

package plugin

import (
	"errors"
	"strings"
	"testing"
)

type thing string

func (t thing) Describe() Info {
	if t == "panics" {
		panic("no description today")
	}
	return Info{Name: string(t)}
}

func TestRegistryKeepsTheGoodAndRemembersTheFaulty(t *testing.T) {
	r := Registry[thing]{Kind: "flow"}
	for _, name := range []thing{"mnist", "adult", "mnist", "", "panics"} {
		r.Register(name)
	}
	if got := r.All(); len(got) != 2 || got[0] != "adult" || got[1] != "mnist" {
		t.Errorf("All() = %v, want [adult mnist]", got)
	}
	faults := r.Faults()
	if len(faults) != 3 {
		t.Fatalf("%d faults, want 3: %v", len(faults), faults)
	}
	for i, want := range []string{`flow "mnist"`, "no name", "no description today"} {
		if !strings.Contains(faults[i].Error(), want) {
			t.Errorf("fault %d is %q, want it to say %q", i, faults[i], want)
		}
	}
}

func TestLookupSuggestsTheNearest(t *testing.T) {
	r := Registry[thing]{Kind: "data set"}
	for _, name := range []thing{"mnist", "fashion-mnist", "adult", "glyphs"} {
		r.Register(name)
	}
	if got, err := r.Lookup("glyphs"); err != nil || got != "glyphs" {
		t.Fatalf("Lookup(glyphs) = %q, %v", got, err)
	}
	_, err := r.Lookup("mnits")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || len(unknown.Nearest) == 0 || unknown.Nearest[0] != "mnist" {
		t.Errorf("Lookup(mnits): %v, want mnist suggested", err)
	}
	if _, err := r.Lookup("zzzzzzzz"); err == nil || err.Error() != "no data set is called \"zzzzzzzz\"; `molehill list data sets` lists what there is" {
		t.Errorf("Lookup(zzzzzzzz): %v, want no suggestion, and where to look", err)
	}
}

// What is far is not suggested, and nothing twice.
func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"version": "", "sketchflow": "sketch-flow", "rnu": "run"} {
		if got := strings.Join(Nearest(name, []string{"epsilon", "sketch-flow", "swflow", "run", "sketch-flow"}), ", "); got != want {
			t.Errorf("Nearest(%s) = %s, want %q", name, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	// Known answers: Levenshtein's own examples.
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0}, {"flow", "wolf", 4}} {
		if got := EditDistance(c.a, c.b); got != c.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

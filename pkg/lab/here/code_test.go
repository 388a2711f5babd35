package here

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"molehill/pkg/lab"
	"molehill/pkg/plugin"
)

const cellSource = `package main

import (
	"fmt"
	"math/rand/v2"
)

// scatter is an experiment.
type scatter struct{ Bins int }

func (s scatter) Run() int { return helper(s.Bins) + offset }

func helper(n int) int { return n * scale }

const (
	scale = 2
	other = 3
)

var offset = 1

func draw() int { return rand.IntN(3) }

func unrelated() { fmt.Println(draw()) }

func main() { fmt.Println(scatter{4}.Run()) }
`

// codeOf digests the declarations of a source that roots reach.
func codeOf(t *testing.T, text string, roots ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"init": true}
	for _, root := range roots {
		named[root] = true
	}
	h := new(strings.Builder)
	if err := code(h, dir, named); err != nil {
		t.Fatal(err)
	}
	return h.String()
}

// What an experiment reaches makes another run of it, what it does not reach
// does not: finished runs of it stay found.
func TestOnlyCodeThatIsReachedCounts(t *testing.T) {
	before := codeOf(t, cellSource, "scatter")
	for name, c := range map[string]struct {
		from, to string
		same     bool
	}{
		"a comment":            {"// scatter is an experiment.", "// scatter scatters.", true},
		"layout":               {"{ return helper(s.Bins) + offset }", "{\n\treturn helper(s.Bins) +\n\t\toffset\n}", true},
		"another function":     {"fmt.Println(draw())", "fmt.Println(draw() + 1)", true},
		"the cell's main":      {"scatter{4}", "scatter{5}", true},
		"an import of others":  {"math/rand/v2", "math/rand", true},
		"a method":             {"+ offset }", "- offset }", false},
		"a function it calls":  {"n * scale", "n + scale", false},
		"a constant":           {"scale = 2", "scale = 7", false},
		"a variable":           {"offset = 1", "offset = 2", false},
		"a field":              {"Bins int", "Bins int8", false},
		"an init of the whole": {"func main()", "func init() { offset = 9 }\n\nfunc main()", false},
	} {
		if !strings.Contains(cellSource, c.from) {
			t.Fatalf("%s: the source lacks %q", name, c.from)
		}
		after := codeOf(t, strings.Replace(cellSource, c.from, c.to, 1), "scatter")
		if (after == before) != c.same {
			t.Errorf("%s: the same code: %v, want %v", name, after == before, c.same)
		}
	}
	if codeOf(t, cellSource, "draw") == codeOf(t, strings.Replace(cellSource, "math/rand/v2", "math/rand", 1), "draw") {
		t.Error("what an import stands for does not count")
	}
	if err := code(new(strings.Builder), t.TempDir(), nil); err == nil {
		t.Error("a folder without source has code")
	}
}

type bins struct{ Count int }

func (bins) Describe() plugin.Info { return plugin.Info{Name: "bins"} }

type holder struct {
	Of    plugin.Plugin
	Load  func() int
	Table map[string]int
	mine  int
}

func load() int { return 3 }

func TestFieldsAndWhatTheyHoldCount(t *testing.T) {
	home := "molehill/pkg/lab/here"
	written := func(value any) (string, map[string]bool) {
		text := new(strings.Builder)
		v := &values{home: home, to: text, roots: map[string]bool{}}
		v.walk(value)
		return text.String(), v.roots
	}
	same := func() holder {
		return holder{Of: &bins{2}, Load: load, Table: map[string]int{"a": 1, "b": 2, "c": 3}, mine: 4}
	}
	first, roots := written(same())
	for _, want := range []string{"holder", "bins", "load"} {
		if !roots[want] {
			t.Errorf("the roots %v lack %s", roots, want)
		}
	}
	for range 20 { // in whatever order maps are walked
		if again, _ := written(same()); again != first {
			t.Fatalf("the same value is written as\n%s\nand as\n%s", first, again)
		}
	}
	others := map[string]holder{"interface": same(), "table": same(), "unexported": same(), "function": same()}
	change := func(name string, f func(*holder)) {
		h := others[name]
		f(&h)
		if text, _ := written(h); text == first {
			t.Errorf("%s: another value is written alike", name)
		}
	}
	change("interface", func(h *holder) { h.Of = &bins{3} })
	change("table", func(h *holder) { h.Table["b"] = 5 })
	change("unexported", func(h *holder) { h.mine = 5 })
	change("function", func(h *holder) { h.Load = func() int { return 4 } })
}

// A function literal, or a hidden field of another package's type, may decide
// anything: then every change of the program is another run.
func TestWhatCannotBeSeenCountsAsTheProgram(t *testing.T) {
	opaque := func(value any) bool {
		v := &values{home: "molehill/pkg/lab/here", to: new(strings.Builder), roots: map[string]bool{}}
		v.walk(value)
		return v.opaque
	}
	captured := len(os.Args)
	var held, free struct{ Of sync.Mutex }
	held.Of.Lock()
	for name, value := range map[string]any{"a literal": holder{Load: func() int { return captured }}, "a hidden field": &held, "in a slice": []any{strings.NewReader("x")}} {
		if !opaque(value) {
			t.Errorf("%s is taken for known", name)
		}
	}
	for name, value := range map[string]any{"a declared function": holder{Load: load}, "a free lock": &free, "nothing": holder{}} {
		if opaque(value) {
			t.Errorf("%s is taken for unknown", name)
		}
	}
	h := sha256.New()
	program(h)
	if got := digest(holder{Load: func() int { return captured }}, place{path: "molehill/pkg/lab/here", dir: "."}); got != hex.EncodeToString(h.Sum(nil))[:digits] {
		t.Errorf("the digest %s is not the program's", got)
	}
}

func TestOptionsAreThoseOfRuns(t *testing.T) {
	q, called, err := parse("walk", []lab.Option{lab.Dataset("mnist"), lab.Epsilon(lab.Inf), lab.Set("rate", 0.5), lab.Preset("paper"),
		lab.Seed(9), lab.Research(), lab.Name("stroll"), lab.On("here")})
	if err != nil || called != "stroll" || q.Experiment != "walk" || q.Preset != "paper" || q.Seed != 9 || !q.Research {
		t.Errorf("%+v called %q, %v", q, called, err)
	}
	for name, want := range map[string]string{"dataset": "mnist", "epsilon": "+Inf", "rate": "0.5"} {
		if q.Settings[name] != want {
			t.Errorf("%s is %q, want %q", name, q.Settings[name], want)
		}
	}
	if q, _, err := parse("walk", nil); err != nil || q.Seed != 1 {
		t.Errorf("without options the seed is %d, %v; want that of `molehill run`", q.Seed, err)
	}
	for want, option := range map[string]lab.Option{
		"only this process has the code of walk": lab.On("slurm"),
		"has no meaning":                         func(a []string) []string { return append(a, "--colour", "red") },
	} {
		if _, _, err := parse("walk", []lab.Option{option}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	// Which of two ε is meant nobody knows.
	for want, options := range map[string][]lab.Option{
		"epsilon is set to 1, and to 10; give one of them": {lab.Epsilon(1), lab.Set("epsilon", 10)},
		"rate is set to 1, and to 2; give one of them":     {lab.Set("rate", 1), lab.Set("rate", 2)},
	} {
		if _, _, err := parse("walk", options); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

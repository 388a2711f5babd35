package lab

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molehill/pkg/plugin"
)

func entry(name string, o plugin.Origin) plugin.Entry {
	return plugin.Entry{Info: plugin.Info{Name: name, Summary: "about " + name, Version: "1", Source: "a paper"}, Origin: o}
}

// A notebook sees what the program has and what its own cells declare, alike.
func TestCatalogueAddsWhatTheNotebookDeclares(t *testing.T) {
	ours, theirs, mine := plugin.Origin{Module: "molehill"}, plugin.Origin{Module: "example.org/hills", Version: "v1.2.0"}, plugin.Origin{Module: "gonb_1", Package: "main"}
	flow := entry("flow", ours)
	flow.Defaults = map[string]json.RawMessage{"quick": json.RawMessage(`{"steps":3,"dataset":"mnist"}`), "paper": json.RawMessage(`{"steps":4,"dataset":"mnist","bins":2}`)}
	flow.Unread = []string{"bins"}
	flow.Suited = []plugin.Suited{{Dataset: "celeba", Defaults: map[string]map[string]json.RawMessage{"paper": {"steps": json.RawMessage(`5`), "bins": json.RawMessage(`7`)}}}}
	program := []plugin.Kind{{Kind: "experiments", Plugins: []plugin.Entry{flow, entry("hills", theirs)}, Faults: []string{"one was left out"}}}
	cell := []plugin.Kind{
		{Kind: "experiments", Plugins: []plugin.Entry{entry("flow", ours), entry("hills", theirs), entry("scatter", mine)}},
		{Kind: "metrics", Plugins: []plugin.Entry{entry("reach", mine)}},
	}
	table, err := catalogue(withHere(program, cell), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := table.String()
	for want, times := range map[string]int{"about flow": 1, "about hills": 1, "example.org/hills v1.2.0": 1, "about scatter": 1, "this notebook": 2, "about reach": 1, "one was left out": 1} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%q is there %d times, want %d:\n%s", want, n, times, text)
		}
	}
	if table, err := catalogue(program, []string{"experiment"}); err != nil || strings.Contains(table.String(), "metrics") || !strings.Contains(table.String(), "about flow") {
		t.Errorf("a kind is\n%s, %v", table, err)
	}
	page, err := catalogue(withHere(program, cell), []string{"scatter"})
	if err != nil || !strings.Contains(page.String(), "from this notebook") || !strings.Contains(page.String(), "here.Run, in the cell") {
		t.Errorf("its page is\n%s, %v", page, err)
	}
	page, err = catalogue(program, []string{"flow"})
	if err != nil || len(page.Rows) != 3 || fmt.Sprint(page.Rows[0]) != "[steps 3 4]" || fmt.Sprint(page.Rows[2]) != "[steps, with dataset=celeba  5]" || !strings.Contains(page.Caption, "refused: bins.") {
		t.Errorf("the settings of flow are %v, %v; want them in their order, quick before paper, what a data set changes, and of bins that nothing reads it: %s", page.Rows, err, page.Caption)
	}
	if _, err := catalogue(program, []string{"flwo"}); err == nil || !strings.Contains(err.Error(), "did you mean flow") {
		t.Errorf("an unknown word: %v", err)
	}
}

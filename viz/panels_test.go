package viz

import (
	"strings"
	"testing"
)

// Words above cells get room of their own, as much for each row as the longest of them
// need, and break where a cell ends.
func TestPanelsHaveWordsAboveCells(t *testing.T) {
	cell := Curves{Lines: []Line{{Y: []float64{1, 2}}}}
	f := Panels{Cells: []Figure{cell, cell, nil, cell}, Columns: 2}
	height := func(above ...string) float64 {
		f.Above = above
		p, err := f.illustrate()
		if err != nil {
			t.Fatal(err)
		}
		return float64(p.height)
	}
	none, one, two := height(), height("", "one", "", ""), height("one\ntwo", "", "", "one")
	if line := (one - none) / 2; line < 8 || two-none != 2*(one-none) {
		t.Errorf("heights %v, %v with a line in 2 rows and %v with two", none, one, two)
	}
	if long := height(strings.Repeat("word ", 40), "", "", ""); !(long > two) {
		t.Errorf("200 letters have as much room as two words: %v, %v", long, two)
	}
	f.Above = []string{"one"}
	if _, err := f.illustrate(); err == nil || !strings.Contains(err.Error(), "4 cells") {
		t.Errorf("words above one of four cells: %v", err)
	}
}

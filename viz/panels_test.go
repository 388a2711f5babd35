package viz

import (
	"fmt"
	"strings"
	"testing"

	"molehill/viz/internal/sheet"
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
	if line := (one - none) / 2; !(line >= 8) || two-none != 2*(one-none) {
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

// A name looks the same in all panels, and two names never look alike: whatever the order
// of the lines, and whichever of them a panel lacks.
func TestPanelsTellSeriesByTheirNames(t *testing.T) {
	curves := func(names ...string) Curves {
		f := Curves{References: []Reference{{names[0], 1}}}
		for _, name := range names {
			f.Lines = append(f.Lines, Line{Name: name, Y: []float64{1, 2}})
		}
		return f
	}
	for _, c := range []struct {
		cells []Figure
		want  string // of each cell, the places of its lines and of its reference
	}{
		{[]Figure{curves("a", "b"), curves("a", "b", "c")}, "a0 b1 a0 | a0 b1 c2 a0"},
		{[]Figure{curves("b", "c"), curves("a", "b", "c")}, "b0 c1 b0 | a2 b0 c1 a1"},
		{[]Figure{curves("ε spent", "noise"), curves("accuracy", "loss")}, "ε spent0 noise1 ε spent0 | accuracy2 loss3 accuracy1"},
		{[]Figure{curves("a", "a"), curves("a", "a", "a")}, "a0 a1 a0 | a0 a1 a2 a0"},
	} {
		var cells []*picture
		for _, cell := range c.cells {
			p, err := picturing(cell.(illustrator))
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, p)
		}
		shared := table{cells: cells}
		if err := shared.share(); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, p := range cells {
			var places []string
			for _, e := range p.chart.Legend {
				places = append(places, fmt.Sprint(e.Name, e.Style.Index))
			}
			told = append(told, strings.Join(places, " "))
		}
		if got := strings.Join(told, " | "); got != c.want {
			t.Errorf("the panels have %s, want %s", got, c.want)
		}
	}
}

// Labels of columns break where a cell ends, all stand on the cells, and where none has text there is no
// room for them.
func TestPanelsBreakLongHeads(t *testing.T) {
	cell := Curves{Lines: []Line{{Y: []float64{1, 2}}}}
	height := func(heads ...string) float64 {
		p, err := Panels{Cells: []Figure{cell, cell, cell}, Cols: heads}.illustrate()
		if err != nil {
			t.Fatal(err)
		}
		return float64(p.height)
	}
	line := float64(sheet.HeadType.Leading())
	one, words, letters := height("a", "b", "c"), height("a", strings.Repeat("directions 720, ", 3), "c"), height(strings.Repeat("m", 30), "", "")
	if !(words >= one+line-0.01 && letters >= one+line-0.01) {
		t.Errorf("heights %v with short heads, %v with a long one and %v with a long word", one, words, letters)
	}
	if none, empty := height(), height("", "", ""); empty != none {
		t.Errorf("heights %v without heads and %v with empty ones", none, empty)
	}
}

// A long name of a row breaks, so that the data keep more than half of the width, and gets the height
// that its lines need.
func TestDotsBreakLongNames(t *testing.T) {
	f := Dots{Rows: []string{"a", "b"}, Conditions: []string{"c"}, Values: [][]float64{{1}, {2}}}
	short, err := f.illustrate()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{strings.Repeat("a name of some length ", 14), strings.Repeat("m", 140)} {
		f.Rows[0] = name
		long, err := f.illustrate()
		if err != nil {
			t.Fatal(err)
		}
		if left := long.chart.Left(long.height); !(left <= sheet.NotebookWidth/2 && long.height > short.height) {
			t.Errorf("%.20s… takes %v of %v, in a picture %v high; with a short name it is %v", name, left, sheet.NotebookWidth, long.height, short.height)
		}
	}
}

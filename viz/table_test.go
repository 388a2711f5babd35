package viz

import (
	"encoding/csv"
	"math"
	"strings"
	"testing"
)

func privacyTable() Table {
	t := Table{Title: "Distance", Header: []string{"method", "ε", "sliced W₂"}}
	t.Add("flow", math.Inf(1), 0.0119871)
	t.Add("sketch | <b>$5$</b>", 1, float32(0.25))
	t.Add("none")
	return t
}

func TestTableText(t *testing.T) {
	want := `Distance

method               ε  sliced W₂
───────────────────  ─  ─────────
flow                 ∞    0.01199
sketch | <b>$5$</b>  1       0.25
none
`
	if got := privacyTable().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTableEscapes checks that no cell can become markup.
func TestTableEscapes(t *testing.T) {
	table := privacyTable()
	table.Add("<script>alert(1)</script>\n\n# head `code` [a](b) a|b", "\\", "&lt;")
	page := table.HTML()
	for _, live := range []string{"<script", "<b>$", "$5$"} {
		if strings.Contains(page, live) {
			t.Errorf("HTML contains %q:\n%s", live, page)
		}
	}
	if !strings.Contains(page, "&amp;lt;") {
		t.Errorf("HTML lost an escape:\n%s", page)
	}
	lines := strings.Split(strings.TrimSpace(table.Markdown()), "\n")
	for _, line := range lines[2:] {
		bars := 0
		for i := range line {
			if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
				bars++
			}
		}
		if bars != 4 {
			t.Errorf("a row of Markdown has %d bars, want 4: %s", bars, line)
		}
		if strings.Contains(line, "<") {
			t.Errorf("Markdown contains a tag: %s", line)
		}
	}
}

// TestTableCSV checks that what is written reads back with all digits.
func TestTableCSV(t *testing.T) {
	table := privacyTable()
	table.Add("a \"quoted\", cell\nof two lines", 1.0/3, nil)
	var b strings.Builder
	if err := table.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[1][2] != "0.0119871" || rows[4][0] != "a \"quoted\", cell\nof two lines" || rows[4][1] != "0.3333333333333333" {
		t.Errorf("read back %q", rows)
	}
	table.Add(1, 2, 3, 4)
	if err := table.CSV(&b); err == nil || !strings.Contains(err.Error(), "row 5 has 4 values and the header has 3") {
		t.Errorf("a row that is too long: %v", err)
	}
	if err := (Table{}).CSV(&b); err == nil {
		t.Error("a table without columns was written")
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.08: "0.08", 12345.678: "12346", 0.000123456: "0.0001235", 1e-9: "1e-09", 99.999: "100",
		-2.5: "-2.5", 1e6: "1000000", math.Inf(-1): "−∞",
	} {
		if got := significant(v); got != want {
			t.Errorf("significant(%v) = %q, want %q", v, got, want)
		}
	}
}

// Letters of East Asia take two columns of a terminal, and no text gives it orders.
func TestTablesStandStraightInATerminal(t *testing.T) {
	text := Table{Title: "a\x1b[31mb", Caption: "c\rd\ne", Header: []string{"city", "n"}, Rows: [][]any{{"東京", 1}, {"Łódź", 22}, {"👨‍👩‍👧", 3}}}.String()
	if strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("a terminal would obey %q", text)
	}
	at := -1
	for _, line := range strings.Split(text, "\n") {
		for _, value := range []string{" 1", "22", " 3"} {
			if before, ok := strings.CutSuffix(line, value); ok {
				if width := columnsOf(before); at >= 0 && width != at {
					t.Errorf("%q stands at column %d, others at %d", value, width, at)
				} else {
					at = width
				}
			}
		}
	}
	if at < 0 {
		t.Errorf("no values in %q", text)
	}
}

// A backslash begins no formula.
func TestTablesHaveNoFormulas(t *testing.T) {
	html := Table{Rows: [][]any{{`\(a\) \[b\] \begin{x} $c$`}}}.HTML()
	for _, start := range []string{`\(`, `\[`, `\begin`, "$c"} {
		if strings.Contains(html, start) {
			t.Errorf("%q is in %s", start, html)
		}
	}
}

// Notes are a list below the caption, in every form.
func TestTableNotes(t *testing.T) {
	table := Table{Header: []string{"a"}, Rows: [][]any{{1}}, Caption: "All.", Notes: []string{"one <b>", "two"}}
	for got, want := range map[string]string{
		table.Markdown(): "\nAll.\n\n- one &lt;b\\>\n- two\n",
		table.HTML():     "<ul style=\"margin:0.4em 0\"><li><small>one &lt;b&gt;</small></li><li><small>two</small></li></ul>\n",
		table.String():   "\nAll.\n\n- one <b>\n- two\n",
	} {
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}

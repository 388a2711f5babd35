package viz

import (
	"testing"
	"unicode/utf8"
)

// A line of progress is no longer than its terminal, whatever its words.
func TestProgressFitsItsTerminal(t *testing.T) {
	for _, columns := range []int{60, 80, 120, 300} {
		p := &Progress{title: "harmonic-classes-generator, ε = 10", note: "sliced W₂ 0.01234", total: 4200}
		bar, room := divide(columns, p.total)
		p.room = room
		// " 100% |", the bar, "| (4200/4200, 1234 it/s) [12m34s:12m34s] "
		if width := utf8.RuneCountInString(p.fitting()) + 7 + bar + len("| (4200/4200, 1234 it/s) [12m34s:12m34s]"); width > columns+1 {
			t.Errorf("%d columns for a line of %d: %q beside a bar of %d", columns, width, p.fitting(), bar)
		}
	}
	p := &Progress{title: "abcdefghij", note: "note"}
	for room, want := range map[int]string{0: "abcdefghij · note", 17: "abcdefghij · note", 16: "abcdefghij", 10: "abcdefghij", 5: "abcd…"} {
		if p.room = room; p.fitting() != want {
			t.Errorf("in %d columns %q, want %q", room, p.fitting(), want)
		}
	}
	// Letters of East Asia take two columns, marks over letters none, and a line is one.
	for title, want := range map[string]string{"最適輸送の学習": "最適輸…", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301": "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "two\nlines": "two lin…"} {
		if p := (&Progress{title: title, room: 8}); p.fitting() != want {
			t.Errorf("in 8 columns %q, want %q", p.fitting(), want)
		}
	}
}

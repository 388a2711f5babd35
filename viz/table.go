package viz

import (
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Table is a small table of text and numbers. Floats are written with four significant digits (in CSV
// with all), and columns of numbers are set flush right.
type Table struct {
	Title, Caption string
	Header         []string
	Rows           [][]any  // each as long as Header; a shorter row is filled up
	Notes          []string // what else is to be known, listed below the caption
}

// Add appends a row.
func (t *Table) Add(cells ...any) { t.Rows = append(t.Rows, cells) }

// check reports a table without columns or a row that is too long.
func (t Table) check() error {
	if t.columns() == 0 {
		return errors.New("viz: the table has no columns: give it a header or a row")
	}
	for i, row := range t.Rows {
		if len(t.Header) > 0 && len(row) > len(t.Header) {
			return errLength("the table", fmt.Sprintf("row %d", i+1), len(row), "the header", len(t.Header))
		}
	}
	return nil
}

func (t Table) columns() int {
	n := len(t.Header)
	for _, row := range t.Rows {
		n = max(n, len(row))
	}
	return n
}

// texts returns all cells as text, the header first, and which columns hold only numbers.
func (t Table) texts() (cells [][]string, numeric []bool) {
	n := t.columns()
	numeric = make([]bool, n)
	for j := range numeric {
		numeric[j] = len(t.Rows) > 0
	}
	header := make([]string, n)
	copy(header, t.Header)
	cells = append(cells, header)
	for _, row := range t.Rows {
		line := make([]string, n)
		for j, v := range row {
			line[j] = cellText(v)
			numeric[j] = numeric[j] && isNumber(line[j])
		}
		cells = append(cells, line)
	}
	return cells, numeric
}

// cellText writes one value.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return significant(v)
	case float32:
		return significant(float64(v))
	}
	return fmt.Sprint(v)
}

// significant writes a float with four significant digits, without an exponent where it reads well.
func significant(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e7):
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := 4
	if v != 0 {
		decimals = max(3-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// isNumber reports whether a cell stands in a column of numbers: a number, a percentage, or a sign for
// none.
func isNumber(text string) bool {
	text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	switch text {
	case "", "-", "–", "—", "∞", "−∞", "NaN":
		return true
	}
	_, err := strconv.ParseFloat(strings.Replace(text, "−", "-", 1), 64)
	return err == nil
}

// HTML returns the table for a notebook: without scripts, style sheets or colours of its own, so that it
// survives untrusted notebooks and reads on light and dark grounds.
func (t Table) HTML() string {
	cells, numeric := t.texts()
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "<p style=\"margin:0.4em 0\"><b>%s</b></p>\n", escapeHTML(t.Title))
	}
	b.WriteString("<table style=\"border-collapse:collapse\">\n")
	for i, row := range cells {
		tag, border := "td", "1px solid rgba(128,128,128,0.25)"
		if i == 0 {
			if len(t.Header) == 0 {
				continue
			}
			tag, border = "th", "1px solid rgba(128,128,128,0.8)"
		}
		b.WriteString("<tr>")
		for j, text := range row {
			align := "left"
			if numeric[j] {
				align = "right"
			}
			fmt.Fprintf(&b, "<%s style=\"text-align:%s;padding:0.25em 0.9em;border-bottom:%s\">%s</%s>", tag, align, border, escapeHTML(text), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	if t.Caption != "" {
		fmt.Fprintf(&b, "<p style=\"margin:0.4em 0\"><small>%s</small></p>\n", escapeHTML(t.Caption))
	}
	if len(t.Notes) > 0 {
		b.WriteString("<ul style=\"margin:0.4em 0\">")
		for _, note := range t.Notes {
			fmt.Fprintf(&b, "<li><small>%s</small></li>", escapeHTML(note))
		}
		b.WriteString("</ul>\n")
	}
	return b.String()
}

// inert has signs that begin a formula, $ and \(, in elements of their own, where they begin none.
var inert = strings.NewReplacer("$", "<span>$</span>", "\\", "<span>\\</span>")

// escapeHTML makes text inert in HTML.
func escapeHTML(text string) string {
	return inert.Replace(html.EscapeString(text))
}

// Markdown returns the table in GitHub's dialect, every special character escaped.
func (t Table) Markdown() string {
	cells, numeric := t.texts()
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", EscapeMarkdown(t.Title))
	}
	for i, row := range cells {
		for _, text := range row {
			b.WriteString("| " + EscapeMarkdown(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, right := range numeric {
				b.WriteString(map[bool]string{false: "|:--", true: "|--:"}[right])
			}
			b.WriteString("|\n")
		}
	}
	if t.Caption != "" {
		fmt.Fprintf(&b, "\n%s\n", EscapeMarkdown(t.Caption))
	}
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", EscapeMarkdown(note))
	}
	return b.String()
}

// EscapeMarkdown makes text inert in Markdown, on one line.
func EscapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_{}[]>#|$~!", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// String returns the table with aligned columns, for a terminal.
func (t Table) String() string {
	cells, numeric := t.texts()
	widths := make([]int, len(numeric))
	for i, row := range cells {
		for j, text := range row {
			cells[i][j] = oneLine(text)
			widths[j] = max(widths[j], columnsOf(cells[i][j]))
		}
	}
	var b strings.Builder
	write := func(row []string) {
		var line strings.Builder
		for j, text := range row {
			pad := strings.Repeat(" ", widths[j]-columnsOf(text))
			if numeric[j] {
				text, pad = pad+text, ""
			}
			if j > 0 {
				line.WriteString("  ")
			}
			line.WriteString(text + pad)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if t.Title != "" {
		b.WriteString(printable(t.Title) + "\n\n")
	}
	for i, row := range cells {
		if i > 0 {
			write(row)
		} else if len(t.Header) > 0 {
			write(row)
			rules := make([]string, len(widths))
			for j, width := range widths {
				rules[j] = strings.Repeat("─", width)
			}
			write(rules)
		}
	}
	if t.Caption != "" {
		b.WriteString("\n" + printable(t.Caption) + "\n")
	}
	for i, note := range t.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("- " + printable(note) + "\n")
	}
	return b.String()
}

// oneLine leaves out ends of lines too, and what else a terminal would take for orders.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, unicode.IsControl), " ")
}

// printable leaves out what a terminal would take for orders, but for ends of lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, text)
}

// columnsOf counts the columns of a terminal that text takes: marks over letters take none,
// and the letters of East Asia two.
func columnsOf(text string) int { return uniseg.StringWidth(text) }

// CSV writes header and rows as RFC 4180, floats with all their digits.
func (t Table) CSV(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if len(t.Header) > 0 {
		if err := out.Write(t.Header); err != nil {
			return err
		}
	}
	for _, row := range t.Rows {
		line := make([]string, t.columns())
		for j, v := range row {
			switch v.(type) {
			case float32, float64:
				line[j] = fmt.Sprint(v)
			default:
				line[j] = cellText(v)
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Spread writes a mean with its standard deviation, as cells of a Table have it: a mean
// alone where there is no deviation (NaN), "" where there is neither. What values differ
// by in the seventh digit, such as noise that is calibrated to nine, is rounding.
func Spread(mean, deviation float64) string {
	switch {
	case math.IsNaN(mean) && math.IsNaN(deviation):
		return ""
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return "undefined"
	case math.IsNaN(deviation):
		return strconv.FormatFloat(mean, 'g', 4, 64)
	}
	if deviation < 1e-6*math.Abs(mean) {
		deviation = 0
	}
	return fmt.Sprintf("%.4g ± %.2g", mean, deviation)
}

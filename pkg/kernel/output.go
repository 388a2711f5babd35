package kernel

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"regexp"
	"strings"
)

// CellError is a cell that failed: its message, or that it took too long.
type CellError struct {
	Cell      int // index in the notebook, from 0
	Name      string
	Value     string
	Traceback []string
}

// Error is the traceback where there is one: GoNB puts the compiler's messages
// and the lines that they are about into it.
func (e *CellError) Error() string {
	what := e.Value
	if e.Name != "ERROR" && e.Name != "" {
		what = e.Name + ": " + what
	}
	if trace := strings.TrimSpace(strings.Join(e.Traceback, "\n")); trace != "" && trace != strings.TrimSpace(e.Value) {
		what += "\n" + trace
	}
	return fmt.Sprintf("cell %d: %s", e.Cell+1, escapes.ReplaceAllString(strings.TrimSpace(what), ""))
}

// Image is a picture in a notebook's outputs.
type Image struct {
	Cell    int    // index of its cell
	MIME    string // "image/png", "image/jpeg", "image/svg+xml"
	Heading string // the text that stands for it; "" if none does
	Data    []byte // the file's bytes
}

// Table is a table in a notebook's outputs, the head with the other rows.
type Table struct {
	Cell int
	Rows [][]string
}

// Errors returns the cells that failed.
func (nb *Notebook) Errors() (found []*CellError) {
	for cell, o := range nb.outputs() {
		if o.Type == "error" {
			found = append(found, &CellError{Cell: cell, Name: o.ErrorName, Value: o.Value, Traceback: o.Traceback})
		}
	}
	return found
}

// Text returns all that code cells wrote, streams and displays, in the order of
// cells, without tags and terminal colours.
func (nb *Notebook) Text() string { return nb.textOf(func(int) bool { return true }) }

// textOf is Text of some cells, by their index.
func (nb *Notebook) textOf(some func(cell int) bool) string {
	var b strings.Builder
	for cell, o := range nb.outputs() {
		if !some(cell) {
			continue
		}
		text := string(o.Text)
		if o.Type != "stream" {
			if text = o.data("text/markdown"); text == "" {
				text = o.data("text/html")
				text = html.UnescapeString(tags.ReplaceAllString(text, " "))
			}
			if text == "" {
				text = o.data("text/plain")
			}
		}
		b.WriteString(escapes.ReplaceAllString(text, ""))
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Images returns the pictures: displayed ones, and those inside displayed HTML
// (which is how GoNB sends SVG).
func (nb *Notebook) Images() (found []Image) {
	for cell, o := range nb.outputs() {
		for _, mime := range []string{"image/png", "image/jpeg"} {
			if encoded := strings.Join(strings.Fields(o.data(mime)), ""); encoded != "" {
				data, err := base64.StdEncoding.DecodeString(encoded)
				if err == nil {
					found = append(found, Image{cell, mime, o.data("text/plain"), data})
				}
			}
		}
		svg := o.data("image/svg+xml")
		if svg != "" {
			found = append(found, Image{cell, "image/svg+xml", o.data("text/plain"), []byte(svg)})
		}
		page := o.data("text/html")
		for _, picture := range inlineSVG.FindAllString(page, -1) {
			found = append(found, Image{cell, "image/svg+xml", "", []byte(picture)})
		}
		for _, picture := range inlineImage.FindAllStringSubmatch(page, -1) {
			if data, err := base64.StdEncoding.DecodeString(picture[2]); err == nil {
				found = append(found, Image{cell, picture[1], "", data})
			}
		}
	}
	return found
}

// Tables returns the tables in displayed HTML and Markdown.
func (nb *Notebook) Tables() (found []Table) {
	for cell, o := range nb.outputs() {
		for _, source := range htmlTable.FindAllString(o.data("text/html"), -1) {
			found = append(found, Table{cell, htmlRows(source)})
		}
		for _, rows := range markdownTables(o.data("text/markdown")) {
			found = append(found, Table{cell, rows})
		}
	}
	return found
}

var (
	escapes     = regexp.MustCompile("\x1b\\[[0-9;]*m")
	tags        = regexp.MustCompile(`(?s)<(script|style|svg)\b.*?</(script|style|svg)>|<[^>]*>`)
	inlineSVG   = regexp.MustCompile(`(?s)<svg\b.*?</svg>`)
	inlineImage = regexp.MustCompile(`src=["']data:(image/[a-z+]+);base64,([A-Za-z0-9+/=]+)["']`)
	htmlTable   = regexp.MustCompile(`(?s)<table\b.*?</table>`)
	ruleLine    = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
)

// outputs visits all outputs with the index of their cell.
func (nb *Notebook) outputs() func(yield func(int, Output) bool) {
	return func(yield func(int, Output) bool) {
		for i, c := range nb.Cells {
			for _, o := range c.Outputs {
				if !yield(i, o) {
					return
				}
			}
		}
	}
}

// data is what an output holds for a MIME type, if that is text.
func (o Output) data(mime string) string {
	var text Lines
	if json.Unmarshal(o.Data[mime], &text) != nil {
		return "" // absent, or not text
	}
	return string(text)
}

// htmlRows reads the cells of a table as far as they can be read.
func htmlRows(source string) (rows [][]string) {
	decoder := xml.NewDecoder(strings.NewReader(source))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	inside := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return rows
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch strings.ToLower(t.Name.Local) {
			case "tr":
				rows = append(rows, nil)
			case "td", "th":
				if len(rows) == 0 {
					rows = append(rows, nil)
				}
				last := &rows[len(rows)-1]
				*last = append(*last, "")
				inside = true
			}
		case xml.EndElement:
			if name := strings.ToLower(t.Name.Local); name == "td" || name == "th" {
				inside = false
			}
		case xml.CharData:
			if inside {
				last := rows[len(rows)-1]
				last[len(last)-1] = strings.TrimSpace(last[len(last)-1] + string(t))
			}
		}
	}
}

// markdownTables reads tables that have a rule below their head.
func markdownTables(source string) (tables [][][]string) {
	lines := strings.Split(source, "\n")
	for i := 1; i < len(lines); i++ {
		if !strings.Contains(lines[i], "|") || !ruleLine.MatchString(lines[i]) || !strings.Contains(lines[i-1], "|") {
			continue
		}
		table := [][]string{markdownRow(lines[i-1])}
		for i++; i < len(lines) && strings.Contains(lines[i], "|"); i++ {
			table = append(table, markdownRow(lines[i]))
		}
		tables = append(tables, table)
	}
	return tables
}

func markdownRow(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

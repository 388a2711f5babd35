package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Source is a table as texts, row by row.
type Source interface {
	Header() []string
	// Read returns the next row's values in the order of Header, valid until the
	// next call, and io.EOF after the last.
	Read() ([]string, error)
	// Texts reports whether the values of a column are texts of whoever wrote the file;
	// else they are numbers and days, which this package spells its own way.
	Texts(column int) bool
	// Unread is why a column's values are not read, and are empty; nil if they are.
	Unread(column int) error
	io.Closer
}

// Open opens a table by the ending of its name: .csv, .tsv and .txt, .parquet, or
// .npz. separator is that of CSV, "" for the one that the first line has most.
func Open(path, separator string) (Source, error) {
	var (
		s   Source
		err error
	)
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".tsv":
		s, err = openCSV(path, "\t")
	case ".csv", ".txt":
		s, err = openCSV(path, separator)
	case ".parquet", ".pq":
		s, err = openParquet(path)
	case ".npz":
		s, err = openNPZ(path)
	default:
		return nil, fmt.Errorf("table: %s ends in %q; expected .csv, .tsv, .parquet or .npz", path, ending)
	}
	if named, ok := errors.AsType[*fs.PathError](err); ok && named.Path == path {
		err = named.Err // said once
	}
	if err != nil {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	if err := checkHeader(s.Header()); err != nil {
		return nil, errors.Join(fmt.Errorf("table: %s: %w", path, err), s.Close())
	}
	return s, nil
}

// checkHeader refuses names that cannot tell columns apart.
func checkHeader(names []string) error {
	if len(names) > MaxColumns {
		return fmt.Errorf("%d columns; expected at most %d", len(names), MaxColumns)
	}
	seen := map[string]int{}
	for i, name := range names {
		switch {
		case name == "":
			return fmt.Errorf("column %d has no name; the first line has to name all columns (of pandas' own numbers of rows, to_csv(index=False) writes none)", i+1)
		case !utf8.ValidString(name):
			return fmt.Errorf("the name of column %d is no UTF-8; save the table as UTF-8", i+1)
		case seen[name] > 0:
			return fmt.Errorf("columns %d and %d have the same name; give each one of its own", seen[name], i+1)
		}
		seen[name] = i + 1
	}
	return nil
}

// Table is a table as codes: what a schema lets be known of its records.
type Table struct {
	Schema  *Schema
	Columns []Column // Schema.Modelled
	Codes   [][]Code // [len(Columns)][n]
}

// Len returns the number of rows.
func (t *Table) Len() int {
	if len(t.Codes) == 0 {
		return 0
	}
	return len(t.Codes[0])
}

// Disagreement says how often the values of a column were not what its schema
// says. It is told to the keeper of the records, and to nobody else.
type Disagreement struct {
	Column  string `json:"column"`
	Clamped int    `json:"clamped,omitempty"` // beyond the range, taken for its nearer end
	Unknown int    `json:"unknown,omitempty"` // no number, day or name of the column, taken for missing
	Absent  int    `json:"absent,omitempty"`  // missing, where the schema says that none is
	Example string `json:"example,omitempty"` // the first of them
	Row     int    `json:"row,omitempty"`     // where it is, from 1, without the header
	Hint    string `json:"hint,omitempty"`    // what may be wrong
}

// Count is how many values disagree.
func (d Disagreement) Count() int { return d.Clamped + d.Unknown + d.Absent }

// String tells it to the keeper.
func (d Disagreement) String() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{{d.Clamped, "beyond the range, moved to its nearer end"}, {d.Unknown, "not in the schema, taken for missing"}, {d.Absent, "missing, where the schema says that none is"}} {
		if p.count > 0 {
			parts = append(parts, counted(p.count)+" "+p.what)
		}
	}
	text := fmt.Sprintf("column %q: %s; the first is %.40q in row %d", d.Column, strings.Join(parts, ", "), d.Example, d.Row)
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return text
}

// Read reads a table as its schema describes it.
//
// The columns of the file are found by name and may stand in any order; those that
// the schema does not have are an error, as is a file that is damaged or has ragged
// rows. Single values are not: see Disagreement.
func Read(ctx context.Context, path string, schema *Schema) (*Table, []Disagreement, error) {
	if err := schema.Check(); err != nil {
		return nil, nil, fmt.Errorf("table: schema: %w", err)
	}
	source, err := Open(path, schema.Separator)
	if err != nil {
		return nil, nil, err
	}
	t, disagreements, err := schema.Code(ctx, source)
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, nil, fmt.Errorf("table: %s: %w", path, err)
	}
	return t, disagreements, nil
}

// CheckFile returns an error unless a file has the columns of the schema. It reads the
// header alone.
func (s *Schema) CheckFile(path string) error {
	source, err := Open(path, s.Separator)
	if err != nil {
		return err
	}
	var at []int
	if err = checkSingle(source); err == nil {
		at, err = s.match(source.Header(), s.Modelled())
	}
	for _, column := range at {
		err = cmp.Or(err, source.Unread(column))
	}
	if err = errors.Join(err, source.Close()); err != nil {
		return fmt.Errorf("table: %s: %w", path, err)
	}
	return nil
}

// Code reads all rows of a source; see Read.
func (s *Schema) Code(ctx context.Context, source Source) (*Table, []Disagreement, error) {
	if err := checkSingle(source); err != nil {
		return nil, nil, err
	}
	t := &Table{Schema: s, Columns: s.Modelled()}
	at, err := s.match(source.Header(), t.Columns)
	if err != nil {
		return nil, nil, err
	}
	t.Codes = make([][]Code, len(t.Columns))
	found := make([]Disagreement, len(t.Columns))
	coders := make([]coder, len(t.Columns))
	for i, c := range t.Columns {
		if err := source.Unread(at[i]); err != nil {
			return nil, nil, err
		}
		coders[i], found[i].Column = newCoder(s, c, source.Texts(at[i])), c.Name
		_, coders[i].days = source.(*npzSource)
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		row, err := source.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range coders {
			code, fault := coders[i].code(row[at[i]])
			t.Codes[i] = append(t.Codes[i], code)
			if fault != fine {
				found[i].add(fault, row[at[i]], n+1)
			}
		}
	}
	if t.Len() == 0 {
		return nil, nil, errors.New("it has no rows; expected at least one below the header")
	}
	var disagreements []Disagreement
	for _, d := range found {
		if d.Row > 0 {
			d.Hint = hint(*s.column(d.Column), d)
			disagreements = append(disagreements, d)
		}
	}
	return t, disagreements, nil
}

// maxExample is how much of a value is kept to be shown.
const maxExample = 60

func (d *Disagreement) add(f fault, text string, row int) {
	if d.Row == 0 {
		d.Example, d.Row = strings.Clone(text[:min(len(text), maxExample)]), row
	}
	switch f {
	case clamped:
		d.Clamped++
	case unknown:
		d.Unknown++
	case absent:
		d.Absent++
	}
}

// match returns where the columns stand in a header. Both sides must agree: a
// column that is missing on either is more likely a mistake than meant.
func (s *Schema) match(header []string, columns []Column) ([]int, error) {
	places := map[string]int{}
	for i, name := range header {
		places[name] = i
		if s.column(name) == nil { // not told by name: without a header it is a record's value
			return nil, fmt.Errorf("its column %d has a name that the schema does not have; is the first line that of the names? If so add it there, with \"kind\": \"exclude\" to leave it out", i+1)
		}
	}
	at := make([]int, len(columns))
	for i, c := range columns {
		place, ok := places[c.Name]
		if !ok {
			return nil, fmt.Errorf("it has no column %q, which the schema has; is the first line that of the names?", c.Name)
		}
		at[i] = place
	}
	return at, nil
}

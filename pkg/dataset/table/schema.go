// Package table reads and writes tables of people's own: CSV, Parquet and NumPy
// archives with typed columns, described by a schema.
//
// A schema says what is public about a table: its columns, their ranges, their
// categories. Everything that turns a record into numbers comes from it and
// nothing from the records, so that an encoded record depends on that record
// alone. Draft writes a first schema from the records for their keeper to
// correct; what it found in them stays unconfirmed, and Schema.Confirmed refuses
// it, until a person has said that it is public.
//
//	schema, err := table.ReadSchema("people.schema.json")
//	people, report, err := table.Read(ctx, "people.csv", schema)
//
// A value that the schema does not allow never stops a reading: a number beyond
// its range is moved to the nearer end, any other is taken for missing. Else
// whether a release comes at all would tell of single records.
package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"molehill/pkg/dataset/schema"
	"molehill/pkg/plugin"
)

// Kind is what the values of a column are.
type Kind string

// The kinds of columns.
const (
	Numeric     Kind = "numeric"     // numbers in a range
	Categorical Kind = "categorical" // one of some names
	Ordinal     Kind = "ordinal"     // one of some names, which have an order
	Date        Kind = "date"        // days in a range
	Exclude     Kind = "exclude"     // not looked at and not made: names, numbers of files, free text
)

// Schema is what is public about a table.
type Schema struct {
	// Name is the data set's. What is spent on it is booked under this name, so
	// tables of the same people share one.
	Name string `json:"name"`
	// Target is the column that people would predict from the others; "" for none.
	Target string `json:"target,omitempty"`
	// Separator stands between the values of a line of CSV.
	Separator string `json:"separator,omitempty"`
	// Missing are the texts that stand for no value, besides the empty one.
	Missing []string `json:"missing,omitempty"`
	Columns []Column `json:"columns"`
}

// Column is what is public about a column.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Public has to be set to true by a person: it says that everything else here
	// is known without looking at the records.
	Public bool `json:"public"`
	// Note is for people.
	Note string `json:"note,omitempty"`

	Low  *float64 `json:"low,omitempty"`  // smallest number, of a numeric column
	High *float64 `json:"high,omitempty"` // largest number
	// Decimals is how many digits after the point numbers have.
	Decimals int `json:"decimals,omitempty"`
	// Scale is linear (the default), or log for amounts that span decades: bins are
	// then equal in the logarithm of 1 + (value − low)/unit.
	Scale string  `json:"scale,omitempty"`
	Unit  float64 `json:"unit,omitempty"` // of a log scale; default 1

	First string `json:"first,omitempty"` // earliest day, of a date column, as 2006-01-31
	Last  string `json:"last,omitempty"`  // latest day
	// Format is how days stand in the file, by default YYYY-MM-DD, or how numbers do, by
	// the example of 1234.5, which is the default: 1.234,5 has points between thousands.
	Format string `json:"format,omitempty"`

	Values  []string `json:"values,omitempty"`  // names, of categorical and ordinal columns
	Missing bool     `json:"missing,omitempty"` // whether values may be missing
	Bins    int      `json:"bins,omitempty"`    // of a numeric or date column beside others; default DefaultBins

	absent map[float64]bool // Schema.absentNumbers, where values are coded and drawn
}

// Limits of a schema: what is larger is a slip, or does not fit into memory.
const (
	MaxColumns  = 500
	MaxValues   = 2000 // names of a column
	DefaultBins = 16
	fineLevels  = 256 // of a numeric or date column by itself
)

// ReadSchema reads a schema file.
func ReadSchema(path string) (*Schema, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table: schema: %w; `molehill schema DATA` drafts one", err)
	}
	defer file.Close()
	s, err := DecodeSchema(file)
	if err != nil {
		return nil, fmt.Errorf("table: schema %s: %w", path, err)
	}
	return s, nil
}

// DecodeSchema reads a schema and checks it. Unknown fields are errors: a
// misspelt one would otherwise be left out in silence.
func DecodeSchema(from io.Reader) (*Schema, error) {
	var s Schema
	if err := schema.Decode(from, &s); err != nil {
		return nil, err
	}
	return &s, s.Check()
}

// Encode writes a schema as people edit it.
func (s *Schema) Encode(to io.Writer) error { return schema.Encode(to, s) }

// Sum is a hash of what the schema says, however its file is written: of all of it but
// notes, and whether anybody has confirmed a column that is excluded.
func (s *Schema) Sum() ([]byte, error) {
	said := *s
	said.Columns = slices.Clone(s.Columns)
	for i := range said.Columns {
		c := &said.Columns[i]
		c.Note, c.Public = "", c.Public && c.Kind != Exclude
	}
	return schema.Sum(said)
}

// Check returns an error, with the column's name, unless the schema is whole.
func (s *Schema) Check() error {
	if err := schema.CheckName(s.Name); err != nil {
		return err
	}
	switch s.Separator {
	case "", ",", ";", "\t", "|":
	default:
		return fmt.Errorf("separator %q: expected one of %s", s.Separator, separators)
	}
	for _, text := range s.Missing {
		if strings.TrimSpace(text) != text {
			return fmt.Errorf("missing has %q: expected texts without space around them", text)
		}
	}
	if len(s.Columns) == 0 || len(s.Columns) > MaxColumns {
		return fmt.Errorf("%d columns: expected 1 to %d", len(s.Columns), MaxColumns)
	}
	seen := map[string]bool{}
	for i, c := range s.Columns {
		if strings.TrimSpace(c.Name) != c.Name || c.Name == "" || !utf8.ValidString(c.Name) {
			return fmt.Errorf("column %d is called %q: expected a name without space around it", i+1, c.Name)
		}
		if seen[c.Name] {
			return fmt.Errorf("two columns are called %q; each needs a name of its own", c.Name)
		}
		seen[c.Name] = true
		if err := c.Check(); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	if len(s.Modelled()) == 0 {
		return errors.New("all columns are excluded; leave some")
	}
	if err := s.checkMissing(); err != nil {
		return err
	}
	if s.Target == "" {
		return nil
	}
	target := s.column(s.Target)
	switch {
	case target == nil:
		return fmt.Errorf("target: %w", s.unknown(s.Target))
	case target.Kind != Categorical && target.Kind != Ordinal:
		return fmt.Errorf("target %q is %s; expected a categorical or ordinal column", s.Target, target.Kind)
	}
	return nil
}

func (s *Schema) unknown(column string) error {
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return &plugin.UnknownError{Kind: "column", Name: column, Nearest: plugin.Nearest(column, names)}
}

func (s *Schema) column(name string) *Column {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return &s.Columns[i]
		}
	}
	return nil
}

// Modelled returns the columns that are not excluded, in their order.
func (s *Schema) Modelled() (columns []Column) {
	for _, c := range s.Columns {
		if c.Kind != Exclude {
			columns = append(columns, c)
		}
	}
	return columns
}

// TargetIndex returns the place of the target among Modelled, -1 without one.
func (s *Schema) TargetIndex() int {
	if s.Target == "" {
		return -1
	}
	return slices.IndexFunc(s.Modelled(), func(c Column) bool { return c.Name == s.Target })
}

// Confirm marks columns as public, all that are not excluded if none is named. Of an
// excluded one nothing is said that could be confirmed; what it says once it is one of
// another kind is to be confirmed then.
func (s *Schema) Confirm(names ...string) error {
	for _, name := range names {
		switch c := s.column(name); {
		case c == nil:
			return s.unknown(name)
		case c.Kind == Exclude:
			return fmt.Errorf("column %q is excluded, so that there is nothing to confirm; to have it in the synthetic table, say of what kind it is first", name)
		}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Kind == Exclude {
			c.Public = false
		} else if len(names) == 0 || slices.Contains(names, c.Name) {
			c.Public = true
		}
	}
	return nil
}

// Confirmed returns an error that lists the columns of which nobody has said yet
// that their ranges and categories are public. Nothing may be released before.
func (s *Schema) Confirmed() error {
	var open []string
	for _, c := range s.Modelled() {
		if !c.Public {
			open = append(open, fmt.Sprintf("  %s: %s", c.Name, c.Describe()))
		}
	}
	if open == nil {
		return nil
	}
	if len(s.Missing) > 0 {
		open = append(open, "  texts that stand for no value: "+s.MissingTexts())
	}
	if s.Target != "" {
		open = append(open, "  the column to predict: "+s.Target)
	}
	return fmt.Errorf("table: nobody has said yet that this is public, known without looking at the records:\n%s\ncorrect it in the schema file, then set \"public\": true, or run `molehill schema confirm FILE COLUMN…`", strings.Join(open, "\n"))
}

// Comma returns the separator of CSV.
func (s *Schema) comma() rune {
	for _, r := range s.Separator {
		return r
	}
	return ','
}

// missing reports whether a text stands for no value.
func (s *Schema) missing(text string) bool { return text == "" || slices.Contains(s.Missing, text) }

// Only returns the schema of the tables that Write writes: without the columns that
// are excluded, of which nobody has confirmed anything, without notes, which a draft
// makes of the rows, and without texts for missing values, as Write leaves them empty.
func (s *Schema) Only() *Schema {
	only := *s
	only.Columns, only.Missing = s.Modelled(), nil
	for i := range only.Columns {
		only.Columns[i].Note = ""
	}
	return &only
}

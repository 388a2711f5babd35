package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func number(v float64) *float64 { return &v }

// everyKind is a schema with a column of each kind, scale and resolution.
func everyKind() *Schema {
	return &Schema{Name: "people", Target: "income", Missing: []string{"NA"}, Columns: []Column{
		{Name: "age", Kind: Numeric, Low: number(0), High: number(120), Public: true},
		{Name: "height, m", Kind: Numeric, Low: number(0.3), High: number(2.6), Decimals: 2, Missing: true, Public: true},
		{Name: "wealth", Kind: Numeric, Low: number(-1000), High: number(1e7), Scale: "log", Unit: 100, Public: true},
		{Name: "born", Kind: Date, First: "1900-01-01", Last: "2020-12-31", Format: "DD.MM.YYYY", Missing: true, Public: true},
		{Name: "week", Kind: Date, First: "2020-02-01", Last: "2020-03-31", Public: true},
		{Name: "job", Kind: Categorical, Values: []string{"none", "NA", "baker, \"master\"", "Ärztin"}, Missing: true, Public: true},
		{Name: "level", Kind: Ordinal, Values: []string{"low", "middle", "high"}, Public: true},
		{Name: "name", Kind: Exclude},
		{Name: "income", Kind: Categorical, Values: []string{"0", "1"}, Public: true},
	}}
}

// all returns a table with every code of every column.
func all(s *Schema) *Table {
	t := &Table{Schema: s, Columns: s.Modelled()}
	most := 0
	for _, c := range t.Columns {
		most = max(most, c.Levels()+1)
	}
	for _, c := range t.Columns {
		codes := make([]Code, most)
		for i := range codes {
			if codes[i] = Code(i % (c.Levels() + 1)); codes[i] == 0 && !c.Missing {
				codes[i] = 1
			}
		}
		t.Codes = append(t.Codes, codes)
	}
	return t
}

// What a record is encoded to depends on that record and the schema alone, whatever
// it holds: nothing stops a reading, everything becomes a code.
func TestValuesBeyondTheSchemaBecomeDefinedOnes(t *testing.T) {
	s := everyKind()
	for _, test := range []struct {
		column, text string
		code         Code
		fault        fault
	}{
		{"age", "-5", 1, clamped}, {"age", "1e400", 121, clamped}, {"age", "-Inf", 1, clamped}, {"age", "NaN", 0, unknown}, {"age", "forty", 0, unknown},
		{"age", "", 0, absent}, {"age", " 40 ", 41, fine}, {"age", "40.4", 41, fine},
		{"height, m", "NA", 0, fine}, {"height, m", "9", 231, clamped}, {"height, m", "0.31", 2, fine},
		{"wealth", "-1000", 1, fine}, {"wealth", "1e7", fineLevels, fine}, {"wealth", "1e8", fineLevels, clamped},
		// 256·ln(1 + 1000/100) / ln(1 + 10,001,000/100) = 53.3, and 102.6 of 1 + 10,000/100.
		{"wealth", "0", 54, fine}, {"wealth", "9000", 103, fine},
		{"born", "01.01.1900", 1, fine}, {"born", "31.12.2020", fineLevels, fine}, {"born", "2020-12-31", fineLevels, fine}, {"born", "31.02.2000", 0, unknown}, {"born", "01.01.1800", 1, clamped},
		{"week", "2020-02-29", 29, fine}, {"week", "2021-01-01", 60, clamped},
		{"job", "NA", 2, fine}, {"job", "", 0, fine}, {"job", "smith", 0, unknown}, {"level", "high", 3, fine}, {"level", "NA", 0, absent},
	} {
		code, fault := newCoder(s, *s.column(test.column), true).code(test.text)
		if code != test.code || fault != test.fault {
			t.Errorf("%s of %q is code %d with fault %d, want %d with %d", test.column, test.text, code, fault, test.code, test.fault)
		}
	}
}

// Codes, groups and places keep the order of values, and every level has a group.
func TestGroupsAndPlacesKeepTheOrder(t *testing.T) {
	for _, c := range everyKind().Modelled() {
		last, place := Code(0), -1.0
		for code := Code(1); int(code) <= c.Levels(); code++ {
			g := c.Group(code)
			if g < last || g > last+1 || int(g) > c.Groups() {
				t.Fatalf("column %q: code %d is in group %d after group %d of %d", c.Name, code, g, last, c.Groups())
			}
			last = g
			if c.Ordered() {
				if p := c.Place(code); !(p > place && p >= 0 && p <= 1) {
					t.Fatalf("column %q: code %d is at %v after %v", c.Name, code, p, place)
				}
				if place = c.Place(code); c.Nearest(place) != code {
					t.Errorf("column %q: %v is nearest to code %d, not to %d", c.Name, place, c.Nearest(place), code)
				}
			}
			if c.Label(code) == "" || c.GroupLabel(g) == "" {
				t.Errorf("column %q: code %d has no label", c.Name, code)
			}
		}
		if int(last) != c.Groups() || c.Group(0) != 0 {
			t.Errorf("column %q: the last group is %d of %d, that of a missing value %d", c.Name, last, c.Groups(), c.Group(0))
		}
	}
}

// At the ends of what a log scale takes, values have codes, and codes values.
func TestLogScalesOfAnyUnit(t *testing.T) {
	for _, unit := range []float64{1e5 / mostUnits * 1.001, 1e-30, 1, 1e5 / leastUnits * 0.999} {
		c := Column{Name: "wealth", Kind: Numeric, Low: number(0), High: number(1e5), Scale: "log", Unit: unit}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for code := Code(1); int(code) <= c.Levels(); code++ {
			v := c.draw(code, rng)
			if !(v >= 0 && v <= 1e5) {
				t.Errorf("unit %v: code %d is drawn as %v", unit, code, v)
			}
		}
		if low, high := c.level(0), c.level(1e5); low != 1 || int(high) != c.Levels() {
			t.Errorf("unit %v: the range is coded from %d to %d", unit, low, high)
		}
	}
}

// Whoever confirms a column sees all that the schema says of it: a draft reads the
// format of days and bins off the rows, too.
func TestConfirmingSeesAllThatIsSaid(t *testing.T) {
	s := everyKind()
	for i := range s.Columns {
		s.Columns[i].Public = false
	}
	s.Columns[0].Bins, s.Columns[2].Unit = 7, 12.5
	err := s.Confirmed()
	if err == nil {
		t.Fatal("nobody has confirmed")
	}
	for _, want := range []string{"written as " + s.column("born").Format, "7 bins", "/12.5", "the column to predict: " + s.Target} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// Tables of what schemas say are as wide as their longest text: long values are cut where
// people are shown them, and nowhere else.
func TestLongValuesAreCutForPeople(t *testing.T) {
	long, fits := strings.Repeat("ä", 3000), strings.Repeat("x", 40)
	s := &Schema{Name: "x", Missing: []string{long}, Columns: []Column{{Name: "note", Kind: Categorical, Values: []string{long, fits}, Public: true}, {Name: "one", Kind: Categorical, Values: []string{"a"}, Missing: true}}}
	cut := strings.Repeat("ä", 39) + "…"
	note := s.Columns[0]
	if want := "categorical, 2 values: " + cut + ", " + fits; note.Describe() != want || note.Declare() != want {
		t.Errorf("%s\n%s\nwant %s", note.Describe(), note.Declare(), want)
	}
	if got := s.Columns[1].Describe(); got != "categorical, 1 value: a; may be missing" {
		t.Error(got)
	}
	if err := s.Confirmed(); err == nil || strings.Contains(err.Error(), long) || !strings.Contains(err.Error(), cut) {
		t.Errorf("%.500v", err)
	}
	var b strings.Builder
	if err := s.Encode(&b); err != nil || !strings.Contains(b.String(), long) {
		t.Errorf("the file has %.500s, %v", b.String(), err)
	}
}

func TestASchemaSaysWhatIsWrongWithIt(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"lower-case letters":   func(s *Schema) { s.Name = "My People" },
		"separator":            func(s *Schema) { s.Separator = "ab" },
		"two columns":          func(s *Schema) { s.Columns[1].Name = "age" },
		"low and high":         func(s *Schema) { s.Columns[0].Low = nil },
		"low below high":       func(s *Schema) { s.Columns[0].Low = number(500) },
		"linear or log":        func(s *Schema) { s.Columns[0].Scale = "sqrt" },
		"decimals":             func(s *Schema) { s.Columns[0].Decimals = -1 },
		"unit":                 func(s *Schema) { s.Columns[2].Unit = math.NaN() },
		"Inf units":            func(s *Schema) { s.Columns[2].Unit = 5e-324 },
		"e-302 units":          func(s *Schema) { s.Columns[2].Unit = math.MaxFloat64 },
		"fewer decimals":       func(s *Schema) { s.Columns[2].High, s.Columns[2].Decimals = number(1e300), 12 },
		"format":               func(s *Schema) { s.Columns[3].Format = "YY" },
		"earliest":             func(s *Schema) { s.Columns[3].First = "1900-02-30" },
		"latest":               func(s *Schema) { s.Columns[3].Last = "1800-01-01" },
		"is there twice":       func(s *Schema) { s.Columns[5].Values[1] = "none" },
		"expected 1 to 2000":   func(s *Schema) { s.Columns[5].Values = nil },
		"bins are for numeric": func(s *Schema) { s.Columns[5].Bins = 3 },
		"may be missing":       nil,
		"kind is":              func(s *Schema) { s.Columns[0].Kind = "nummeric" },
		"did you mean":         func(s *Schema) { s.Target = "incom" },
		"target \"age\"":       func(s *Schema) { s.Target = "age" },
		"for categorical":      func(s *Schema) { s.Columns[0].Values = []string{"a"} },
		"for numeric":          func(s *Schema) { s.Columns[6].Low = number(1) },
		"for date":             func(s *Schema) { s.Columns[6].First = "2000-01-01" },
		"bins":                 func(s *Schema) { s.Columns[0].Bins = 1000 },
		"all columns":          func(s *Schema) { s.Target = ""; s.Columns = s.Columns[7:8] },
	} {
		if change == nil {
			continue
		}
		s := everyKind()
		change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
	for text, want := range map[string]string{
		`{"name":"a","colums":[]}`: "colums", `{"name":`: "ends too early", "{\n\n\"name\": 3}": "line 3", `{"name":"a","columns":[{"name":"x","kind":"exclude"}]} {}`: "", "": "it is empty",
	} {
		if _, err := DecodeSchema(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %q, found %v", text, want, err)
		}
	}
}

func TestBadFilesSayWhatIsWrongWithThem(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{{Name: "a", Kind: Numeric, Low: number(0), High: number(9)}, {Name: "b", Kind: Exclude}}}
	for name, test := range map[string]struct{ text, want string }{
		"empty":            {"", "empty"},
		"only space":       {" \r\n\n", "empty"},
		"only a header":    {"a,b\n", "no rows"},
		"ragged, short":    {"a,b\n1,2\n3\n", "line 3: the row is ragged"},
		"ragged, long":     {"a,b\n1,2\n3,4,5\n", "line 3"},
		"duplicate header": {"a,a\n1,2\n", "columns 1 and 2 have the same name"},
		"no name":          {"a,\n1,2\n", "column 2 has no name"},
		"another column":   {"a,b,c\n1,2,3\n", "column 3 has a name that the schema does not have"},
		"no header":        {"Zorro,7\n1,2\n", "column 1 has a name"},
		"one column":       {"b\n1\n", "of one column"},
		"other separators": {"a:b\n1:2\n", "with no title above it"},
		"one name":         {"a:b\n1,2\n", "so is one name"},
		"bare quote":       {"a,b\n1,x\"y\n", "line 2: a quote"},
		"open at first":    {"a,b\n\"1" + strings.Repeat("x", maxRecord+100_000), "begins after line 1 has more than 4 MiB"},
		"open in header":   {"\"a,b\n1" + strings.Repeat("x", maxRecord+100_000), "more than 4 MiB"},
		"open later":       {"a,b\n1,2\n3,4\n\"" + strings.Repeat("x", maxRecord+100_000), "begins after line 3 has more than 4 MiB"},
		"open quote":       {"a,b\n1,\"" + strings.Repeat("x", maxRecord+100_000), "a quote"},
		"huge field":       {"a,b\n1," + strings.Repeat("x", maxRecord+100_000) + "\n", "more than 4 MiB"},
		"UTF-16":           {"\xff\xfea\x00,\x00", "UTF-16"},
		"a spreadsheet":    {"PK\x03\x04xxxx", "spreadsheet"},
		"Parquet":          {"PAR1xxxx", "Parquet"},
		"carriage returns": {"a,b\r1,2\r3,4\r", "carriage returns alone"},
		"Latin-1 header":   {"a,\xfcb\n1,2\n", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.csv")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Read(t.Context(), path, s); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "Zorro") {
				t.Errorf("want an error with %q and no value of a record, found %v", test.want, err)
			}
		})
	}
	for _, path := range []string{"x.xlsx", "x", "missing.csv"} {
		if _, err := Open(path, ""); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

func TestCSVOfTheWorldIsRead(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{{Name: "a", Kind: Numeric, Low: number(0), High: number(9)}, {Name: "b c", Kind: Categorical, Values: []string{"x;y", "two\nlines", "say \"hi\""}}}}
	for name, text := range map[string]string{
		"mark, CRLF, semicolons": "\ufeffa;b c\r\n1;\"x;y\"\r\n2;\"two\nlines\"\r\n3;\"say \"\"hi\"\"\"\r\n",
		"spaces, another order":  "b c, a\n\"x;y\", 1\n\"two\nlines\",2 \n\"say \"\"hi\"\"\",3",
		"bars":                   "a|b c\n1|x;y\n2|\"two\nlines\"\n\n3|\"say \"\"hi\"\"\"\n",
	} {
		source, err := newCSV(strings.NewReader(text), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, disagreements, err := s.Code(t.Context(), source)
		if err != nil || disagreements != nil || !slices.Equal(got.Codes[0], []Code{2, 3, 4}) || !slices.Equal(got.Codes[1], []Code{1, 2, 3}) {
			t.Errorf("%s: %v, %v, %v", name, got, disagreements, err)
		}
	}
}

func TestDisagreementsAreCountedForTheKeeper(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{{Name: "a", Kind: Numeric, Low: number(0), High: number(9)}, {Name: "b", Kind: Exclude}}}
	source, err := newCSV(strings.NewReader("a,b\n1,\n10,\n\"\",\nx,\n11,\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	_, found, err := s.Code(t.Context(), source)
	want := Disagreement{Column: "a", Clamped: 2, Unknown: 1, Absent: 1, Example: "10", Row: 2}
	if err != nil || len(found) != 1 || found[0] != want {
		t.Errorf("found %+v, %v; want %+v", found, err, want)
	}
	if text := want.String(); !strings.Contains(text, "2 values beyond") || !strings.Contains(text, "row 2") {
		t.Error(text)
	}
	if text := (Disagreement{Column: "a", Unknown: 1, Example: "27,3", Row: 2, Hint: "so"}).String(); !strings.HasSuffix(text, "; so") {
		t.Error(text)
	}
	for _, c := range []struct{ format, text, want string }{
		{"", "27,3", "1234,5"}, {"", "1 234", "1 234,5"}, {"1.234,5", "1234.5", "1234.5"}, {"1234,5", "1.234,5", "1.234,5"},
		{"", "x", ""}, {"", "0x1,8p3", ""}, {"1,234.5", "12,34", "1234,5"},
	} {
		said := hint(Column{Kind: Numeric, Format: c.format}, Disagreement{Unknown: 1, Example: c.text})
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%q in a column written like %q: %q, want %q", c.text, c.format, said, c.want)
		}
	}
	if said := hint(Column{Kind: Categorical}, Disagreement{Unknown: 1, Example: "1,5"}); said != "" {
		t.Errorf("a name is taken for a number: %s", said)
	}
}

func TestACancelledReadingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source, err := newCSV(strings.NewReader("a,b\n1,2\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := (&Schema{Columns: []Column{{Name: "a", Kind: Numeric, Low: number(0), High: number(9)}, {Name: "b", Kind: Exclude}}}).Code(ctx, source); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// endless repeats a row of a table for ever.
type endless struct{ rows int }

func (endless) Header() []string  { return []string{"a"} }
func (*endless) Unread(int) error { return nil }
func (e *endless) Texts(int) bool { return true }

func (e *endless) Read() ([]string, error) {
	if e.rows--; e.rows < 0 {
		return nil, io.EOF
	}
	return []string{fmt.Sprint(e.rows)}, nil
}
func (endless) Close() error { return nil }

func TestSeparatorsWithinQuotesDoNotCount(t *testing.T) {
	for text, want := range map[string]string{
		"a,b;c\n":                         ",",
		"\"Income, yearly, gross\";age\n": ";",
		"\"one\ntwo, three\"\tb\n1,2,3,4": "\t",
		"\"say \"\"a,b\"\", c\"|d\n":      "|",
		"a\n1,2":                          ",",
	} {
		if got := mostFrequent([]byte(text)); got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

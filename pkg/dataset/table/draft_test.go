package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestADraftIsNeverPublic(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,age,sex,born,wealth,job,text,flag,empty\n")
	for i := range 200 {
		wealth := 0
		if i%20 == 0 {
			wealth = 12345 * i
		}
		fmt.Fprintf(&b, "%d,%d,%s,%02d.%02d.19%02d,%d,%s,word %d,%d,\n", 1000+i, 20+i%50, []string{"f", "m"}[i%2], 1+i%28, 1+i%12, 40+i%50, wealth, []string{"baker", "?", "smith"}[i%3], i, i%2)
	}
	source, err := newCSV(strings.NewReader(b.String()), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Draft(t.Context(), "people", source, Separator(source))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	kinds := []Kind{Exclude, Numeric, Categorical, Date, Numeric, Categorical, Exclude, Categorical, Exclude}
	for i, c := range s.Columns {
		if c.Kind != kinds[i] || c.Public || c.Note == "" {
			t.Errorf("column %q is drafted as %+v, want a %s, not public, with a note", c.Name, c, kinds[i])
		}
	}
	age, born, wealth, job := s.Columns[1], s.Columns[3], s.Columns[4], s.Columns[5]
	if *age.Low > 20 || *age.High < 69 || *age.Low == 20 && *age.High == 69 {
		t.Errorf("the range of ages is %v to %v, want 20 to 69 widened", *age.Low, *age.High)
	}
	if born.Format != "DD.MM.YYYY" || born.First != "1940-01-01" || born.Last != "1989-12-31" {
		t.Errorf("days are drafted as %+v", born)
	}
	if wealth.Scale != "log" || !job.Missing || !slices.Equal(job.Values, []string{"baker", "smith"}) || !slices.Equal(s.Missing, []string{"?"}) {
		t.Errorf("drafted %+v, %+v, missing %q", wealth, job, s.Missing)
	}
	err = s.Confirmed()
	if err == nil || !strings.Contains(err.Error(), "age") || strings.Contains(err.Error(), "id:") {
		t.Fatalf("an unconfirmed draft gave %v", err)
	}
	if err := s.Confirm("agee"); err == nil || !strings.Contains(err.Error(), "age") {
		t.Error(err)
	}
	if err := s.Confirm("age"); err != nil || !s.Columns[1].Public || s.Columns[2].Public {
		t.Error("confirming one column did not confirm it alone", err)
	}
	if err := s.Confirm(); err != nil || s.Confirmed() != nil {
		t.Error("confirming all did not", err, s.Confirmed())
	}
}

// What spreadsheets and programs write where there is no value is proposed for such, and
// makes no names of numbers.
func TestDraftsKnowWhatStandsForNoValue(t *testing.T) {
	for _, none := range []string{"?", "NA", "N/A", "n/a", "n.a.", "#N/A", "None", "-", "NULL"} {
		var text strings.Builder
		text.WriteString("weight,job\n")
		for i := range 40 {
			fmt.Fprintf(&text, "%v,%s\n%s,%[3]s\n", 50+float64(i)/4, []string{"baker", "smith"}[i%2], none)
		}
		path := filepath.Join(t.TempDir(), "people.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := DraftFile(t.Context(), "people", path)
		if err != nil {
			t.Fatal(err)
		}
		if weight, job := s.Columns[0], s.Columns[1]; weight.Kind != Numeric || !weight.Missing || !job.Missing || !slices.Equal(job.Values, []string{"baker", "smith"}) || !slices.Equal(s.Missing, []string{none}) {
			t.Errorf("with %q it is drafted as %+v", none, s)
		}
	}
}

// One text in a column of numbers does not make it one of names.
func TestADraftForgivesSlips(t *testing.T) {
	for _, test := range []struct {
		name  string
		value func(i int) string
		kind  Kind
		note  string
	}{
		{"some numbers", func(i int) string { return fmt.Sprint(20 + i%30) }, Numeric, `1 of 200 values are not numbers, such as "forty", and would count as missing`},
		{"many numbers", func(i int) string { return fmt.Sprint(float64(i) / 4) }, Numeric, "would count as missing"},
		{"identifiers", func(i int) string { return fmt.Sprint(1000 + i) }, Exclude, "identifiers"},
		{"a choice", func(i int) string { return fmt.Sprint(i % 2) }, Categorical, "write all that are possible"},
		{"half names", func(i int) string { return []string{"a", "7", "8", "9"}[i%4] }, Categorical, "write all that are possible"},
	} {
		var b strings.Builder
		b.WriteString("a,b\n")
		for i := range 200 {
			text := test.value(i)
			if i == 100 {
				text = "forty"
			}
			fmt.Fprintf(&b, "%s,\n", text)
		}
		source, err := newCSV(strings.NewReader(b.String()), "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Draft(t.Context(), "x", source, "")
		if err != nil {
			t.Fatal(err)
		}
		c := s.Columns[0]
		if c.Kind != test.kind || !strings.Contains(c.Note, test.note) || c.Missing != (test.kind == Numeric) {
			t.Errorf("%s with a slip are drafted as %+v; want %s, and %q", test.name, c, test.kind, test.note)
		}
	}
}

// A draft of a long table remembers no more than it needs.
func TestADraftOfManyRowsIsBounded(t *testing.T) {
	c := newSeenColumn(true)
	for i := range 3 * draftValues {
		c.add(fmt.Sprint(i))
	}
	if len(c.values) != draftValues || !c.many || c.number().high != 3*draftValues-1 {
		t.Errorf("%d values are remembered, up to %v", len(c.values), c.number().high)
	}
	s, err := Draft(t.Context(), "x", &endless{100}, "")
	if err != nil || s.Columns[0].Kind != Exclude {
		t.Error(s, err)
	}
}

// What goes with a synthetic table has nothing that a draft read off the rows and
// nobody confirmed.
func TestOnlyKeepsWhatWasConfirmed(t *testing.T) {
	s := &Schema{Name: "x", Missing: []string{"N/A"}, Columns: []Column{
		{Name: "a", Kind: Numeric, Low: number(0), High: number(9), Public: true, Note: "drafted"}, {Name: "b", Kind: Exclude, Note: "it has no values"}}}
	var text strings.Builder
	if err := s.Only().Encode(&text); err != nil {
		t.Fatal(err)
	}
	for _, unconfirmed := range []string{"N/A", "drafted", "no values", `"b"`} {
		if strings.Contains(text.String(), unconfirmed) {
			t.Errorf("%q is published in %s", unconfirmed, &text)
		}
	}
	if s.Columns[0].Note == "" || s.Missing == nil {
		t.Error("the schema itself has lost something")
	}
}

func TestWhyAFileHasNoDraftIsSaidWithItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "header.csv")
	if err := os.WriteFile(path, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := DraftFile(t.Context(), "x", path); err == nil || !strings.Contains(err.Error(), path+": it has no rows") {
		t.Errorf("found %v", err)
	}
	if _, err := DraftFile(t.Context(), "x", path+".gone.csv"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %v", err)
	}
}

func TestNamesThatAreValuesAreFound(t *testing.T) {
	for header, want := range map[string][]string{
		"age,sex,since 2020,3rd":       nil,
		"39,Bachelors,1998-05-17,-3.5": {"39", "1998-05-17", "-3.5"},
	} {
		source, err := newCSV(strings.NewReader(header+"\n1,2,3,4\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Draft(t.Context(), "x", source, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.NamedLikeValues(); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", header, got, want)
		}
	}
}

// draftOf is what a draft says of a column of values.
func draftOf(t *testing.T, values ...string) Column {
	t.Helper()
	source, err := newCSV(strings.NewReader("a;b\n"+strings.Join(values, ";x\n")+";x\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Draft(t.Context(), "x", source, ";")
	if err != nil {
		t.Fatal(err)
	}
	return s.Columns[0]
}

// What a draft takes a column for, where it could as well be something else.
func TestADraftSaysWhereItMayBeWrong(t *testing.T) {
	for name, c := range map[string]struct {
		each   func(i int) string
		kind   Kind
		format string
		note   string
	}{
		"the first of months":     {func(i int) string { return fmt.Sprintf("%02d/01/20%02d", 1+i%12, i%20) }, Date, "DD/MM/YYYY", `could as well be MM/DD/YYYY`},
		"days of months":          {func(i int) string { return fmt.Sprintf("%02d/01/20%02d", 1+i%31, i%20) }, Date, "DD/MM/YYYY", "first and last"},
		"a slip among days":       {func(i int) string { return []string{fmt.Sprintf("2020-%02d-%02d", 1+i%12, 1+i%28), "unknown"}[i/99] }, Date, "", `1 of 100 values are not days, such as "unknown"`},
		"postcodes":               {func(i int) string { return fmt.Sprintf("%05d", 900+i*i) }, Exclude, "", "identifiers"},
		"few postcodes":           {func(i int) string { return fmt.Sprintf("%05d", 900+i%7) }, Categorical, "", "the values are those of the records"},
		"telephone numbers":       {func(i int) string { return fmt.Sprintf("+49 1%02d", i) }, Exclude, "", "identifiers"},
		"zero itself":             {func(i int) string { return fmt.Sprint(i % 50) }, Numeric, "", "low and high"},
		"small numbers":           {func(i int) string { return fmt.Sprintf("%.9f", 1e-6+float64(i%50)*1e-7) }, Numeric, "", "low and high"},
		"more decimals than told": {func(i int) string { return fmt.Sprintf("%.9f", 1+float64(i%50)/7) }, Numeric, "", "up to 9 decimals, of which 6 are kept"},
	} {
		var values []string
		for i := range 100 {
			values = append(values, c.each(i))
		}
		column := draftOf(t, values...)
		if column.Kind != c.kind || column.Format != c.format || !strings.Contains(column.Note, c.note) || strings.Contains(column.Note, "could as well") != strings.Contains(c.note, "could as well") {
			t.Errorf("%s: %+v", name, column)
		}
		if name == "small numbers" && column.Decimals != 9 {
			t.Errorf("%s have %d decimals", name, column.Decimals)
		}
		if err := column.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An excluded column is confirmed by nobody, and is to be once it is of another kind.
func TestExcludedColumnsAreNotConfirmed(t *testing.T) {
	s := everyKind()
	for i := range s.Columns {
		s.Columns[i].Public = false
	}
	if err := s.Confirm("name"); err == nil || !strings.Contains(err.Error(), "is excluded") {
		t.Error(err)
	}
	if err := s.Confirm(); err != nil || s.Confirmed() != nil || s.column("name").Public {
		t.Error(err, s.Confirmed())
	}
	c := s.column("name")
	c.Kind, c.Values = Categorical, []string{"Anna", "Bo"}
	if err := s.Confirmed(); err == nil || !strings.Contains(err.Error(), "name: categorical") {
		t.Error(err)
	}
}

// However a schema is written, its sum is that of what it says.
func TestSumsAreOfWhatASchemaSays(t *testing.T) {
	sum := func(change func(s *Schema)) string {
		s := everyKind()
		change(s)
		sum, err := s.Sum()
		if err != nil {
			t.Fatal(err)
		}
		return string(sum)
	}
	same := sum(func(*Schema) {})
	for name, c := range map[string]struct {
		change func(s *Schema)
		same   bool
	}{
		"note":               {func(s *Schema) { s.Columns[0].Note = "years" }, true},
		"public, excluded":   {func(s *Schema) { s.column("name").Public = true }, true},
		"public":             {func(s *Schema) { s.Columns[0].Public = false }, false},
		"range":              {func(s *Schema) { s.Columns[0].High = number(121) }, false},
		"no value":           {func(s *Schema) { s.Missing = nil }, false},
		"name":               {func(s *Schema) { s.Name = "others" }, false},
		"order of columns":   {func(s *Schema) { s.Columns[0], s.Columns[1] = s.Columns[1], s.Columns[0] }, false},
		"spelling of a name": {func(s *Schema) { s.Columns[5].Values[0] = "None" }, false},
	} {
		if (sum(c.change) == same) != c.same {
			t.Errorf("%s: the sums are the same: %v", name, !c.same)
		}
	}
}

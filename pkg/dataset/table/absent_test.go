package table

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// sentinels is a schema in which numbers and a day stand for no value.
func sentinels() *Schema {
	return &Schema{Name: "x", Missing: []string{"99", "-1,0", "1.000", "1900-01-01", "unknown"}, Columns: []Column{
		{Name: "age", Kind: Numeric, Low: number(-2), High: number(120), Missing: true, Public: true},
		{Name: "income", Kind: Numeric, Low: number(-1), High: number(99_000), Decimals: 1, Format: "1.234,5", Missing: true, Public: true},
		{Name: "born", Kind: Date, First: "1900-01-01", Last: "1900-03-31", Format: "DD.MM.YYYY", Missing: true, Public: true},
	}}
}

// What stands for no value does so as a number: however it is written, and in a file of
// numbers too.
func TestNumbersThatStandForNoValueAreAbsent(t *testing.T) {
	s := sentinels()
	for _, test := range []struct {
		column, text string
		texts, none  bool
	}{
		{"age", "99", true, true}, {"age", "99.0", true, true}, {"age", "98", true, false}, {"age", "unknown", true, true},
		{"age", "-1,0", true, true}, // the text itself
		{"age", "1", true, true},    // 1.000, in this column's notation
		{"income", "-1,0", true, true}, {"income", "-1", true, true}, {"income", "1000", true, true}, {"income", "1.000", true, true}, {"income", "1.001", true, false},
		{"income", "-1", false, true}, {"income", "1000", false, true}, {"income", "1001", false, false},
		{"born", "01.01.1900", true, true}, {"born", "1900-01-01", true, true}, {"born", "1900-01-01", false, true}, {"born", "02.01.1900", true, false},
	} {
		code, fault := newCoder(s, *s.column(test.column), test.texts).code(test.text)
		if (code == 0) != test.none || fault != fine {
			t.Errorf("%s of %q, texts %v, is code %d with fault %d; want none: %v", test.column, test.text, test.texts, code, fault, test.none)
		}
	}
	s.Columns[0].Missing = false
	if _, fault := newCoder(s, s.Columns[0], true).code("99.0"); fault != absent {
		t.Errorf("no value in a column that always has one is fault %d", fault)
	}
	s.Missing = []string{" 99"}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "without space") {
		t.Error(err)
	}
}

// A text that stands for no value may be a name where it is one, and is told to be; it
// is refused where that leaves it nothing to stand for.
func TestTextsAreValuesOrNone(t *testing.T) {
	s := everyKind() // NA is a job
	if err := s.Check(); err != nil || s.MissingTexts() != "NA (but a value of job)" {
		t.Errorf("%q, %v", s.MissingTexts(), err)
	}
	s.Missing = []string{"?", "NA"}
	for i := range s.Columns {
		s.Columns[i].Missing = s.Columns[i].Name == "job"
	}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), `"NA", which is one of the values of column "job"`) {
		t.Error(err)
	}
	s.Missing = []string{"?"}
	if err := s.Check(); err != nil || s.MissingTexts() != "?" {
		t.Errorf("%q, %v", s.MissingTexts(), err)
	}
}

// No value that is written stands for none: the table reads back under its own schema,
// in every format, whatever codes were made up.
func TestWhatIsWrittenIsNotAbsent(t *testing.T) {
	s := sentinels()
	made := all(s)
	for _, ending := range []string{".csv", ".tsv", ".parquet", ".npz"} {
		back := readBack(t, made, ending)
		for j, c := range made.Columns {
			for i, code := range made.Codes[j] {
				if got := back.Codes[j][i]; (got == 0) != (code == 0) || !(math.Abs(float64(got)-float64(code)) <= 1) {
					t.Errorf("%s, %s: code %d came back as %d", ending, c.Name, code, got)
				}
			}
		}
	}
	// As codes it keeps what stands for no value, so that all formats have the same values.
	var codes, direct, again bytes.Buffer
	if err := made.WriteCodes(&codes); err != nil {
		t.Fatal(err)
	}
	kept, err := ReadCodes(&codes)
	if err == nil {
		err = errors.Join(made.Write(&direct, ".csv", 1), kept.Write(&again, ".csv", 1))
	}
	if err != nil || !bytes.Equal(direct.Bytes(), again.Bytes()) {
		t.Error("a table from its codes has other values", err)
	}
	// Where all values of a range stand for none there is no other to write.
	few := Column{Name: "a", Kind: Numeric, Low: number(0), High: number(1)}
	few.absent = map[float64]bool{0: true, 1: true}
	if got := few.present(1); got != 1 {
		t.Errorf("%v", got)
	}
}

// Every format has the same numbers, and none of them is −0.
func TestNoughtHasNoSign(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{
		{Name: "a", Kind: Numeric, Low: number(-0.4), High: number(300), Public: true},
		{Name: "b", Kind: Numeric, Low: number(-0.004), High: number(0.4), Decimals: 2, Public: true},
		{Name: "c", Kind: Numeric, Low: number(-200), High: number(2000), Public: true},
	}}
	var b bytes.Buffer
	for seed := range uint64(20) {
		if err := all(s).Write(&b, ".csv", seed); err != nil {
			t.Fatal(err)
		}
	}
	if text := b.String(); strings.Contains(text, "-0,") || strings.Contains(text, "-0\n") || strings.Contains(text, "-0.00") {
		t.Error("a nought has a sign")
	}
}

// Whole numbers of Parquet without a sign are no negative ones, times beyond the calendar
// are its ends, and bytes without a meaning are refused.
func TestParquetTypesAreReadForWhatTheyAre(t *testing.T) {
	type row struct {
		Small uint32 `parquet:"small"`
		Large uint64 `parquet:"large"`
		Sign  int32  `parquet:"sign"`
		When  int64  `parquet:"when,timestamp(microsecond)"`
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(path, []row{{3_000_000_000, 10_000_000_000_000_000_000, -5, 253_402_300_800_000_000}, {1, 2, 3, -9_000_000_000_000_000_000}}); err != nil {
		t.Fatal(err)
	}
	source, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, want := range [][]string{{"3000000000", "10000000000000000000", "-5", "9999-12-31"}, {"1", "2", "3", "0001-01-01"}} {
		if got, err := source.Read(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	type id struct {
		ID [16]byte `parquet:"id,uuid"`
	}
	if err := parquet.WriteFile(path, []id{{}}); err != nil {
		t.Fatal(err)
	}
	ids, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	s, err := Draft(t.Context(), "x", ids, "") // left out, which is what most such columns are for
	if err != nil || s.Columns[0].Kind != Exclude || !strings.Contains(s.Columns[0].Note, "save it as") {
		t.Errorf("%+v, %v", s, err)
	}
	s.Columns[0].Kind, s.Columns[0].Values = Categorical, []string{"a"}
	if err := s.CheckFile(path); err == nil || !strings.Contains(err.Error(), "save it as") {
		t.Error(err)
	}
	if _, _, err := Read(t.Context(), path, s); err == nil || !strings.Contains(err.Error(), "save it as") {
		t.Error(err)
	}
	// A whole number of Parquet is no day: it may be a year.
	type year struct {
		Born int32 `parquet:"born"`
	}
	if err := parquet.WriteFile(path, []year{{1987}, {2004}}); err != nil {
		t.Fatal(err)
	}
	dates := &Schema{Name: "x", Columns: []Column{{Name: "born", Kind: Date, First: "1900-01-01", Last: "2025-12-31", Missing: true, Public: true}}}
	if _, found, err := Read(t.Context(), path, dates); err != nil || len(found) != 1 || found[0].Unknown != 2 {
		t.Errorf("%v, %v; years were taken for days", found, err)
	}
}

// The draft of a table with tabs goes by its ending, and what is made of it as .csv has
// commas.
func TestTabsStayInTheirFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tsv")
	if err := os.WriteFile(path, []byte("a\tb\n1\t2\n3\t4\n5\t6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := DraftFile(t.Context(), "x", path)
	if err != nil || s.Separator != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	readBack(t, all(s.Only()), ".csv")
	if _, _, err := Read(t.Context(), path, s); err != nil {
		t.Error(err)
	}
}

// Numbers that could as well be thousands are drafted as what they look like, and told.
func TestADraftTellsOfThousandsWithPoints(t *testing.T) {
	if c := draftOf(t, "1.234", "2.500", "12.750", "900"); c.Format != "" || c.Decimals != 3 || !strings.Contains(c.Note, `"format": "1.234,5"`) {
		t.Errorf("%+v", c)
	}
	if c := draftOf(t, "1.234", "2.500", "0.750"); strings.Contains(c.Note, "thousand") {
		t.Errorf("%+v", c)
	}
}

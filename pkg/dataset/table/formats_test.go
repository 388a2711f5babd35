package table

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// readBack writes a table in a format and reads it again.
func readBack(t *testing.T, made *Table, ending string) *Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table"+ending)
	var b bytes.Buffer
	if err := made.Write(&b, ending, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, disagreements, err := Read(t.Context(), path, made.Schema)
	if err != nil || disagreements != nil {
		t.Fatal(err, disagreements)
	}
	return got
}

func TestEveryFormatGivesBackWhatItWasGiven(t *testing.T) {
	for _, ending := range []string{".csv", ".tsv", ".parquet", ".npz"} {
		t.Run(ending, func(t *testing.T) {
			s := everyKind().Only()
			if ending == ".npz" { // numbers only
				s.Columns = slices.DeleteFunc(s.Columns, func(c Column) bool { return c.Name == "job" || c.Kind == Ordinal })
			}
			if err := s.CheckEnding("x" + ending); err != nil {
				t.Fatal(err)
			}
			want := all(s)
			got := readBack(t, want, ending)
			for j, c := range want.Columns {
				for i, code := range want.Codes[j] {
					// A narrow bin of a logarithmic or rounded scale may hold no value; its
					// neighbour's is then written.
					near := 0
					if c.Values == nil && c.whole() == 0 {
						near = 16
					}
					if d := int(got.Codes[j][i]) - int(code); d < -near || d > near || (code == 0) != (got.Codes[j][i] == 0) {
						t.Errorf("column %q: code %d came back as %d", c.Name, code, got.Codes[j][i])
					}
				}
			}
		})
	}
}

func TestAnArchiveOfNumbersRefusesNames(t *testing.T) {
	if err := everyKind().CheckEnding("x.npz"); err == nil || !strings.Contains(err.Error(), "job") {
		t.Error(err)
	}
}

func TestCodesComeBack(t *testing.T) {
	want := all(everyKind().Only())
	var b bytes.Buffer
	if err := want.WriteCodes(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCodes(bytes.NewReader(b.Bytes()))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, %v", got, err)
	}
	want.Codes[0][0] = 30_000
	b.Reset()
	if err := want.WriteCodes(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCodes(&b); err == nil || !strings.Contains(err.Error(), "the code 30000") {
		t.Error(err)
	}
}

// A name that an archive of numbers would change is refused, before anything is paid.
func TestNamesThatNumbersChangeAreRefused(t *testing.T) {
	for name, fine := range map[string]bool{"1067": true, "1234567": true, "20240101": true, "0": true, "0.00001": true, "-1.5": true, "01067": false, "1.0": false, "+1": false, "1e3": false, "NaN": false, "inf": false, "north": false} {
		s := &Schema{Name: "x", Columns: []Column{{Name: "zip", Kind: Categorical, Values: []string{"7", name}}}}
		if err := s.CheckEnding("x.npz"); (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "write .csv or .parquet") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Names that are numbers are the same names in every format.
func TestNumbersAreNamesAsTheyAreWritten(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{
		{Name: "day", Kind: Categorical, Values: []string{"1234567", "20240101"}, Public: true},
		{Name: "place", Kind: Categorical, Values: []string{"0.00001", "0", "-1.5"}, Public: true},
	}}
	for _, ending := range []string{".csv", ".parquet", ".npz"} {
		want := all(s)
		if got := readBack(t, want, ending); !reflect.DeepEqual(got.Codes, want.Codes) {
			t.Errorf("%s: %v, want %v", ending, got.Codes, want.Codes)
		}
	}
}

// Within their bins numbers are drawn by streams of their own: PCG(seed, j) is one that
// rows are made with.
func TestValuesHaveStreamsOfTheirOwn(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{
		{Name: "a", Kind: Numeric, Low: number(0), High: number(1e12), Public: true},
		{Name: "b", Kind: Numeric, Low: number(0), High: number(1e12), Public: true},
	}}
	made := all(s)
	var b bytes.Buffer
	if err := made.Write(&b, ".csv", 1); err != nil {
		t.Fatal(err)
	}
	first := strings.Split(strings.Split(b.String(), "\n")[1], ",")
	for j, c := range made.Columns {
		if c.text(made.Codes[j][0], rand.New(rand.NewPCG(1, uint64(j)))) == first[j] {
			t.Errorf("column %q is drawn by a stream of others: %s", c.Name, first[j])
		}
	}
}

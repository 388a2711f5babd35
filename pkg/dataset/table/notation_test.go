package table

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestNotationsAreReadByTheirRules(t *testing.T) {
	for _, c := range []struct {
		format, text string
		want         float64
		bad          bool
	}{
		{"1234,5", "1234,5", 1234.5, false},
		{"1234,5", "-0,25", -0.25, false},
		{"1234,5", "12", 12, false},
		{"1234,5", "1,5e3", 1500, false},
		{"1234,5", "1234.5", 0, true},
		{"1234,5", "1,234,5", 0, true},
		{"1234,5", "0x1,8p3", 0, true},
		{"1234,5", "Inf", 0, true},
		{"1234,5", ",", 0, true},
		{"1,234.5", "1,234,567.25", 1234567.25, false},
		{"1,234.5", "1234567.25", 1234567.25, false},
		{"1,234.5", "+12,345", 12345, false},
		{"1,234.5", "12,34", 0, true},
		{"1,234.5", "0,125", 0, true},
		{"1,234.5", "1234,567", 0, true},
		{"1,234.5", ",123", 0, true},
		{"1,234.5", "1,234.5,6", 0, true},
		{"1,234.5", "-+1,234", 0, true},
		{"1.234,5", "1.234.567,5", 1234567.5, false},
		{"1.234,5", "1.234", 1234, false},
		{"1.234,5", "01.02.2024", 0, true},
		{"1.234,5", "1,234.5", 0, true},
		{"1.234,5", "1.5", 0, true},
		{"1 234,5", "1\u202f234\u00a0567,5", 1234567.5, false},
		{"1 234.5", "1 234.5", 1234.5, false},
		{"1'234.5", "1’234'567.5", 1234567.5, false},
		{"1'234.5", "1'23", 0, true},
	} {
		v, _, err := notationOf(c.format).parse(c.text)
		if (err != nil) != c.bad || err == nil && v != c.want {
			t.Errorf("%q as %s is %v, %v; want %v, an error: %v", c.text, c.format, v, err, c.want, c.bad)
		}
	}
}

// What a notation writes it reads back, to the last bit.
func TestNotationsReadWhatTheyWrite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, format := range notations {
		n := notationOf(format)
		if got := n.write("1234.5"); got != format {
			t.Errorf("1234.5 as %s is written %s", format, got)
		}
		for range 2000 {
			decimals := rng.IntN(7)
			plain := strconv.FormatFloat((rng.Float64()-0.5)*float64(uint64(1)<<rng.IntN(50)), 'f', decimals, 64)
			want, _ := strconv.ParseFloat(plain, 64)
			written := n.write(plain)
			if got, back, err := n.parse(written); err != nil || got != want || back != plain {
				t.Fatalf("%s is written %s as %s, and read back as %v (%s), %v", plain, written, format, got, back, err)
			}
		}
	}
}

// In whatever notation a file has its numbers, the draft finds it, all are read, and the
// table that is made has the same.
func TestEveryNotationIsDraftedReadAndWritten(t *testing.T) {
	for _, format := range notations {
		t.Run(format, func(t *testing.T) {
			n := notationOf(format)
			rows, rng := "amount;group\n", rand.New(rand.NewPCG(3, 4))
			for range 300 {
				rows += fmt.Sprintf("%s;%d\n", n.write(strconv.FormatFloat(5e4*rng.Float64()-1e4, 'f', 2, 64)), rng.IntN(2))
			}
			path := filepath.Join(t.TempDir(), "people.csv")
			if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := DraftFile(t.Context(), "people", path)
			if err != nil {
				t.Fatal(err)
			}
			amount := s.Columns[0]
			if format == notations[0] {
				format = ""
			}
			if amount.Kind != Numeric || amount.Format != format || amount.Decimals != 2 || amount.Missing || !(*amount.Low <= -9e3 && *amount.Low >= -2e4 && *amount.High >= 3.9e4 && *amount.High <= 6e4) {
				t.Fatalf("drafted as %+v", amount)
			}
			if format != "" && (!strings.Contains(amount.Note, "1234.5") || !strings.Contains(amount.Describe(), "written as "+format)) {
				t.Errorf("whoever confirms %q is not told how numbers are written: %s", amount.Note, amount.Describe())
			}
			people, disagreements, err := Read(t.Context(), path, s)
			if err != nil || disagreements != nil {
				t.Fatal(disagreements, err)
			}
			for _, ending := range []string{".csv", ".parquet", ".npz"} { // the last two have numbers, which no notation is asked for
				back := readBack(t, people, ending)
				for i, code := range people.Codes[0] {
					if back.Codes[0][i] != code {
						t.Fatalf("%s: code %d came back as %d", ending, code, back.Codes[0][i])
					}
				}
			}
		})
	}
}

// What is read as a thousand and as one and a bit alike is drafted as a thousand, and told.
func TestADraftTakesThousandsForThousands(t *testing.T) {
	rows := "a\tb\n"
	for i := range 200 { // b's are all different, as identifiers are
		rows += fmt.Sprintf("%d,%03d\t%d,%03d\n", 20+i%5, 250*(i%4), 20+i%5, 3*i)
	}
	source, err := newCSV(strings.NewReader(rows), "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Draft(t.Context(), "x", source, "\t")
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Columns[0]; a.Format != "1,234.5" || !(*a.Low >= 1e4) {
		t.Errorf("drafted as %+v", a)
	}
	if b := s.Columns[1]; b.Kind != Exclude || !strings.Contains(b.Note, `"format": "1,234.5"`) {
		t.Errorf("drafted as %+v", b)
	}
}

func FuzzNotation(f *testing.F) {
	for _, format := range notations {
		f.Add(format)
	}
	f.Add("-+1'2")
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range notations[1:] {
			n := notationOf(format)
			v, plain, err := n.parse(text)
			if err != nil {
				continue
			}
			if same, err := strconv.ParseFloat(plain, 64); err != nil || same != v {
				t.Errorf("%q as %s is %v and spelled %q", text, format, v, plain)
			}
		}
	})
}

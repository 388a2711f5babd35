package dataset

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/plugin"
)

// tiny has three images of 1×2 pixels and two channels: row i is 10i … 10i+3.
func tiny() *Dataset {
	return &Dataset{
		Name: "tiny", Origin: "made up", Height: 1, Width: 2, Channels: 2,
		X:      []float32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23},
		Labels: []int{0, 1, 0}, Classes: []string{"a", "b"},
	}
}

func TestRowsAndSubsets(t *testing.T) {
	d := tiny()
	if d.Len() != 3 || d.Dim() != 4 || !slices.Equal(d.Row(1), []float32{10, 11, 12, 13}) {
		t.Errorf("Len %d, Dim %d, Row(1) %v", d.Len(), d.Dim(), d.Row(1))
	}
	s := d.Subset([]int{2, 0, 2})
	if !slices.Equal(s.X, []float32{20, 21, 22, 23, 0, 1, 2, 3, 20, 21, 22, 23}) || !slices.Equal(s.Labels, []int{0, 0, 0}) {
		t.Errorf("Subset: %v, labels %v", s.X, s.Labels)
	}
	s.X[0] = -1
	if d.X[8] != 20 {
		t.Error("a subset shares memory with its origin")
	}
	if (&Dataset{}).Len() != 0 {
		t.Error("a data set without layout has rows")
	}
}

func TestDraw(t *testing.T) {
	big := &Dataset{Name: "big", Origin: "made up", Height: 1, Width: 1, Channels: 1}
	for i := range 1000 {
		big.X = append(big.X, float32(i))
	}
	a, err := big.Draw(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	if distinct := slices.Compact(slices.Clone(a.X)); len(distinct) != 100 || !slices.IsSorted(a.X) {
		t.Errorf("100 rows drawn give %d different ones in order", len(distinct))
	}
	again, _ := big.Draw(100, 1)
	other, _ := big.Draw(100, 2)
	if !slices.Equal(a.X, again.X) || slices.Equal(a.X, other.X) {
		t.Error("the seed does not decide which rows are drawn")
	}
	if !strings.Contains(a.Origin, "100 of 1000 rows drawn by seed 1") {
		t.Errorf("origin %q does not tell", a.Origin)
	}
	if all, err := big.Draw(0, 1); err != nil || all.Len() != 1000 {
		t.Errorf("Draw(0): %v", err)
	}
	for _, n := range []int{-1, 1001} {
		if _, err := big.Draw(n, 1); err == nil || !strings.Contains(err.Error(), "1 to 1000 rows") {
			t.Errorf("Draw(%d): error %v, want it to say how many there are", n, err)
		}
	}
}

func TestPad(t *testing.T) {
	p := tiny().Pad(2, 4)
	want := []float32{0, 0, 10, 11, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if p.Height != 2 || p.Width != 4 || p.Len() != 3 || !slices.Equal(p.Row(1), want) {
		t.Errorf("%d×%d, row 1 %v, want %v", p.Height, p.Width, p.Row(1), want)
	}
	if same := tiny().Pad(-5, 1); !slices.Equal(same.X, tiny().X) {
		t.Errorf("a smaller frame changes the rows to %v", same.X)
	}
	sum := func(x []float32) (s float32) {
		for _, v := range x {
			s += v
		}
		return s
	}
	if framed := tiny().Pad(7, 9); sum(framed.X) != sum(tiny().X) {
		t.Errorf("sum %v after padding, want %v", sum(framed.X), sum(tiny().X))
	}
}

func TestCheckNamesTheFault(t *testing.T) {
	if err := tiny().Check(); err != nil {
		t.Errorf("a good data set: %v", err)
	}
	for want, spoil := range map[string]func(*Dataset){
		"found NaN in row 1, column 2":         func(d *Dataset) { d.X[6] = float32(math.NaN()) },
		"found -Inf in row 2, column 3":        func(d *Dataset) { d.X[11] = float32(math.Inf(-1)) },
		"at least one row":                     func(d *Dataset) { d.X = nil },
		"the last row lacks 1":                 func(d *Dataset) { d.X = d.X[:11] },
		"a label for each of 3 rows, found 2":  func(d *Dataset) { d.Labels = d.Labels[:2] },
		"labels from 0 to 1, found 2 in row 1": func(d *Dataset) { d.Labels[1] = 2 },
		"found -1 in row 0":                    func(d *Dataset) { d.Labels[0] = -1 },
		"set Height, Width and Channels":       func(d *Dataset) { d.Channels = 0 },
	} {
		d := tiny()
		spoil(d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"tiny" (made up)`) {
			t.Errorf("error %v, want it to say %q of tiny", err, want)
		}
	}
	unequal := &Splits{tiny(), tiny().Pad(2, 2)}
	unlabelled, renamed, unnamed := tiny(), tiny(), tiny()
	unlabelled.Labels = nil
	renamed.Classes = []string{"a", "c"}
	unnamed.Classes = nil
	for _, s := range []*Splits{nil, {}, {Train: tiny()}, unequal, {tiny(), unlabelled}, {tiny(), renamed}, {tiny(), unnamed}} {
		if s.Check() == nil {
			t.Errorf("no error for %+v", s)
		}
	}
}

func TestEverySourceDescribesItselfAndGeneratedOnesLoad(t *testing.T) {
	if faults := Registry.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
	for name, public := range map[string]bool{"mnist": false, "fashion-mnist": false, "celeba": false, "adult": false, "biased": true, "glyphs": true, "five-gaussians": true} {
		source, err := Registry.Lookup(name)
		if err != nil {
			t.Error(err)
			continue
		}
		info := source.Describe()
		if info.Summary == "" || info.Version == "" || info.Source == "" || source.Public() != public {
			t.Errorf("%s: %+v, public %v", name, info, source.Public())
		}
		if !public {
			continue
		}
		for _, n := range []int{-1, 2_000_000_000} {
			if _, err := Load(context.Background(), name, Options{N: n}); err == nil || !strings.Contains(err.Error(), "change N") {
				t.Errorf("%s with N = %d: error %v", name, n, err)
			}
		}
		s, err := Load(context.Background(), name, Options{N: 50, Seed: 3})
		if err != nil || s.Train.Len() != 50 || s.Test.Len() < 1000 || s.Train.Name != name || s.Train.Origin != "generated from seed 3" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var unknown *plugin.UnknownError
	if _, err := Load(context.Background(), "mnits", Options{}); !errors.As(err, &unknown) {
		t.Errorf("Load(mnits): %v, want *plugin.UnknownError", err)
	}
}

// Other labels, or other names of theirs, are other rows; so are other values and another
// layout, of rows for testing too.
func TestDigestTellsRows(t *testing.T) {
	d := &Dataset{Name: "labelled", Origin: "the test", Height: 1, Width: 1, Channels: 1, X: []float32{1, 2}}
	held := &Dataset{Name: "labelled", Origin: "the test", Height: 1, Width: 1, Channels: 1, X: []float32{1, 2}}
	Register("labelled", "for a test", func(context.Context, Options) (*Splits, error) {
		held.Height, held.Width, held.Classes, held.Labels = d.Height, d.Width, d.Classes, d.Labels
		if d.Labels != nil {
			held.Labels = make([]int, held.Len())
		}
		return &Splits{Train: d, Test: held}, nil
	})
	seen := map[string]string{}
	for what, change := range map[string]func(){
		"no labels":           func() {},
		"labels 0 and 1":      func() { d.Labels, d.Classes = []int{0, 1}, []string{"a", "b"} },
		"labels 1 and 0":      func() { d.Labels, d.Classes = []int{1, 0}, []string{"a", "b"} },
		"other names":         func() { d.Labels, d.Classes = []int{0, 1}, []string{"a", "c"} },
		"another value":       func() { d.X = []float32{1, 3} },
		"another order":       func() { d.X = []float32{2, 1} },
		"another held-out":    func() { held.X = []float32{1, 3} },
		"fewer held-out rows": func() { held.X = []float32{1} },
		"one row of 2×1":      func() { d.Height = 2 },
		"one row of 1×2":      func() { d.Width = 2 },
	} {
		d.Labels, d.Classes, d.Height, d.Width, d.X, held.X = nil, nil, 1, 1, []float32{1, 2}, []float32{1, 2}
		change()
		digest, err := Digest(t.Context(), "labelled", Options{}, nil)
		if err != nil || digest == "" || seen[digest] != "" {
			t.Errorf("%s: %q, %v, as of %q", what, digest, err, seen[digest])
		}
		seen[digest] = what
	}
}

package pairs

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
)

// plain is a column of size groups with as many codes each.
func plain(size, each int) Column {
	c := Column{Size: size}
	for g := range size {
		for range each {
			c.Groups = append(c.Groups, uint16(g))
		}
	}
	return c
}

func mustLayout(t *testing.T, columns []Column, target int, emphasis, singles float64) *Layout {
	t.Helper()
	l, err := NewLayout(columns, target, emphasis, singles)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustCount(t *testing.T, l *Layout, codes [][]uint16) []float64 {
	t.Helper()
	values, err := l.Count(codes)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// Every pair of neighbours of a small table, by brute force: none moves the release
// further than Sensitivity says, and one moves it that far.
func TestNoNeighbourMovesTheReleaseFurther(t *testing.T) {
	columns := []Column{plain(2, 1), plain(2, 2), plain(3, 1)}
	for _, weights := range [][2]float64{{1, 1}, {2, 1}, {0.5, 3}} {
		l := mustLayout(t, columns, 2, weights[0], weights[1])
		var records [][3]uint16
		for a := range uint16(2) {
			for b := range uint16(4) {
				for c := range uint16(3) {
					records = append(records, [3]uint16{a, b, c})
				}
			}
		}
		rows := func(last [3]uint16) [][]uint16 {
			return [][]uint16{{0, 1, last[0]}, {3, 0, last[1]}, {2, 2, last[2]}}
		}
		var furthest float64
		for _, x := range records {
			before := mustCount(t, l, rows(x))
			for _, y := range records {
				var squares float64
				for i, v := range mustCount(t, l, rows(y)) {
					squares += (v - before[i]) * (v - before[i])
				}
				furthest = max(furthest, math.Sqrt(squares))
			}
		}
		if s := l.Sensitivity(); !(furthest <= s.Value && furthest >= s.Value*(1-1e-9)) || s.Relation != privacy.ReplaceOne || s.PerRecord {
			t.Errorf("weights %v: neighbours are up to %v apart, stated is %+v", weights, furthest, s)
		}
	}
}

// A third of a count of millions is rounded by more than sensitivities have to spare.
func TestNoWeightRoundsACount(t *testing.T) {
	asked := []float64{1.0 / 3, 0.7}
	l := mustLayout(t, []Column{plain(2, 1), plain(2, 2)}, 1, asked[0], asked[1])
	for _, table := range l.Tables {
		if want := asked[min(1, table.B+1)^1]; math.Abs(table.Weight/want-1) > 0x1p-21 {
			t.Errorf("a weight is %v, asked for %v", table.Weight, want)
		}
		for _, count := range []float64{3, 32_561, 1e9 + 7, math.MaxInt32} {
			if lost := math.FMA(table.Weight, count, -table.Weight*count); lost != 0 {
				t.Errorf("%v times %v is rounded by %v", table.Weight, count, lost)
			}
		}
	}
}

func TestCountsAreThoseOfTheRows(t *testing.T) {
	l := mustLayout(t, []Column{plain(2, 2), plain(3, 1)}, 1, 2, 1)
	got := mustCount(t, l, [][]uint16{{0, 1, 3, 3}, {0, 2, 2, 2}})
	want := []float64{1, 1, 0, 2, 1, 0, 3, 2, 0, 2, 0, 0, 4} // codes, codes, then pairs of groups, twice
	if !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	for _, codes := range [][][]uint16{{{0}}, {{0}, {0, 1}}, {{4}, {0}}} {
		if _, err := l.Count(codes); err == nil {
			t.Errorf("codes %v were counted", codes)
		}
	}
}

func TestALayoutRefusesWhatItCannotHold(t *testing.T) {
	huge := []Column{plain(20_000, 1), plain(20_000, 1)}
	for want, make := range map[string]func() error{
		"at least one": func() error { _, err := NewLayout(nil, -1, 1, 1); return err },
		"among them":   func() error { _, err := NewLayout([]Column{plain(2, 1)}, 1, 1, 1); return err },
		"weights":      func() error { _, err := NewLayout([]Column{plain(2, 1)}, -1, 0, 1); return err },
		"cells":        func() error { _, err := NewLayout(huge, -1, 1, 1); return err },
		"group 5 of 2": func() error { _, err := NewLayout([]Column{{Groups: []uint16{5}, Size: 2}}, -1, 1, 1); return err },
		"possible": func() error {
			_, err := NewLayout([]Column{{Groups: []uint16{0}, Size: 1, Impossible: 1}}, -1, 1, 1)
			return err
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

// The nearest shares to a vector: known answers, and the conditions of optimality.
func TestProjectionOnShares(t *testing.T) {
	for _, test := range []struct{ from, want []float64 }{
		{[]float64{0.2, 0.8}, []float64{0.2, 0.8}},
		{[]float64{2, 0}, []float64{1, 0}},
		{[]float64{-1, -1}, []float64{0.5, 0.5}},
		{[]float64{0.6, 0.6, -5}, []float64{0.5, 0.5, 0}},
	} {
		got := slices.Clone(test.from)
		project(got, 1)
		for i, v := range got {
			if !(math.Abs(v-test.want[i]) <= 1e-12) {
				t.Errorf("%v goes to %v, want %v", test.from, got, test.want)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		from := make([]float64, 1+rng.IntN(20))
		for i := range from {
			from[i] = rng.NormFloat64()
		}
		to, sum, shift := slices.Clone(from), 0.0, math.NaN()
		project(to, 1)
		for i, v := range to {
			if sum += v; !(v <= 0) {
				if d := from[i] - v; !math.IsNaN(shift) && !(math.Abs(d-shift) <= 1e-9) {
					t.Fatalf("%v goes to %v: values above 0 are not shifted alike", from, to)
				}
				shift = from[i] - v
			}
		}
		if !(math.Abs(sum-1) <= 1e-9 && slices.Min(to) >= 0) {
			t.Fatalf("%v goes to %v", from, to)
		}
	}
}

// law is a joint law of three columns with strong and weak dependencies, and a
// column that follows another one to the letter.
func law(n int, seed uint64) [][]uint16 {
	rng := rand.New(rand.NewPCG(seed, 2))
	rows := make([][]uint16, 4)
	for range n {
		a := uint16(rng.IntN(4))
		b := uint16(rng.IntN(6))
		if rng.Float64() < 0.5 {
			b = a
		}
		label := uint16(0)
		if rng.Float64() < 0.1+0.2*float64(a)*float64(b)/3 {
			label = 1
		}
		for j, v := range []uint16{a + 1, 3*b + uint16(rng.IntN(3)) + 1, 2*a + 1, label + 1} {
			rows[j] = append(rows[j], v)
		}
	}
	return rows
}

func lawLayout(t *testing.T) *Layout {
	missing := func(c Column) Column { // code and group 0 are of missing values, and there are none
		c.Groups = append([]uint16{0}, c.Groups...)
		for i := 1; i < len(c.Groups); i++ {
			c.Groups[i]++
		}
		c.Size++
		c.Impossible = 1
		return c
	}
	return mustLayout(t, []Column{missing(plain(4, 1)), missing(plain(6, 3)), missing(plain(8, 1)), missing(plain(2, 1))}, 3, 2, 1)
}

func TestRepairedTablesAreSharesThatAgree(t *testing.T) {
	l := lawLayout(t)
	n := 5000
	rows := law(n, 1)
	truth, err := l.Of(rows)
	if err != nil {
		t.Fatal(err)
	}
	released := mustCount(t, l, rows)
	exact := l.Repair(slices.Clone(released), n, 0)
	rng := rand.New(rand.NewPCG(5, 5))
	const std = 60
	for i := range released {
		released[i] += std * rng.NormFloat64()
	}
	noisy := l.Repair(slices.Clone(released), n, std)
	for _, r := range []*Repaired{exact, noisy} {
		for p, table := range r.Pairs {
			of := l.Tables[4+p]
			a, b := sums(table, of.Rows, of.Cols)
			for side, found := range [][]float64{a, b} {
				column := []int{of.A, of.B}[side]
				for g, v := range found {
					if !(math.Abs(v-r.Groups[column][g]) <= 1e-2) {
						t.Errorf("pair %d: group %d of column %d has share %v, the column %v", p, g, column, v, r.Groups[column][g])
					}
				}
			}
			if !(slices.Min(table) >= 0) || a[0] != 0 || b[0] != 0 {
				t.Errorf("pair %d has negative or impossible shares", p)
			}
		}
		for j, codes := range r.Codes {
			groups := make([]float64, l.Columns[j].Size)
			for code, v := range codes {
				groups[l.Columns[j].Groups[code]] += v
			}
			for g, v := range groups {
				if !(math.Abs(v-r.Groups[j][g]) <= 1e-9) {
					t.Errorf("column %d: the codes of group %d have share %v, the group %v", j, g, v, r.Groups[j][g])
				}
			}
		}
	}
	if d := Mean(truth.Compare(exact).Pairs); !(d <= 2e-3) {
		t.Errorf("without noise the repaired tables are %v from the rows'", d)
	}
	// Repair takes noise off. Of a noisy table left as it is, negative shares and all,
	// the distance would be half the cells' mean |noise|: 0.4·60·cells/5000.
	var raw float64
	for p := range noisy.Pairs {
		of := l.Tables[4+p]
		raw += 0.4 * std / of.Weight * float64(of.Rows*of.Cols) / float64(n) / float64(len(noisy.Pairs))
	}
	if d := Mean(truth.Compare(noisy).Pairs); !(d <= raw/2) {
		t.Errorf("repaired tables are %v from the rows', those as released %v", d, raw)
	}
}

func TestExponential(t *testing.T) {
	for x := float32(-20); x <= 0; x += 0.01 {
		if got, want := float64(exp(x)), math.Exp(float64(x)); !(math.Abs(got/want-1) <= 1e-4) {
			t.Fatalf("exp(%v) is %v, want %v", x, got, want)
		}
	}
}

// Cramér's V of known tables.
func TestCramer(t *testing.T) {
	for _, test := range []struct {
		table      []float64
		rows, cols int
		want       float64
	}{
		{[]float64{0.25, 0.25, 0.25, 0.25}, 2, 2, 0},
		{[]float64{0.5, 0, 0, 0.5}, 2, 2, 1},
		{[]float64{0.4, 0.1, 0.1, 0.4}, 2, 2, 0.6}, // |φ| = (0.16−0.01)/0.25
		{[]float64{1, 0, 0, 0}, 2, 2, 0},
	} {
		if got := cramer(test.table, test.rows, test.cols); !(math.Abs(got-test.want) <= 1e-12) {
			t.Errorf("V of %v is %v, want %v", test.table, got, test.want)
		}
	}
}

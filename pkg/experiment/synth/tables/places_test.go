package tables

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/pkg/dataset/table"
)

// kindsOfColumns are columns of all kinds, with and without missing values.
func kindsOfColumns() []table.Column {
	low, high := 0.0, 100.0
	return []table.Column{
		{Name: "job", Kind: table.Categorical, Values: []string{"baker", "smith", "none"}},
		{Name: "town", Kind: table.Categorical, Values: []string{"A", "B"}, Missing: true},
		{Name: "level", Kind: table.Ordinal, Values: []string{"low", "middle", "high", "top"}},
		{Name: "wealth", Kind: table.Numeric, Low: &low, High: &high, Decimals: 2, Missing: true},
		{Name: "born", Kind: table.Date, First: "1900-01-01", Last: "2020-12-31", Bins: 5},
		{Name: "one", Kind: table.Ordinal, Values: []string{"always"}},
	}
}

func placesOf(t *testing.T, columns []table.Column) *places {
	t.Helper()
	p, err := newPlaces(columns)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// placed is a table of one row of these codes, and where it is.
func placed(p *places, codes ...table.Code) []float32 {
	t := &table.Table{Columns: p.columns}
	for _, code := range codes {
		t.Codes = append(t.Codes, []table.Code{code})
	}
	x := make([]float32, p.dim)
	p.of(x, t, 0)
	return x
}

func squaredDistance(x, y []float32) (d float64) {
	for i, v := range x {
		d += float64(v-y[i]) * float64(v-y[i])
	}
	return d
}

func TestDistancesOfPlaces(t *testing.T) {
	p := placesOf(t, kindsOfColumns())
	base := []table.Code{1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		column int
		code   table.Code
		want   float64
	}{
		{0, 1, 0}, {0, 3, 1}, {1, 2, 1}, {1, 0, 1}, {2, 2, 1. / 3}, {2, 4, 1}, {3, 17, 1. / 15}, {3, 256, 1}, {3, 0, 1}, {4, 256, 1}, {4, 60, 1. / 4}, {5, 1, 0},
	} {
		codes := slices.Clone(base)
		codes[c.column] = c.code
		if d := squaredDistance(placed(p, base...), placed(p, codes...)); !(math.Abs(d-c.want) <= 1e-6) {
			t.Errorf("%s: codes 1 and %d are %v apart, squared; want %v", p.columns[c.column].Name, c.code, d, c.want)
		}
	}
	for code := 1; code <= 256; code += 15 { // as far from the middle as from the ends
		if d := squaredDistance(placed(p, 1, 1, 1, table.Code(code), 1, 1), placed(p, 1, 1, 1, 0, 1, 1)); !(math.Abs(d-1) <= 1e-6) {
			t.Errorf("a missing value is %v from code %d", d, code)
		}
	}
	if d := squaredDistance(placed(p, 1, 1, 1, 1, 1, 1), placed(p, 3, 0, 4, 0, 256, 1)); !(math.Abs(d-5) <= 1e-6 && d <= p.Largest()) {
		t.Errorf("rows that differ everywhere are %v apart", d)
	}
	// A value that cannot be missing and is, is the first: no record may stop anything.
	if !slices.Equal(placed(p, 0, 1, 0, 1, 0, 0), placed(p, base...)) {
		t.Error("values that cannot be are not the first")
	}
}

// mean of certainties is where rows are, and pull is the transpose of mean.
func TestMeansOfPlaces(t *testing.T) {
	p := placesOf(t, kindsOfColumns())
	rng := rand.New(rand.NewPCG(1, 1))
	var certain, probabilities []float32
	codes := []table.Code{2, 0, 3, 100, 200, 1}
	for j, size := range p.sizes() {
		one := make([]float32, size)
		one[p.outcome(j, codes[j])] = 1
		certain = append(certain, one...)
		for range size {
			probabilities = append(probabilities, rng.Float32())
		}
	}
	x := make([]float32, p.dim)
	p.mean(x, certain)
	if !slices.Equal(x, placed(p, codes...)) {
		t.Errorf("certainties are at %v; the row at %v", x, placed(p, codes...))
	}
	g, back := make([]float32, p.dim), make([]float32, len(probabilities))
	for i := range g {
		g[i] = float32(rng.NormFloat64())
	}
	p.mean(x, probabilities)
	p.Pull(back, g)
	var left, right float64
	for i, v := range x {
		left += float64(v) * float64(g[i])
	}
	for i, v := range probabilities {
		right += float64(v) * float64(back[i])
	}
	if !(math.Abs(left-right) <= 1e-4) {
		t.Errorf("⟨mean(p), g⟩ = %v, ⟨p, pull(g)⟩ = %v", left, right)
	}
}

// Every code that can be is a member of its outcome, and of no other.
func TestMembersOfOutcomes(t *testing.T) {
	p := placesOf(t, kindsOfColumns())
	for j, c := range p.columns {
		count := 0
		for k, codes := range p.members(j) {
			if len(codes) == 0 {
				t.Errorf("%s: outcome %d has no codes", c.Name, k)
			}
			for _, code := range codes {
				count++
				if p.outcome(j, code) != k || code == 0 && !c.Missing {
					t.Errorf("%s: code %d is a member of outcome %d", c.Name, code, k)
				}
			}
		}
		want := c.Levels()
		if c.Missing {
			want++
		}
		if count != want {
			t.Errorf("%s: %d codes are members; want %d", c.Name, count, want)
		}
	}
}

// Of 20,000 draws a share is within 5 standard errors but once in 10⁶ seeds; what has
// no probability is never drawn.
func TestDrawsHaveTheirProbabilities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	probabilities := []float32{0.2, 0, 0.5, 0.3, 0}
	counts := make([]float64, len(probabilities))
	const n = 20_000
	for range n {
		counts[drawn(probabilities, rng)]++
	}
	for k, q := range probabilities {
		q := float64(q)
		if !(math.Abs(counts[k]/n-q) <= 5*math.Sqrt(q*(1-q)/n)) {
			t.Errorf("outcome %d has a share of %v; want %v", k, counts[k]/n, q)
		}
	}
	if k := drawn([]float32{0, 0.4, 0}, rand.New(rand.NewPCG(4, 4))); k != 1 {
		t.Errorf("where probabilities add up to less, outcome %d was drawn", k)
	}
}

func TestPlacesThatDoNotFitAreRefused(t *testing.T) {
	names := make([]string, table.MaxValues)
	columns := make([]table.Column, 20)
	for j := range columns {
		columns[j] = table.Column{Name: "x", Kind: table.Categorical, Values: names}
	}
	if _, err := newPlaces(columns); err == nil {
		t.Error("40,000 names were given places")
	}
}

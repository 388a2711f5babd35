package tables

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"molehill/pkg/dataset/table"
)

// No two encoded rows are further apart than the diameter that the sketch's
// sensitivity is computed for, and some are as far.
func TestEncodedRowsLieWithinTheirDiameter(t *testing.T) {
	var s table.Schema
	if err := json.Unmarshal([]byte(schemaText), &s); err != nil {
		t.Fatal(err)
	}
	s.Columns[0].Missing = true
	columns := s.Modelled()
	m, err := newBySketch(settings(), columns)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows := &table.Table{Schema: &s, Columns: columns, Codes: make([][]table.Code, len(columns))}
	const n = 300
	for j, c := range columns {
		for range n {
			code := rng.IntN(c.Levels() + 1)
			if rng.IntN(2) == 0 {
				code = []int{0, 1, c.Levels()}[rng.IntN(3)]
			}
			rows.Codes[j] = append(rows.Codes[j], table.Code(code))
		}
	}
	x := m.encode(rows)
	var furthest, longest float64
	for i := range n {
		for k := range i + 1 {
			var squares float64
			for c, v := range x.Row(i) {
				squares += float64(v-x.Row(k)[c]) * float64(v-x.Row(k)[c])
			}
			furthest = max(furthest, math.Sqrt(squares))
		}
		var norm float64
		for _, v := range x.Row(i) {
			norm += float64(v) * float64(v)
		}
		longest = max(longest, math.Sqrt(norm))
	}
	if !(furthest <= m.diameter() && furthest >= 0.99*m.diameter() && longest <= m.radius()) {
		t.Errorf("rows are up to %v apart and %v long, stated is %v and %v", furthest, longest, m.diameter(), m.radius())
	}
	// Decoding gives back what can be.
	for j, codes := range m.decode(x) {
		for i, code := range codes {
			if want := rows.Codes[j][i]; want != code && (want != 0 || columns[j].Missing) {
				t.Fatalf("column %q: code %d is decoded as %d", columns[j].Name, want, code)
			}
		}
	}
}

// float32 must not push the furthest rows that there are beyond the diameter: all pairs
// of codes of each kind of column, and with them rows that differ furthest everywhere.
// Rows are not much longer than half of it, which the slack of a sketch's sensitivity
// for float32 takes for granted: at √½ of it the slack is 1.4 times what it must be.
func TestFloatsKeepTheFurthestRowsWithinTheirDiameter(t *testing.T) {
	columns := kindsOfColumns()
	for _, c := range columns[:5] { // with and without missing values
		c.Missing = !c.Missing
		columns = append(columns, c)
	}
	m, err := newBySketch(settings(), columns)
	if err != nil {
		t.Fatal(err)
	}
	var furthest, longest float64
	for j, c := range columns {
		one := &bySketch{config: m.config, columns: columns[j : j+1], starts: []int{0}, dim: coordinates(c)}
		every := &table.Table{Columns: one.columns, Codes: make([][]table.Code, 1)}
		for code := range c.Levels() + 1 {
			every.Codes[0] = append(every.Codes[0], table.Code(code))
		}
		x := one.encode(every)
		var far, long float64
		for i := range x.Len() {
			for k := range i {
				far = max(far, squaredDistance(x.Row(i), x.Row(k)))
			}
			long = max(long, squaredDistance(x.Row(i), make([]float32, x.Dim)))
		}
		if !(far <= 1+1e-6 && long <= 0.5+1e-6) {
			t.Errorf("%s: values are up to %v apart and %v long, squared; stated is 1 and ½", c.Name, far, long)
		}
		furthest, longest = furthest+far, longest+long
	}
	if !(math.Sqrt(furthest) <= m.diameter() && math.Sqrt(furthest) >= 0.95*m.diameter() && math.Sqrt(longest) <= m.radius() && m.radius() <= m.diameter()/math.Sqrt2*(1+1e-6)) {
		t.Errorf("the furthest rows are %v apart, the longest %v long; stated is %v and %v", math.Sqrt(furthest), math.Sqrt(longest), m.diameter(), m.radius())
	}
}

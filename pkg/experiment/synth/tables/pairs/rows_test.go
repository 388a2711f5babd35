package pairs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy/noise"
)

// From counts without noise, rows come out that have the counts; what single columns
// have alone is at a distance of 0.3.
func TestRowsHaveTheTablesTheyWereFittedTo(t *testing.T) {
	l := lawLayout(t)
	n := 20_000
	rows := law(n, 1)
	truth, err := l.Of(rows)
	if err != nil {
		t.Fatal(err)
	}
	r := l.Repair(mustCount(t, l, rows), n, 0)
	var last float64
	model, err := Fit{Rows: 4000, Sweeps: 10, Polish: 3, Seed: 1, Each: func(_, _ int, d float64) error { last = d; return nil }}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{100, 4000, 30_000} {
		made, err := model.Sample(count, 3)
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Of(made)
		if err != nil {
			t.Fatal(err)
		}
		c := truth.Compare(found)
		// Samples of a law differ from it: 24 cells of 100 rows by about 0.2.
		limit := map[int]float64{100: 0.25, 4000: 0.02, 30_000: 0.02}[count]
		if len(made[0]) != count || !(Mean(c.Pairs) <= limit) {
			t.Errorf("%d rows asked, %d made, %v from the tables; want at most %v", count, len(made[0]), Mean(c.Pairs), limit)
		}
		if slices.Min(made[0]) == 0 {
			t.Error("a missing value was made where none can be")
		}
	}
	if !(last <= 0.02) {
		t.Errorf("the fit ends at a distance of %v", last)
	}
	// The column that follows another one still does, in nearly all rows.
	made, err := model.Sample(4000, 0)
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for i, a := range made[0] {
		if made[2][i] != 2*(a-1)+1 {
			broken++
		}
	}
	if broken > 40 {
		t.Errorf("%d of 4000 rows break what always holds", broken)
	}
}

// Columns that all say nearly the same: what the pairs add then adds up, and a fit
// that follows all of it leaves the law for good.
func TestColumnsThatRepeatEachOther(t *testing.T) {
	const columns, n = 14, 4000
	rng := rand.New(rand.NewPCG(3, 3))
	var of []Column
	for range columns {
		of = append(of, plain(8, 1))
	}
	l := mustLayout(t, of, -1, 1, 1)
	rows := make([][]uint16, columns)
	for range n {
		z := rng.IntN(8)
		for j := range rows {
			v := z
			if rng.Float64() < 0.3 {
				v = rng.IntN(8)
			}
			rows[j] = append(rows[j], uint16(v))
		}
	}
	r := l.Repair(mustCount(t, l, rows), n, 0)
	best := math.Inf(1)
	model, err := Fit{Rows: 2000, Sweeps: 20, Seed: 1, Each: func(_, _ int, d float64) error { best = min(best, d); return nil }}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	sought := model.distance(model.tally(model.Rows), 2000)
	made, err := model.Sample(6000, 3)
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Of(made)
	if err != nil {
		t.Fatal(err)
	}
	// Independent columns would be at 0.4; 64 cells of 2000 rows differ by 0.06 by chance.
	if d := Mean(r.Compare(found).Pairs); !(sought <= 0.15 && sought <= best && d <= 0.02) {
		t.Errorf("the fit ends at a distance of %v, a larger sample is at %v", sought, d)
	}
}

// The same release and seed give the same rows, another seed others.
func TestRowsDependOnTheReleaseAndTheSeedAlone(t *testing.T) {
	l := lawLayout(t)
	r := l.Repair(mustCount(t, l, law(3000, 1)), 3000, 0)
	fit := func(seed uint64) string {
		m, err := Fit{Rows: 5000, Sweeps: 3, Polish: 1, Seed: seed}.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Sample(6000, 1)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows)
	}
	first := fit(1)
	if first != fit(1) {
		t.Error("the same seed gave other rows")
	}
	if first == fit(2) {
		t.Error("another seed gave the same rows")
	}
}

func TestOneColumnIsEnough(t *testing.T) {
	l := mustLayout(t, []Column{plain(3, 1)}, -1, 1, 1)
	r := l.Repair(mustCount(t, l, [][]uint16{{0, 0, 1, 2}}), 4, 0)
	m, err := Fit{Rows: 1000, Sweeps: 3, Polish: 1, Seed: 1}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.Sample(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	zeros := 0
	for _, v := range rows[0] {
		if v == 0 {
			zeros++
		}
	}
	if zeros < 420 || zeros > 580 { // half, five standard deviations of 16
		t.Errorf("%d of 1000 rows have what half of the rows have", zeros)
	}
}

func TestAFitEndsWhenItIsTold(t *testing.T) {
	l := mustLayout(t, []Column{plain(2, 1), plain(2, 1)}, -1, 1, 1)
	r := l.Repair(make([]float64, l.Size), 10, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Fit{Rows: 10, Sweeps: 1}).Run(ctx, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := (Fit{Rows: 0, Sweeps: 1}).Run(t.Context(), r); err == nil {
		t.Error("a fit of no rows was made")
	}
	m, err := Fit{Rows: 10, Sweeps: 1}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Sample(0, 1); err == nil {
		t.Error("a sample of no rows was drawn")
	}
}

// Whatever was released, rows come out: noise of any size is no reason to stop.
func TestNoiseAloneGivesRows(t *testing.T) {
	l := lawLayout(t)
	for _, std := range []float64{1, 1e3, 1e9} {
		released := make([]float64, l.Size)
		if err := noise.Seeded(1).Release(released, released, std, 0, "test", 0); err != nil {
			t.Fatal(err)
		}
		m, err := Fit{Rows: 500, Sweeps: 2, Polish: 1, Seed: 1}.Run(t.Context(), l.Repair(released, 10, std))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Sample(500, 1)
		if err != nil || slices.Min(rows[1]) == 0 {
			t.Errorf("noise of %v gave impossible rows, or %v", std, err)
		}
	}
}

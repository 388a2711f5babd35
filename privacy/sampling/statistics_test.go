package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy/accountant"
)

func draws(t *testing.T, s Sampler, n, times int, each func(batch []int)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for range times {
		batch, err := s.Draw(n, rng)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range batch {
			if row < 0 || row >= n || slices.Contains(batch[:i], row) {
				t.Fatalf("%v of %d rows: row %d in %v", s, n, row, batch)
			}
		}
		each(batch)
	}
}

// law is what a sampler of n rows promises: how likely a row is drawn, and two
// different rows together.
type law struct {
	s    Sampler
	n    int
	one  func(i int) float64
	both func(i, j int) float64
}

func fixed(size, n int) law {
	s, m := float64(size), float64(n)
	return law{FixedSize{size}, n,
		func(int) float64 { return s / m },
		func(int, int) float64 { return s * (s - 1) / (m * (m - 1)) }}
}

func poisson(rate float64, n int) law {
	return law{Poisson{rate}, n, func(int) float64 { return rate }, func(int, int) float64 { return rate * rate }}
}

func byCategory(s Sampler, categories, sizes []int) law {
	of := make([]law, len(sizes))
	for c, size := range sizes {
		n := 0
		for _, category := range categories {
			if category == c {
				n++
			}
		}
		of[c] = fixed(size, n)
	}
	one := func(i int) float64 { return of[categories[i]].one(i) }
	return law{s, len(categories), one, func(i, j int) float64 {
		if categories[i] != categories[j] {
			return one(i) * one(j)
		}
		return of[categories[i]].both(i, j)
	}}
}

// faults draws 40,000 batches and says in which of three ways they break the
// law: rows at another rate, pairs of rows at another rate, or rows of a batch
// that depend on those of the batch before it (20,000 disjoint pairs of batches,
// every row of one against every row of the other).
//
// A fault is a single count more than 6 standard deviations and 4 off, or a
// Pearson statistic of all more than 6 standard deviations above its
// expectation (Wilson–Hilferty). Over seeds that is a false alarm in fewer than
// one of 10⁵ samplers: about 10³ counts, each with probability below 10⁻⁸.
func faults(t *testing.T, l law) (found []string) {
	t.Helper()
	const times = 40_000
	n := l.n
	single, pair, lag := make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	var before []int
	draws(t, l.s, n, times, func(batch []int) {
		for _, row := range batch {
			single[row]++
			for _, other := range batch {
				pair[row*n+other]++
			}
			for _, other := range before {
				lag[row*n+other]++
			}
		}
		if before == nil {
			before = append(make([]int, 0, n), batch...)
		} else {
			before = nil
		}
	})
	check := func(what string, counts []float64, times float64, p func(i int) float64) {
		var sum, k float64
		for i, count := range counts {
			if p(i) < 0 {
				continue
			}
			mean := times * p(i)
			std := math.Sqrt(mean * (1 - p(i)))
			if off := math.Abs(count - mean); off > 6*std+4 || (std == 0 && off > 1e-9) {
				found = append(found, fmt.Sprintf("%s %d came %v times, want %.0f ± %.0f", what, i, count, mean, std))
			}
			if std > 0 {
				sum, k = sum+(count-mean)*(count-mean)/(std*std), k+1
			}
		}
		// Counts of a fixed size add up to a constant, which makes the statistic
		// a little smaller; never larger.
		if z := (math.Cbrt(sum/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k)); k > 0 && z > 6 {
			found = append(found, fmt.Sprintf("%ss are %.1f standard deviations too uneven", what, z))
		}
	}
	check("row", single, times, l.one)
	check("pair", pair, times, func(i int) float64 {
		if i/n <= i%n {
			return -1 // each pair is checked once
		}
		return l.both(i/n, i%n)
	})
	check("successive pair", lag, times/2, func(i int) float64 { return l.one(i/n) * l.one(i%n) })
	return found
}

func TestSamplersKeepTheirLaws(t *testing.T) {
	s, categories := stratified(t)
	for _, l := range []law{
		poisson(0.01, 23), poisson(0.3, 23), poisson(0.95, 23), poisson(1, 5), poisson(0, 5),
		fixed(1, 23), fixed(7, 23), fixed(22, 23), fixed(5, 5),
		byCategory(s, categories, []int{2, 7, 0, 1}),
		{All{}, 6, func(int) float64 { return 1 }, func(int, int) float64 { return 1 }},
	} {
		for _, fault := range faults(t, l) {
			t.Errorf("%v of %d rows: %s", l.s, l.n, fault)
		}
	}
}

// broken is a sampler with a fault that its name tells.
type broken struct {
	name string
	draw func(n int, rng *rand.Rand) []int
}

func (b broken) String() string                                    { return b.name }
func (b broken) Draw(n int, rng *rand.Rand) ([]int, error)         { return b.draw(n, rng), nil }
func (broken) Event(_ int, base accountant.Event) accountant.Event { return base }

// The power of the tests above: samplers that are nearly right must fail.
func TestBrokenSamplersAreCaught(t *testing.T) {
	var pass []int // of the shuffled epochs
	s, categories := stratified(t)
	size7 := fixed(7, 23)
	for _, l := range []law{
		// one row a tenth too rarely
		{broken{"avoids row 0", func(n int, rng *rand.Rand) []int {
			batch, _ := FixedSize{7}.Draw(n, rng)
			if slices.Contains(batch, 0) && rng.IntN(10) == 0 {
				batch, _ = FixedSize{7}.Draw(n, rng)
			}
			return batch
		}}, 23, size7.one, size7.both},
		// every row at its rate, neighbours always together
		{broken{"runs", func(n int, rng *rand.Rand) []int {
			batch, from := make([]int, 7), rng.IntN(n)
			for i := range batch {
				batch[i] = (from + i) % n
			}
			return batch
		}}, 23, size7.one, size7.both},
		// every batch alone is right; together they are one shuffled pass
		{broken{"epochs", func(n int, rng *rand.Rand) []int {
			if len(pass) < 7 {
				pass = rng.Perm(n)
			}
			batch := pass[:7]
			pass = pass[7:]
			return batch
		}}, 23, size7.one, size7.both},
		// a fixed size that is taken for Poisson, and the reverse
		{FixedSize{7}, 23, poisson(7./23, 23).one, poisson(7./23, 23).both},
		{Poisson{7. / 23}, 23, size7.one, size7.both},
		// the right number of rows from any category
		byCategory(FixedSize{10}, categories, []int{2, 7, 0, 1}),
		// the right number of each category, drawn from two of them together
		byCategory(broken{"tied categories", func(n int, rng *rand.Rand) []int {
			batch, _ := s.Draw(n, rng)
			if zero, one := slices.Contains(batch, 0), slices.Contains(batch, 1); zero != one && rng.IntN(4) == 0 {
				batch, _ = s.Draw(n, rng)
			}
			return batch
		}}, categories, []int{2, 7, 0, 1}),
	} {
		found := faults(t, l)
		if len(found) == 0 {
			t.Errorf("%v passed for what it is not", l.s)
			continue
		}
		t.Logf("%v: %d faults, such as: %s", l.s, len(found), found[len(found)-1])
	}
}

// How many of a batch lie in a given set of rows is hypergeometric: C(k, x)·
// C(n−k, s−x)/C(n, s). A bin more than 6 standard deviations and 6 off is a
// false alarm with probability below 10⁻⁸.
func TestFixedSizesAreHypergeometric(t *testing.T) {
	const times = 40_000
	choose := func(n, k int) float64 {
		c := 1.
		for i := range k {
			c *= float64(n-i) / float64(i+1)
		}
		return c
	}
	s, categories := stratified(t)
	eleven := func(row int) bool { return categories[row] == 1 && row < 9 } // 5 of the 11 rows of category 1
	for _, c := range []struct {
		s                   Sampler
		n                   int
		marked              func(row int) bool
		population, k, size int
		fails               bool
	}{
		{FixedSize{7}, 23, func(row int) bool { return row%3 == 0 }, 23, 8, 7, false},
		{s, 20, eleven, 11, 5, 7, false},
		{Poisson{7. / 23}, 23, func(row int) bool { return row%3 == 0 }, 23, 8, 7, true},
		{FixedSize{10}, 20, eleven, 11, 5, 7, true},
	} {
		counts := make([]float64, c.n+1)
		draws(t, c.s, c.n, times, func(batch []int) {
			x := 0
			for _, row := range batch {
				if c.marked(row) {
					x++
				}
			}
			counts[x]++
		})
		wrong := 0
		for x, count := range counts {
			p := 0.
			if x <= c.k && c.size-x >= 0 && c.size-x <= c.population-c.k {
				p = choose(c.k, x) * choose(c.population-c.k, c.size-x) / choose(c.population, c.size)
			}
			if math.Abs(count-times*p) > 6*math.Sqrt(times*p)+6 {
				wrong++
			}
		}
		if (wrong > 0) != c.fails {
			t.Errorf("%v: %d sizes at another rate than the hypergeometric one (%v)", c.s, wrong, counts)
		}
	}
}

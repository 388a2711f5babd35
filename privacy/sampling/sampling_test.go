package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy/accountant"
)

// excess is the number of standard deviations by which Pearson's statistic of
// counts, each with mean and variance as given, exceeds its expectation. All
// bounds of 6 below have a false-alarm rate under 10⁻⁶ per comparison, over
// seeds (Wilson–Hilferty for the statistic, normal for single counts).
func excess(counts []float64, mean, variance float64) float64 {
	var sum float64
	for _, c := range counts {
		sum += (c - mean) * (c - mean) / variance
	}
	k := float64(len(counts))
	return (math.Cbrt(sum/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

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

func TestRowsArePickedAtTheirRate(t *testing.T) {
	const n, times = 23, 40000
	for _, c := range []struct {
		s          Sampler
		rate, both float64 // probability of one row, and of two given rows
	}{
		{Poisson{0.01}, 0.01, 0.0001},
		{Poisson{0.3}, 0.3, 0.09},
		{Poisson{0.95}, 0.95, 0.9025},
		{FixedSize{1}, 1. / n, 0},
		{FixedSize{7}, 7. / n, 7. * 6 / (n * (n - 1))},
		{FixedSize{22}, 22. / n, 22. * 21 / (n * (n - 1))},
	} {
		single, pair := make([]float64, n), make([]float64, n*(n-1)/2)
		draws(t, c.s, n, times, func(batch []int) {
			batch = slices.Sorted(slices.Values(batch))
			for i, row := range batch {
				single[row]++
				for _, other := range batch[:i] {
					pair[row*(row-1)/2+other]++
				}
			}
		})
		for _, test := range []struct {
			what   string
			counts []float64
			p      float64
		}{{"rows", single, c.rate}, {"pairs", pair, c.both}} {
			if test.p == 0 {
				if slices.Max(test.counts) > 0 {
					t.Errorf("%v: impossible %s", c.s, test.what)
				}
				continue
			}
			mean, variance := times*test.p, times*test.p*(1-test.p)
			for i, count := range test.counts {
				if math.Abs(count-mean) > 6*math.Sqrt(variance)+1 {
					t.Errorf("%v: %s %d picked %v times, want %.0f", c.s, test.what, i, count, mean)
				}
			}
			// Counts of a fixed size add up to a constant, which makes the statistic
			// a little smaller; never larger.
			if z := excess(test.counts, mean, variance); z > 6 {
				t.Errorf("%v: %s are %.1f standard deviations too uneven", c.s, test.what, z)
			}
		}
	}
}

func TestPoissonBatchSizesAreBinomial(t *testing.T) {
	const n, times = 10, 50000
	const rate = 0.05
	sizes := make([]float64, n+1)
	draws(t, Poisson{rate}, n, times, func(batch []int) {
		sizes[len(batch)]++
		if !slices.IsSorted(batch) {
			t.Fatalf("batch %v is not in order", batch)
		}
	})
	choose := 1.
	for k := range sizes {
		p := choose * math.Pow(rate, float64(k)) * math.Pow(1-rate, float64(n-k))
		if math.Abs(sizes[k]-times*p) > 6*math.Sqrt(times*p)+6 {
			t.Errorf("%v batches of %d, want %.1f", sizes[k], k, times*p)
		}
		choose *= float64(n-k) / float64(k+1)
	}
	if sizes[0] == 0 {
		t.Error("no empty batch")
	}
}

func TestFixedSizeOrderIsUniform(t *testing.T) {
	const n, size, times = 5, 3, 60000
	orders := map[[size]int]float64{}
	draws(t, FixedSize{size}, n, times, func(batch []int) { orders[[size]int(batch)]++ })
	if len(orders) != 5*4*3 {
		t.Fatalf("%d arrangements, want 60", len(orders))
	}
	for order, count := range orders {
		if math.Abs(count-times/60) > 6*math.Sqrt(times/60) {
			t.Errorf("%v came %v times, want %d", order, count, times/60)
		}
	}
}

func TestLargePopulations(t *testing.T) {
	const n = 1 << 40 // no memory in proportion to n
	rng := rand.New(rand.NewPCG(3, 4))
	batch, err := Poisson{1e-9}.Draw(n, rng)
	if mean := 1e-9 * n; err != nil || math.Abs(float64(len(batch))-mean) > 6*math.Sqrt(mean) {
		t.Errorf("%d rows, %v; want about %.0f", len(batch), err, mean)
	}
	if batch, err = (FixedSize{1000}).Draw(n, rng); err != nil || len(batch) != 1000 || slices.Max(batch) < n/2 {
		t.Errorf("%d rows, %v", len(batch), err)
	}
	// A rate too small for any row: skips beyond every integer.
	if batch, err = (Poisson{1e-300}).Draw(math.MaxInt, rng); err != nil || len(batch) != 0 {
		t.Errorf("%v, %v", batch, err)
	}
}

func TestEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		s    Sampler
		n    int
		want int // size, or −1 for an error
	}{
		{Poisson{0}, 10, 0}, {Poisson{1}, 10, 10}, {Poisson{0.5}, 0, 0}, {FixedSize{0}, 10, 0}, {FixedSize{10}, 10, 10}, {FixedSize{0}, 0, 0}, {All{}, 4, 4},
		{Poisson{-0.1}, 10, -1}, {Poisson{1.1}, 10, -1}, {Poisson{math.NaN()}, 10, -1}, {Poisson{0.1}, -1, -1},
		{FixedSize{11}, 10, -1}, {FixedSize{-1}, 10, -1}, {FixedSize{1}, -1, -1}, {All{}, -1, -1},
	} {
		batch, err := c.s.Draw(c.n, rng)
		if (err != nil) != (c.want < 0) || (err == nil && len(batch) != c.want) {
			t.Errorf("%v of %d rows: %v, %v; want size %d", c.s, c.n, batch, err, c.want)
		}
	}
}

func TestSamplersNameTheirEvents(t *testing.T) {
	base := accountant.Gaussian{NoiseMultiplier: 2}
	for s, want := range map[Sampler]accountant.Event{
		Poisson{0.1}:  accountant.PoissonSampled{Rate: 0.1, Event: base},
		FixedSize{10}: accountant.FixedSizeSampled{Size: 10, Population: 100, Event: base},
		All{}:         base,
	} {
		if got := s.Event(100, base); got != want {
			t.Errorf("%v: %v, want %v", s, got, want)
		}
	}
	if accountant.Validate(FixedSize{10}.Event(5, base)) == nil {
		t.Error("10 of 5: the event is valid")
	}
}

func BenchmarkDraw(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, s := range []Sampler{Poisson{250. / 30000}, FixedSize{250}} {
		b.Run(s.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Draw(30000, rng); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

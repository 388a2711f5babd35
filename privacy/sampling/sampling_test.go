package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/privacy/accountant"
)

// Below, a count more than 6 standard deviations off is a false alarm with
// probability under 10⁻⁸, over seeds.

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
		if !(math.Abs(sizes[k]-times*p) <= 6*math.Sqrt(times*p)+6) {
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
		if !(math.Abs(count-times/60) <= 6*math.Sqrt(times/60)) {
			t.Errorf("%v came %v times, want %d", order, count, times/60)
		}
	}
}

func TestLargePopulations(t *testing.T) {
	const n = 1 << 40 // no memory in proportion to n
	rng := rand.New(rand.NewPCG(3, 4))
	batch, err := Poisson{1e-9}.Draw(n, rng)
	if mean := 1e-9 * n; err != nil || !(math.Abs(float64(len(batch))-mean) <= 6*math.Sqrt(mean)) {
		t.Errorf("%d rows, %v; want about %.0f", len(batch), err, mean)
	}
	if batch, err = (FixedSize{1000}).Draw(n, rng); err != nil || len(batch) != 1000 || slices.Max(batch) < n/2 {
		t.Errorf("%d rows, %v", len(batch), err)
	}
	if batch, err = (Poisson{1e-9}).Draw(2, rng); err != nil || len(batch) != 0 {
		t.Errorf("%v, %v", batch, err)
	}
	for _, s := range []Sampler{Poisson{2}, Poisson{-0.1}, Poisson{math.NaN()}, FixedSize{-1}} {
		if Check(s) == nil {
			t.Errorf("%v is taken for a sampler", s)
		}
	}
	for _, s := range []Sampler{Poisson{0}, Poisson{1}, FixedSize{0}, All{}} {
		if err := Check(s); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
	// Rates too small for the generator's digits: a row would come more often.
	for _, rate := range []float64{1e-300, 1e-16, 9.9e-10} {
		if batch, err = (Poisson{rate}).Draw(math.MaxInt, rng); err == nil || Check(Poisson{rate}) == nil {
			t.Errorf("rate %g draws %v", rate, batch)
		}
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

package dataset

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// sums are the moments of pairs of values.
type sums struct{ n, x, y, xx, yy, xy float64 }

func (s *sums) add(x, y float64) {
	s.n, s.x, s.y, s.xx, s.yy, s.xy = s.n+1, s.x+x, s.y+y, s.xx+x*x, s.yy+y*y, s.xy+x*y
}

func (s sums) correlation() float64 {
	covariance := func(xy, x, y float64) float64 { return xy/s.n - x/s.n*y/s.n }
	return covariance(s.xy, s.x, s.y) / math.Sqrt(covariance(s.xx, s.x, s.x)*covariance(s.yy, s.y, s.y))
}

// Frequencies of 30,000 records against their exact values. Bounds are five standard
// errors of a frequency, exceeded by chance with probability 6e-7 each; a p that is
// wrong by 0.02, or a triangle that is shifted by as much, lies beyond them.
func TestBiasedHasItsLaw(t *testing.T) {
	b := PublishedBiased()
	s := b.Generate(1)
	n := float64(b.Records)
	type event struct {
		probability float64
		holds       func(i int) bool
	}
	u := func(i int) float64 { return float64(s.YC[2*i]) }
	v := func(i int) float64 { return float64(s.YC[2*i+1]) }
	for name, e := range map[string]event{
		"Y = 1":                 {0.5, func(i int) bool { return s.Y[i] == 1 }},
		"A = Y":                 {0.7, func(i int) bool { return s.A[i] == s.Y[i] }},
		"A = 1, Y = 0":          {0.15, func(i int) bool { return s.A[i] == 1 && s.Y[i] == 0 }},
		"A = 0, Y = 1":          {0.15, func(i int) bool { return s.A[i] == 0 && s.Y[i] == 1 }},
		"A = Y, first below ¼":  {0.7 / 4, func(i int) bool { return s.A[i] == s.Y[i] && u(i) < 0.25 }},
		"second below ¼":        {0.25, func(i int) bool { return v(i) < 0.25 }},
		"both below ½":          {0.25, func(i int) bool { return u(i) < 0.5 && v(i) < 0.5 }},
		"sum below ½":           {0.125, func(i int) bool { return u(i)+v(i) < 0.5 }},
		"A = 0, sum below ½":    {0.7 / 8, func(i int) bool { return s.A[i] == 0 && u(i)+v(i) < 0.5 }},
		"A = 0, sum above 1½":   {0.3 / 8, func(i int) bool { return s.A[i] == 0 && u(i)+v(i) > 1.5 }},
		"Y = 1 below its line":  {0, func(i int) bool { return s.Y[i] == 1 && u(i)+v(i) < 1-1e-6 }},
		"Y = 0 above its line":  {0, func(i int) bool { return s.Y[i] == 0 && u(i)+v(i) > 1+1e-6 }},
		"outside the square":    {0, func(i int) bool { return min(u(i), v(i)) < 0 || max(u(i), v(i)) > 1 }},
		"neither label nor not": {0, func(i int) bool { return s.A[i]|1 != 1 || s.Y[i]|1 != 1 }},
	} {
		count := 0.0
		for i := range b.Records {
			if e.holds(i) {
				count++
			}
		}
		if p := e.probability; !(math.Abs(count/n-p) <= 5*math.Sqrt(p*(1-p)/n)) {
			t.Errorf("%s in %v of records, want %v", name, count/n, p)
		}
	}
}

// Features against what they are noisy copies of. Var U(0, 1) = 1/12 and
// Var A = 1/4, so a core feature has correlation √(1/12 / (1/12 + 1/5)) = 0.542 with
// its half of the response and a spurious one √(1/4 / (1/4 + 2/5)) = 0.620 with A.
// Standard errors are below 1/√n = 0.006; five of them are exceeded by chance with
// probability below 6e-7 each, 300 times in all.
func TestBiasedFeaturesFollowTheirOrigins(t *testing.T) {
	b := PublishedBiased()
	s := b.Generate(1)
	dim := b.Dim()
	if len(s.X) != b.Records*dim || len(s.YC) != 2*b.Records || len(s.A) != b.Records || len(s.Y) != b.Records {
		t.Fatalf("%d features, %d responses, %d attributes, %d labels", len(s.X), len(s.YC), len(s.A), len(s.Y))
	}
	const tolerance = 5 * 0.0058
	origin := func(i, j int) float64 {
		if j < b.Core {
			return float64(s.YC[2*i+j%2])
		}
		return float64(s.A[i])
	}
	noise := make([]sums, dim*dim)
	row := make([]float64, dim)
	for j := range dim {
		var own, other sums
		for i := range b.Records {
			x := float64(s.X[i*dim+j])
			own.add(x, origin(i, j))
			other.add(x, float64(s.YC[2*i+(j+1)%2]))
		}
		want := math.Sqrt(1. / 12 / (1./12 + b.CoreVariance))
		if j >= b.Core {
			want = math.Sqrt(1. / 4 / (1./4 + b.SpuriousVariance))
		}
		if got := own.correlation(); !(math.Abs(got-want) <= tolerance) {
			t.Errorf("feature %d has correlation %v with its origin, want %v", j, got, want)
		}
		if got := other.correlation(); j < b.Core && !(math.Abs(got) <= tolerance) {
			t.Errorf("feature %d has correlation %v with the other half of the response, want 0", j, got)
		}
	}
	for i := range b.Records {
		for j := range dim {
			row[j] = float64(s.X[i*dim+j]) - origin(i, j)
		}
		for j := range dim {
			for k := range j {
				noise[j*dim+k].add(row[j], row[k])
			}
			noise[j*dim+j].add(row[j], row[j])
		}
	}
	for j := range dim {
		variance := b.CoreVariance
		if j >= b.Core {
			variance = b.SpuriousVariance
		}
		own := noise[j*dim+j]
		if got := own.x / own.n; !(math.Abs(got) <= tolerance*math.Sqrt(variance)) {
			t.Errorf("noise of feature %d has mean %v, want 0", j, got)
		}
		if got := own.xx / own.n; !(math.Abs(got-variance) <= tolerance*variance*math.Sqrt2) {
			t.Errorf("noise of feature %d has variance %v, want %v", j, got, variance)
		}
		for k := range j {
			if got := noise[j*dim+k].correlation(); !(math.Abs(got) <= tolerance) {
				t.Errorf("noise of features %d and %d has correlation %v, want 0", j, k, got)
			}
		}
	}
}

func TestBiasedFollowsItsSeed(t *testing.T) {
	few, more := PublishedBiased(), PublishedBiased()
	few.Records, more.Records = 10, 100
	a, b := few.Generate(1), more.Generate(1)
	if !slices.Equal(a.X, b.X[:160]) || !slices.Equal(a.A, b.A[:10]) || !slices.Equal(a.Y, b.Y[:10]) || !slices.Equal(a.YC, b.YC[:20]) {
		t.Error("10 records are not the first of 100")
	}
	if slices.Equal(a.X, few.Generate(2).X) || slices.Equal(a.X, few.Holdout(1).X) {
		t.Error("other sets or seeds give the same records")
	}
	// Drawn once: a change moves every recorded run.
	few.Records = 4
	a = few.Generate(1)
	if !slices.Equal(a.A, []int{1, 1, 0, 1}) || !slices.Equal(a.Y, []int{1, 1, 0, 0}) ||
		!slices.Equal(a.YC[6:], []float32{0.20773642, 0.10275213}) || !slices.Equal(a.X[62:], []float32{0.8143942, 0.91330636}) {
		t.Errorf("seed 1 gives other records than it did: A %v, Y %v, the last response %v, features %v", a.A, a.Y, a.YC[6:], a.X[62:])
	}
	splits, err := Load(context.Background(), "biased", Options{N: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(splits.Train.X, a.X) || !slices.Equal(splits.Train.Labels, a.Y) || splits.Train.Width != 16 {
		t.Error("the source has other rows than the generator")
	}
}

// At the ends of what is allowed the law is known record by record.
func TestBiasedAtItsLimits(t *testing.T) {
	b := Biased{Records: 200, Probability: 1, Core: 4, Spurious: 1}
	s := b.Generate(5)
	for i, y := range s.Y {
		u, v := s.YC[2*i], s.YC[2*i+1]
		if want := []float32{u, v, u, v, float32(y)}; s.A[i] != y || !slices.Equal(s.X[5*i:5*i+5], want) {
			t.Fatalf("record %d: A = %d, Y = %d, features %v, want %v without noise", i, s.A[i], y, s.X[5*i:5*i+5], want)
		}
	}
	b.Probability = 0
	s = b.Generate(5)
	for i, y := range s.Y {
		if s.A[i] == y {
			t.Fatalf("record %d has A = Y although p = 0", i)
		}
	}
}

func TestBiasedRefusesBadValues(t *testing.T) {
	if err := PublishedBiased().Check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Biased){
		"Records from 1":      func(b *Biased) { b.Records = 0 },
		"to 1000000":          func(b *Biased) { b.Records = 2_000_000_000 },
		"Probability":         func(b *Biased) { b.Probability = math.NaN() },
		"found 1.5":           func(b *Biased) { b.Probability = 1.5 },
		"Core even":           func(b *Biased) { b.Core = 7 },
		"found -2":            func(b *Biased) { b.Core = -2 },
		"Spurious from 0":     func(b *Biased) { b.Spurious = -1 },
		"above 0":             func(b *Biased) { b.Core, b.Spurious = 0, 0 },
		"CoreVariance":        func(b *Biased) { b.CoreVariance = -1 },
		"SpuriousVariance":    func(b *Biased) { b.SpuriousVariance = math.Inf(1) },
		"CoreVariance finite": func(b *Biased) { b.CoreVariance = math.NaN() },
	} {
		b := PublishedBiased()
		spoil(&b)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
		if s := b.Generate(1); s.X != nil || s.A != nil {
			t.Errorf("%+v gives %d records", b, len(s.A))
		}
	}
}

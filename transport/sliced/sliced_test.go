package sliced

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

func gaussian(rng *rand.Rand, n, dim int) transport.Points {
	p := transport.NewPoints(n, dim)
	for i := range p.Data {
		p.Data[i] = float32(rng.NormFloat64())
	}
	return p
}

func TestOrthonormalStacksAreTightFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ dim, stacks int }{{1, 3}, {2, 1}, {8, 9}, {64, 2}} {
		u := Orthonormal(c.dim, c.stacks, rng)
		if u.Count != c.dim*c.stacks {
			t.Fatalf("%v: %d directions", c, u.Count)
		}
		want := math.Sqrt(float64(c.stacks))
		if got := u.SpectralNorm(); !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%v: σ_max = %v, want √stacks = %v", c, got, want)
		}
		for range 20 { // ‖vU‖² = stacks·‖v‖² for every v
			v := gaussian(rng, 1, c.dim)
			var projected, norm float64
			for j := range u.Count {
				p := inner(v.Row(0), u.Row(j))
				projected += p * p
			}
			norm = inner(v.Row(0), v.Row(0))
			if !(math.Abs(projected/norm-float64(c.stacks)) <= 1e-4) {
				t.Errorf("%v: ‖vU‖²/‖v‖² = %v, want %d", c, projected/norm, c.stacks)
			}
		}
	}
}

func inner(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// Each direction, stacked or not, is uniform on the sphere. In R³ a coordinate
// of a uniform direction is uniform on [−1, 1] (Archimedes). Kolmogorov–Smirnov
// at 20,000 draws: false alarms 10⁻⁶ per case at D·√n > 2.7. Only one direction
// of each stack is tested, since those of a stack are not independent.
func TestDirectionsAreUniform(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(2, 2))
	for name, draw := range map[string]func() Directions{
		"uniform":            func() Directions { return Uniform(3, 1, rng) },
		"orthonormal, first": func() Directions { return Orthonormal(3, 1, rng).Slice(0, 1) },
		"orthonormal, last":  func() Directions { return Orthonormal(3, 1, rng).Slice(2, 3) },
	} {
		for c := range 3 {
			values := make([]float32, n)
			for i := range values {
				values[i] = draw().Row(0)[c]
			}
			slices.Sort(values)
			var d float64
			for i, v := range values {
				u := (float64(v) + 1) / 2
				d = max(d, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
			}
			if !(d*math.Sqrt(n) <= 2.7) {
				t.Errorf("%s, coordinate %d: KS statistic %.2f", name, c, d*math.Sqrt(n))
			}
		}
	}
}

func TestSpectralNormIsAttainedAndNeverPassed(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for _, dim := range []int{1, 2, 8, 30} {
		u := Uniform(dim, 70, rng)
		bound := u.SpectralNorm()
		stretch := func(v []float32) float64 {
			var sum float64
			for j := range u.Count {
				p := inner(v, u.Row(j))
				sum += p * p
			}
			return math.Sqrt(sum / inner(v, v))
		}
		v := gaussian(rng, 1, dim).Row(0)
		for range 2000 { // power iteration finds the top singular vector
			next := make([]float32, dim)
			for j := range u.Count {
				along := inner(v, u.Row(j))
				for c := range next {
					next[c] += float32(along) * u.Row(j)[c]
				}
			}
			norm := float32(math.Sqrt(inner(next, next)))
			for c := range next {
				v[c] = next[c] / norm
			}
		}
		if got := stretch(v); !(got <= bound*(1+1e-5) && got >= bound*0.999) {
			t.Errorf("dim %d: power iteration stretches by %v, SpectralNorm says %v", dim, got, bound)
		}
	}
}

func TestSW2OfATranslation(t *testing.T) {
	// Known answer: W₂ of a translate by v along θ is |⟨v, θ⟩|, and over
	// orthonormal bases the mean of ⟨v, θ⟩² is ‖v‖²/d exactly.
	rng := rand.New(rand.NewPCG(4, 2))
	const dim = 5
	x := gaussian(rng, 400, dim)
	y := x.Clone()
	v := []float32{1, -2, 0.5, 0, 3}
	for i := range y.Len() {
		for c := range v {
			y.Row(i)[c] += v[c]
		}
	}
	d, err := SW2(x, y, Orthonormal(dim, 10, rng))
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(inner(v, v) / dim); !(math.Abs(d.Value-want) <= 1e-4) {
		t.Errorf("SW₂ of a translation = %v, want ‖v‖/√d = %v", d.Value, want)
	}
	free, err := SW2(x, y, Uniform(dim, 2000, rng))
	if err != nil {
		t.Fatal(err)
	}
	// Five standard errors: false alarm below 10⁻⁶.
	if want := math.Sqrt(inner(v, v) / dim); !(math.Abs(free.Value-want) <= 5*free.StandardError) || free.StandardError == 0 {
		t.Errorf("SW₂ by independent directions = %v ± %v, want %v", free.Value, free.StandardError, want)
	}
}

func TestSW2Laws(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	x, y, z := gaussian(rng, 100, 3), gaussian(rng, 150, 3), gaussian(rng, 70, 3)
	for i := range z.Data {
		z.Data[i] *= 2
	}
	u := Uniform(3, 40, rng)
	distance := func(a, b transport.Points) float64 {
		d, err := SW2(a, b, u)
		if err != nil {
			t.Fatal(err)
		}
		return d.Value
	}
	if d := distance(x, x); d != 0 {
		t.Errorf("SW₂(x, x) = %v", d)
	}
	if a, b := distance(x, y), distance(y, x); !(math.Abs(a-b) <= 1e-6) {
		t.Errorf("not symmetric: %v, %v", a, b)
	}
	if xy, xz, zy := distance(x, y), distance(x, z), distance(z, y); !(xy <= xz+zy) {
		t.Errorf("triangle: %v > %v + %v", xy, xz, zy)
	}
	permuted := x.Subset(rng.Perm(x.Len()))
	if a, b := distance(x, y), distance(permuted, y); a != b {
		t.Errorf("depends on the order of points: %v, %v", a, b)
	}
	doubled := func(p transport.Points) transport.Points {
		p = p.Clone()
		for i := range p.Data {
			p.Data[i] *= 2
		}
		return p
	}
	if a, b := distance(doubled(x), doubled(y)), 2*distance(x, y); !(math.Abs(a-b) <= 1e-5) {
		t.Errorf("scaling by two: %v, want %v", a, b)
	}
}

func TestResultsDoNotDependOnCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	x, y, u := gaussian(rng, 3000, 8), gaussian(rng, 2000, 8), Orthonormal(8, 4, rng)
	many, err := SW2(x, y, u)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, err := SW2(x, y, u)
	if err != nil || one != many {
		t.Errorf("one core: %v (%v), all cores: %v", one, err, many)
	}
}

func TestProjectionOfEightEqualsTheGeneralOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	x, u := gaussian(rng, 50, 8), Uniform(8, 3, rng)
	table, err := Project(x, u)
	if err != nil {
		t.Fatal(err)
	}
	for j, row := range table {
		for i, got := range row {
			if want := inner(x.Row(i), u.Row(j)); !(math.Abs(float64(got)-want) <= 1e-5) {
				t.Fatalf("⟨x_%d, θ_%d⟩ = %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestIsotonicIsTheNearestAscendingSequence(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{1, 2, 3}, []float64{1, 2, 3}},
		{[]float64{3, 2, 1}, []float64{2, 2, 2}},
		{[]float64{1, 3, 2, 4}, []float64{1, 2.5, 2.5, 4}},
		{[]float64{5}, []float64{5}},
		{nil, nil},
	} {
		if got := Isotonic(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Isotonic(%v) = %v, want %v", c.in, got, c.want)
		}
	}
	// No ascending perturbation comes nearer.
	rng := rand.New(rand.NewPCG(8, 2))
	in := make([]float64, 30)
	for i := range in {
		in[i] = float64(i)/10 + rng.NormFloat64()
	}
	fitted := Isotonic(in)
	if !slices.IsSorted(fitted) {
		t.Fatalf("not ascending: %v", fitted)
	}
	distance := func(v []float64) (sum float64) {
		for i := range v {
			sum += (v[i] - in[i]) * (v[i] - in[i])
		}
		return sum
	}
	for range 2000 {
		other := slices.Clone(fitted)
		for i := range other {
			other[i] += 0.05 * rng.NormFloat64()
		}
		slices.Sort(other)
		if !(distance(other) >= distance(fitted)-1e-12) {
			t.Fatalf("an ascending sequence is nearer: %v < %v", distance(other), distance(fitted))
		}
	}
}

func TestBadInputIsAnError(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	x := gaussian(rng, 10, 3)
	bad := x.Clone()
	bad.Data[4] = float32(math.NaN())
	u := Uniform(3, 4, rng)
	_, nan := SW2(bad, x, u)
	_, dim := SW2(x, x, Uniform(2, 4, rng))
	_, none := SW2(x, x, Directions{Dim: 3})
	_, empty := SW2(x, transport.Points{Dim: 3}, u)
	_, bins := NewSketch(x, u, 11)
	_, memory := Project(x, Directions{Dim: 3, Count: 1 << 40})
	for want, err := range map[string]error{
		"point 1 has NaN": nan, "dimension 2": dim, "no directions": none, "no points": empty,
		"choose 1 to 10 bins": bins, "use at most": memory,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

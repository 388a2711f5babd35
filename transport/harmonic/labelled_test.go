package harmonic

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"molehill/transport"
	"molehill/transport/sliced"
)

func labelled(t *testing.T, x transport.Points, labels []int, classes int, b *Basis) *Labelled {
	t.Helper()
	s, err := NewLabelled(x, labels, classes, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An attack on the sensitivity: records and labels are replaced, at random and at
// every angle, by wild labels too. None moves the sketch further than the bound,
// and the worst come within a thousandth of it, with the label replaced and
// without.
func TestLabelledSensitivityIsNeverExceededAndReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 31))
	for _, c := range []struct{ dim, degree, classes, n int }{{2, 5, 2, 1}, {3, 4, 3, 7}, {8, 3, 10, 12}, {48, 1, 2, 3}} {
		bound, err := LabelledSensitivity(c.dim, c.degree, c.classes, c.n)
		if err != nil {
			t.Fatal(err)
		}
		b := basis(t, c.dim, c.degree)
		x, labels := sphere(rng, c.n, c.dim), make([]int, c.n)
		for i := range labels {
			labels[i] = rng.IntN(c.classes)
		}
		var worst [2]float64 // with the same label, and another
		try := func(from, to []float32, label, other int) {
			copy(x.Row(0), from)
			labels[0] = label
			before := labelled(t, x, labels, c.classes, b).Means
			copy(x.Row(0), to)
			labels[0] = other
			kind := 0
			if other != label {
				kind = 1
			}
			worst[kind] = max(worst[kind], floats.Distance(before, labelled(t, x, labels, c.classes, b).Means, 2)/bound.Value)
		}
		pair := transport.NewPoints(2, c.dim)
		for i := range 41 { // every angle, and the worst
			sin, cos := math.Sincos(math.Pi * float64(i) / 39)
			if i == 40 {
				_, cos = newKernel(c.dim, LabelledWeights(c.dim, c.degree)[1:]).lowest()
				sin = math.Sqrt(1 - cos*cos)
			}
			pair.Row(0)[0], pair.Row(1)[0], pair.Row(1)[1] = 1, float32(cos), float32(sin)
			label := rng.IntN(c.classes)
			try(pair.Row(0), pair.Row(1), label, label)
			try(pair.Row(0), pair.Row(1), label, (label+1)%c.classes)
		}
		for range 30 {
			pair := sphere(rng, 2, c.dim)
			try(pair.Row(0), pair.Row(1), rng.IntN(c.classes), rng.IntN(c.classes))
			try(pair.Row(0), pair.Row(1), rng.IntN(c.classes), []int{-1, c.classes, math.MinInt, math.MaxInt}[rng.IntN(4)])
		}
		for kind, reached := range worst {
			if !(reached <= 1 && reached > 0.998) {
				t.Errorf("%+v, labels replaced: %v: the worst neighbours move the sketch by %v of its sensitivity", c, kind == 1, reached)
			}
		}
	}
}

// Without noise, frequencies and the moments of every class on every direction are
// those of its points, and a class that never occurs gets the density of all.
func TestDensitiesHaveTheMomentsOfTheirClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 31))
	const dim, degree, n, classes = 4, 3, 60, 4 // class 3 never occurs
	x, labels := sphere(rng, n, dim), make([]int, n)
	for i := range labels {
		labels[i] = min(2, rng.IntN(5))
	}
	s := labelled(t, x, labels, classes, basis(t, dim, degree))
	if len(s.Means) != LabelledSize(dim, degree, classes) {
		t.Errorf("%d numbers, want %d", len(s.Means), LabelledSize(dim, degree, classes))
	}
	frequencies, densities := s.Densities(0)
	for class := range classes {
		var members []int
		for i, label := range labels {
			if label == class {
				members = append(members, i)
			}
		}
		near(t, "frequency", frequencies[class], float64(len(members))/n, 1e-12)
		if len(members) == 0 {
			for i := range n {
				members = append(members, i)
			}
		}
		u := sliced.Uniform(dim, 5, rng)
		theta, row, p, c := make([]float64, dim), make([]float64, dim), make([]float64, degree+1), make([]float64, degree)
		for j := range u.Count {
			unit(theta, u.Row(j))
			densities[class].moments(c, s.Basis.values().at(theta))
			for l := 1; l <= degree; l++ {
				var want float64
				for _, i := range members {
					unit(row, x.Row(i))
					zonal(p, dim, dot(row, theta))
					want += p[l] / float64(len(members))
				}
				near(t, "moment", c[l-1], want, 1e-8)
			}
		}
	}
}

// noisy adds normal noise to the sketch of points at one place of the sphere.
func noisy(t *testing.T, rng *rand.Rand, b *Basis, labels []int, classes int, std float64) *Labelled {
	x := transport.NewPoints(len(labels), b.Dim)
	for i := range labels {
		x.Row(i)[0] = 1
	}
	s := labelled(t, x, labels, classes, b)
	for i := range s.Means {
		s.Means[i] += std * rng.NormFloat64()
	}
	return s
}

// Classes that are all at one place differ by noise only, which is shrunk away,
// however unequal they are.
func TestDensitiesShrinkNoise(t *testing.T) {
	const dim, degree, classes, std, draws = 8, 3, 5, 0.01, 40
	b, rng := basis(t, dim, degree), rand.New(rand.NewPCG(13, 31))
	equal, unequal := make([]int, 1200), make([]int, 1200)
	for i := range equal {
		equal[i], unequal[i] = i%classes, max(0, i%12-7) // 8, 1, 1, 1, 1 of 12
	}
	for name, labels := range map[string][]int{"equal": equal, "unequal": unequal} {
		kept := make([][]float64, degree)
		var squares float64
		for range draws {
			frequencies, densities := noisy(t, rng, b, labels, classes, std).Densities(std)
			for c, p := range frequencies {
				squares += (p - 1./classes) * (p - 1./classes) / draws
				for l, v := range densities[c].Kept() {
					kept[l] = append(kept[l], v)
				}
			}
			near(t, "sum of frequencies", floats.Sum(frequencies), 1, 1e-12)
		}
		for l, values := range kept {
			// E max(0, 1 − N/χ²) is 0.23, 0.30 and 0.34 times √(2/N) for the three
			// degrees, which 200 draws know to a tenth or so.
			unit := math.Sqrt(2 / Count(dim, l+1))
			if mean := floats.Sum(values) / float64(len(values)); !(mean <= 0.6*unit && mean >= 0.1*unit) {
				t.Errorf("%s classes: %v of pure noise of degree %d was kept, want about %v", name, mean, l+1, 0.3*unit)
			}
		}
		// Of the noise's energy in the frequencies, of 4 degrees of freedom, James and
		// Stein leave 0.14 in the mean (E max(0, χ²−4)²/χ²).
		noise := std / LabelledWeights(dim, degree)[0]
		if left := squares / ((classes - 1) * noise * noise); name == "equal" && !(left <= 0.4) {
			t.Errorf("%v of the noise is left in the frequencies", left)
		}
	}
}

// Noise that makes frequencies negative does not leave the simplex.
func TestFrequenciesStayOnTheSimplex(t *testing.T) {
	b, rng := basis(t, 3, 1), rand.New(rand.NewPCG(16, 31))
	for range 20 {
		frequencies, _ := noisy(t, rng, b, make([]int, 10), 4, 0.05).Densities(0.05)
		if !(floats.Min(frequencies) >= 0 && math.Abs(floats.Sum(frequencies)-1) <= 1e-12) {
			t.Errorf("frequencies %v", frequencies)
		}
	}
}

func TestOntoSimplex(t *testing.T) {
	for _, c := range []struct{ from, want []float64 }{
		{[]float64{0.2, 0.5, 0.3}, []float64{0.2, 0.5, 0.3}},
		{[]float64{1.2, -0.2}, []float64{1, 0}},
		{[]float64{-0.1, 0.6, 0.6}, []float64{0, 0.5, 0.5}},
		{[]float64{0, 0, 0, 0}, []float64{0.25, 0.25, 0.25, 0.25}},
	} {
		got := slices.Clone(c.from)
		ontoSimplex(got)
		if !floats.EqualApprox(got, c.want, 1e-12) {
			t.Errorf("%v goes to %v, want %v", c.from, got, c.want)
		}
	}
}

// Several densities together have the quantiles that each has alone.
func TestQuantilesTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 31))
	x, labels := sphere(rng, 30, 3), make([]int, 30)
	for i := range labels {
		labels[i] = i % 3
	}
	_, densities := labelled(t, x, labels, 3, basis(t, 3, 3)).Densities(0.01)
	u := sliced.Orthonormal(3, 2, rng)
	together, err := Quantiles(densities, u, 20)
	if err != nil {
		t.Fatal(err)
	}
	for k, d := range densities {
		alone, err := d.Quantiles(u, 20)
		if err != nil {
			t.Fatal(err)
		}
		for j := range alone {
			if !slices.Equal(alone[j].Values, together[k][j].Values) {
				t.Errorf("class %d on direction %d: %v alone, %v together", k, j, alone[j].Values, together[k][j].Values)
			}
		}
	}
}

func TestBadLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 31))
	b, other := basis(t, 3, 2), basis(t, 3, 1)
	x := sphere(rng, 4, 3)
	wild, tame := labelled(t, x, []int{-1, 2, math.MaxInt, 1}, 2, b), labelled(t, x, []int{0, 0, 0, 1}, 2, b)
	if !slices.Equal(wild.Means, tame.Means) {
		t.Error("labels that are of no class do not count as 0")
	}
	_, first := labelled(t, x, make([]int, 4), 2, b).Densities(0)
	_, others := labelled(t, x, make([]int, 4), 2, other).Densities(0)
	for says, err := range map[string]error{
		"3 labels of 4 points": second(NewLabelled(x, make([]int, 3), 2, b)),
		"of 1 classes":         second(NewLabelled(x, make([]int, 4), 1, b)),
		"of 0 classes":         second(LabelledSensitivity(3, 2, 0, 10)),
		"of 0 records":         second(LabelledSensitivity(3, 2, 2, 0)),
		"of -1 classes":        second(LabelledDegree(3, -1, 10, 1)),
		"of several bases":     second(Quantiles([]*Density{first[0], others[0]}, sliced.Uniform(3, 1, rng), 9)),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want an error that says %q", err, says)
		}
	}
}

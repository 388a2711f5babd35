package transporttest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/transport"
	"molehill/transport/assign"
	"molehill/transport/sliced"
)

func slicedLaws() []law[Sliced] {
	return []law[Sliced]{
		{"Diracs", nil, slicedDiracs},
		{"mean over lines", nil, slicedLines},
		{"permutation", nil, slicedPermutation},
		{"translation", nil, slicedTranslation},
		{"Gaussians", nil, slicedGaussians},
		{"below the distance in space", nil, slicedBelow},
		{"symmetry", nil, slicedSymmetry},
		{"order of points", nil, slicedOrder},
		{"scaled points", nil, slicedScaling},
		{"triangle inequality", nil, slicedTriangle},
		{"split and weightless atoms", []Feature{Weights, Sizes}, slicedAtoms},
		{"gradient", []Feature{Gradients}, slicedGradient},
		{"forces balance", []Feature{Gradients}, slicedForces},
		{"gradients of one record", []Feature{Gradients}, slicedOneRecord},
		{"ties share", []Feature{Gradients, Ties}, slicedTies},
		{"bad input", []Feature{BadInput}, slicedBadInput},
	}
}

func (e Sliced) lacks(f Feature) bool { return slices.Contains(e.Lacks, f) }

// space draws a measure whose points have no two equal projections.
func space(seed uint64, n int, weighted bool) transport.Measure {
	rng := rand.New(rand.NewPCG(seed, 0x51ced))
	m := transport.Uniform(transport.NewPoints(n, 3))
	for i := range m.Data {
		m.Data[i] = float32(math.Round(256*rng.NormFloat64()) / 256)
	}
	if weighted {
		m.Weights = uneven(seed, n)
	}
	return m
}

// axes are directions of R³: two orthonormal bases and two more.
func axes() sliced.Directions {
	rng := rand.New(rand.NewPCG(1, 0xa7e5))
	u := sliced.Orthonormal(3, 2, rng)
	return sliced.Directions{Dim: 3, Count: 8, Data: append(slices.Clone(u.Data), sliced.Uniform(3, 2, rng).Data...)}
}

// pairs are measures of the sizes and weights that the executor takes.
func (e Sliced) pairs() [][2]transport.Measure {
	all := [][2]transport.Measure{{space(1, 9, false), space(2, 9, false)}}
	m := 9
	if !e.lacks(Sizes) {
		m = 6
		all = append(all, [2]transport.Measure{space(3, 9, false), space(4, m, false)})
	}
	if !e.lacks(Weights) {
		all = append(all, [2]transport.Measure{space(5, 9, true), space(6, m, true)})
	}
	return all
}

// each tries a law on all pairs and powers.
func (e Sliced) each(holds func(x, y transport.Measure, p, power float64, byX, byY []float64) error) error {
	u := axes()
	for i, pair := range e.pairs() {
		for _, p := range powers(e.Lacks) {
			value, byX, byY, err := e.Power(pair[0], pair[1], p, u)
			if err == nil && !e.lacks(Gradients) && (len(byX) != len(pair[0].Data) || len(byY) != len(pair[1].Data)) {
				err = fmt.Errorf("gradients of %d and %d numbers, want %d and %d", len(byX), len(byY), len(pair[0].Data), len(pair[1].Data))
			}
			if err == nil {
				err = holds(pair[0], pair[1], p, value, byX, byY)
			}
			if err != nil {
				return fmt.Errorf("pair %d, p = %g: %w", i, p, err)
			}
		}
	}
	return nil
}

// at projects on direction l in double precision.
func at(x transport.Points, u sliced.Directions, l int) []float64 {
	line := make([]float64, x.Len())
	for i := range line {
		for c, d := range u.Row(l) {
			line[i] += float64(x.Row(i)[c]) * float64(d)
		}
	}
	return line
}

// slack is the tolerance of values of W_p^p between normal samples: projections
// are rounded to float32.
func (e Sliced) slack(p float64) float64 { return e.Tolerance.Value*lineScale(p) + 1e-6*lineScale(p)/4 }

// slope is the tolerance of gradients: the same rounding may be seen.
func (e Sliced) slope() float64 { return e.Tolerance.Gradient + 1e-6 }

func slicedDiracs(e Sliced) error {
	x := transport.Uniform(transport.Points{Dim: 3, Data: []float32{1, -2, 0.5}})
	y := transport.Uniform(transport.Points{Dim: 3, Data: []float32{0.25, 1, -1}})
	u := axes()
	for _, p := range powers(e.Lacks) {
		var want float64
		slope := make([]float64, 3)
		for l := range u.Count {
			d := at(x.Points, u, l)[0] - at(y.Points, u, l)[0]
			want += math.Pow(math.Abs(d), p) / float64(u.Count)
			for c, v := range u.Row(l) {
				slope[c] += p * math.Copysign(math.Pow(math.Abs(d), p-1), d) * float64(v) / float64(u.Count)
			}
		}
		value, byX, byY, err := e.Power(x, y, p, u)
		err = errors.Join(err, near("SW_p^p", value, want, e.slack(p)))
		if !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient by x", byX, slope, e.slope(), 1),
				nearNorm("the gradient by y", byY, scaled(slope, -1), e.slope(), 1))
		}
		if err != nil {
			return fmt.Errorf("p = %g: %w", p, err)
		}
	}
	return nil
}

// slicedLines: SW_p^p is the mean of W_p^p over the lines.
func slicedLines(e Sliced) error {
	u := axes()
	return e.each(func(x, y transport.Measure, p, power float64, _, _ []float64) error {
		var want float64
		for l := range u.Count {
			line := func(m transport.Measure) []float32 {
				var to []float32
				for _, v := range at(m.Points, u, l) {
					to = append(to, float32(v))
				}
				return to
			}
			want += quantilePower(line(x), line(y), x.Weights, y.Weights, p) / float64(u.Count)
		}
		return near("SW_p^p", power, want, e.slack(p))
	})
}

// slicedPermutation: equal measures are at distance 0, and stay there.
func slicedPermutation(e Sliced) error {
	return e.each(func(x, _ transport.Measure, p, _ float64, _, _ []float64) error {
		order := rand.New(rand.NewPCG(3, 5)).Perm(x.Len())
		y := transport.Measure{Points: x.Subset(order), Weights: reordered(x.Weights, 1, order)}
		value, byX, _, err := e.Power(x, y, p, axes())
		err = errors.Join(err, near("SW_p^p", value, 0, e.slack(p)))
		// For p = 1 the slope at distance 0 is any number in [−1, 1].
		if p >= 2 && !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient", byX, make([]float64, len(byX)), e.slope(), 1))
		}
		return err
	})
}

// slicedTranslation: over orthonormal bases of R^d, SW₂²(x, x + v) = ‖v‖²/d and
// the gradient is −2v/(d·n).
func slicedTranslation(e Sliced) error {
	u := sliced.Orthonormal(3, 4, rand.New(rand.NewPCG(4, 5)))
	x := space(1, 9, false)
	v := []float32{0.5, -1, 2}
	value, byX, _, err := e.Power(x, transport.Uniform(shifted(x.Points, v...)), 2, u)
	err = errors.Join(err, near("SW₂²", value, 5.25/3, e.slack(2)))
	if err == nil && !e.lacks(Gradients) {
		want := make([]float64, len(x.Data))
		for k := range want {
			want[k] = -2 * float64(v[k%3]) / (3 * 9)
		}
		err = nearNorm("the gradient", byX, want, e.slope(), 1)
	}
	return err
}

// slicedGaussians: on every direction N(0, I) and N(v, s²I) are N(0, 1) and
// N(⟨θ, v⟩, s²), so over orthonormal bases SW₂² = ‖v‖²/d + (s − 1)². Samples of
// 2000 are off by a standard deviation of at most 2·(‖v‖ + s)·√(2/n) < 0.2.
func slicedGaussians(e Sliced) error {
	const n = 2000
	rng := rand.New(rand.NewPCG(5, 5))
	x, y := transport.NewPoints(n, 3), transport.NewPoints(n, 3)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
		y.Data[i] = float32(3*rng.NormFloat64() + []float64{3, 0, -4}[i%3])
	}
	value, _, _, err := e.Power(transport.Uniform(x), transport.Uniform(y), 2, sliced.Orthonormal(3, 4, rng))
	// Five standard deviations: false alarms once in a million seeds.
	return errors.Join(err, near("SW₂²", value, 25./3+4, 1))
}

// slicedBelow: projections bring points nearer, so SW_p ≤ W_p.
func slicedBelow(e Sliced) error {
	return e.each(func(x, y transport.Measure, p, power float64, _, _ []float64) error {
		if x.Len() != y.Len() || x.Weights != nil {
			return nil
		}
		w, err := assign.Wasserstein(x.Points, y.Points, p)
		if err != nil {
			return err
		}
		return between("SW_p", math.Pow(power, 1/p), 0, w, 1e-6)
	})
}

func slicedSymmetry(e Sliced) error {
	return e.each(func(x, y transport.Measure, p, power float64, byX, byY []float64) error {
		back, backByY, backByX, err := e.Power(y, x, p, axes())
		err = errors.Join(err, near("SW_p^p(y, x)", back, power, e.slack(p)))
		if !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient by x", backByX, byX, e.slope(), 1),
				nearNorm("the gradient by y", backByY, byY, e.slope(), 1))
		}
		return err
	})
}

func slicedOrder(e Sliced) error {
	rng := rand.New(rand.NewPCG(6, 5))
	return e.each(func(x, y transport.Measure, p, power float64, byX, byY []float64) error {
		rows, columns := rng.Perm(x.Len()), rng.Perm(y.Len())
		value, rowsBy, columnsBy, err := e.Power(
			transport.Measure{Points: x.Subset(rows), Weights: reordered(x.Weights, 1, rows)},
			transport.Measure{Points: y.Subset(columns), Weights: reordered(y.Weights, 1, columns)}, p, axes())
		err = errors.Join(err, near("SW_p^p", value, power, e.slack(p)))
		if !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient by x", rowsBy, reordered(byX, 3, rows), e.slope(), 1),
				nearNorm("the gradient by y", columnsBy, reordered(byY, 3, columns), e.slope(), 1))
		}
		return err
	})
}

func slicedScaling(e Sliced) error {
	return e.each(func(x, y transport.Measure, p, power float64, byX, _ []float64) error {
		x.Points, y.Points = times(x.Points, 4), times(y.Points, 4)
		factor := math.Pow(4, p)
		value, by, _, err := e.Power(x, y, p, axes())
		err = errors.Join(err, near("SW_p^p", value, factor*power, factor*e.slack(p)))
		if !e.lacks(Gradients) {
			err = errors.Join(err, nearNorm("the gradient", by, scaled(byX, factor/4), e.slope(), 1))
		}
		return err
	})
}

// slicedTriangle: no way around is shorter, and on the way of a translation
// none is longer.
func slicedTriangle(e Sliced) error {
	return e.each(func(x, y transport.Measure, p, _ float64, _, _ []float64) error {
		half, whole := x, x
		half.Points, whole.Points = shifted(x.Points, 1, 2, -1), shifted(x.Points, 2, 4, -2)
		for _, way := range [][3]transport.Measure{{x, space(7, y.Len(), false), y}, {x, half, whole}} {
			var distances [3]float64
			for i, pair := range [][2]int{{0, 2}, {0, 1}, {1, 2}} {
				power, _, _, err := e.Power(way[pair[0]], way[pair[1]], p, axes())
				if err != nil {
					return err
				}
				distances[i] = math.Pow(power, 1/p)
			}
			if straight, around := distances[0], distances[1]+distances[2]; straight > around+1e-6+e.slack(1) {
				return fmt.Errorf("the distance SW_p is %v, the way around %v", straight, around)
			}
		}
		return nil
	})
}

// slicedAtoms: splitting an atom and adding one without weight change nothing.
func slicedAtoms(e Sliced) error {
	return e.each(func(x, y transport.Measure, p, power float64, _, _ []float64) error {
		n := x.Len()
		w := x.Shares()
		w = append(w, 0.25*w[3], 0)
		w[3] *= 0.75
		data := append(slices.Clone(x.Data), x.Row(3)...)
		split := transport.Measure{Points: transport.Points{Dim: 3, Data: append(data, 9, -9, 9)}, Weights: w}
		value, byX, byY, err := e.Power(split, y, p, axes())
		err = errors.Join(err, near("SW_p^p", value, power, e.slack(p)))
		if err == nil && !e.lacks(Gradients) {
			err = errors.Join(finite("the gradient", byX), finite("the gradient", byY),
				nearNorm("the gradient of an atom without weight", byX[3*(n+1):], []float64{0, 0, 0}, e.slope(), 1))
		}
		return err
	})
}

// slicedTies: records that coincide move alike.
func slicedTies(e Sliced) error {
	x, y := space(10, 9, false), space(11, 9, false)
	for _, i := range []int{4, 7} {
		copy(x.Row(i), x.Row(1))
	}
	for _, p := range powers(e.Lacks) {
		_, byX, _, err := e.Power(x, y, p, axes())
		if err != nil {
			return err
		}
		for _, i := range []int{4, 7} {
			if err := nearNorm("the gradient of a record that coincides", byX[3*i:3*i+3], byX[3:6], e.slope(), 0.1); err != nil {
				return fmt.Errorf("p = %g: %w", p, err)
			}
		}
	}
	return nil
}

func slicedBadInput(e Sliced) error {
	nan, inf := math.NaN(), math.Inf(1)
	var errs []error
	for name, change := range map[string]func(x, y *transport.Measure, p *float64, u *sliced.Directions){
		"no points":            func(x, _ *transport.Measure, _ *float64, _ *sliced.Directions) { x.Points = transport.Points{Dim: 3} },
		"a measure of nothing": func(_, y *transport.Measure, _ *float64, _ *sliced.Directions) { *y = transport.Measure{} },
		"NaN":                  func(x, _ *transport.Measure, _ *float64, _ *sliced.Directions) { x.Data[4] = float32(nan) },
		"infinity":             func(_, y *transport.Measure, _ *float64, _ *sliced.Directions) { y.Data[4] = float32(inf) },
		"two dimensions":       func(_, y *transport.Measure, _ *float64, _ *sliced.Directions) { y.Points = cloud(1, 9, 2, 0) },
		"a negative weight":    func(x, _ *transport.Measure, _ *float64, _ *sliced.Directions) { x.Weights[2] = -1 },
		"weights of 0":         func(_, y *transport.Measure, _ *float64, _ *sliced.Directions) { y.Weights = make([]float64, 9) },
		"too few weights":      func(x, _ *transport.Measure, _ *float64, _ *sliced.Directions) { x.Weights = []float64{1} },
		"no directions":        func(_, _ *transport.Measure, _ *float64, u *sliced.Directions) { *u = sliced.Directions{Dim: 3} },
		"other directions": func(_, _ *transport.Measure, _ *float64, u *sliced.Directions) {
			*u = sliced.Directions{Dim: 2, Count: 1, Data: []float32{1, 0}}
		},
		"p < 1":         func(_, _ *transport.Measure, p *float64, _ *sliced.Directions) { *p = 0.5 },
		"p is NaN":      func(_, _ *transport.Measure, p *float64, _ *sliced.Directions) { *p = nan },
		"p is infinite": func(_, _ *transport.Measure, p *float64, _ *sliced.Directions) { *p = inf },
	} {
		x, y, p, u := space(1, 9, true), space(2, 9, true), 2., axes()
		change(&x, &y, &p, &u)
		if err := refuses(func() error { _, _, _, err := e.Power(x, y, p, u); return err }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

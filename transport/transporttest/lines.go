package transporttest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"molehill/transport"
	"molehill/transport/assign"
)

func lineLaws() []law[Line] {
	return []law[Line]{
		{"Diracs", nil, lineDiracs},
		{"quantiles", nil, lineQuantiles},
		{"distribution functions", []Feature{Powers}, lineCDFs},
		{"exact assignment", nil, lineAssignment},
		{"translation", nil, lineTranslation},
		{"Gaussian quantiles", nil, lineGaussians},
		{"symmetry", nil, lineSymmetry},
		{"order of points", nil, lineOrder},
		{"scaled points", nil, lineScaling},
		{"triangle inequality", nil, lineTriangle},
		{"split and weightless atoms", []Feature{Weights}, lineAtoms},
		{"gradient", []Feature{Gradients}, lineGradient},
		{"ties share", []Feature{Gradients, Ties}, lineTies},
		{"bad input", []Feature{BadInput}, lineBadInput},
	}
}

// sample is a weighted sample of the line.
type sample struct {
	at      []float32
	weights []float64
}

// samples returns pairs of samples of the sizes and weights the executor takes,
// with ties within a sample and none between the two.
func samples(lacks []Feature) [][2]sample {
	draw := func(seed uint64, n int, shift float32) []float32 { return cloud(seed, n, 1, shift).Data }
	pairs := [][2]sample{
		{{draw(1, 1, 0), nil}, {draw(2, 1, 1./8), nil}},
		{{draw(3, 9, 0), nil}, {draw(4, 9, 1./8), nil}},
	}
	if !slices.Contains(lacks, Sizes) {
		pairs = append(pairs, [2]sample{{draw(5, 9, 0), nil}, {draw(6, 4, 1./8), nil}},
			[2]sample{{draw(7, 1, 0), nil}, {draw(8, 6, 1./8), nil}})
	}
	if !slices.Contains(lacks, Weights) {
		pairs = append(pairs, [2]sample{{draw(9, 8, 0), uneven(1, 8)}, {draw(10, 8, 1./8), uneven(2, 8)}})
		if !slices.Contains(lacks, Sizes) {
			pairs = append(pairs, [2]sample{{draw(11, 5, 0), uneven(3, 5)}, {draw(12, 11, 1./8), nil}})
		}
	}
	return pairs
}

// powers are the p that the executor takes.
func powers(lacks []Feature) []float64 {
	if slices.Contains(lacks, Powers) {
		return []float64{2}
	}
	return []float64{1, 1.5, 2, 3}
}

// quantilePower is W_p^p by its formula ∫₀¹ |F⁻¹(u) − G⁻¹(u)|^p du: quantile
// functions of samples are steps, and change at cumulative weights.
func quantilePower(x, y []float32, a, b []float64, p float64) float64 {
	type quantile struct{ upTo, value float64 }
	steps := func(at []float32, weights []float64) []quantile {
		shares := transport.Shares(weights, len(at))
		order := identity(len(at))
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
		var qs []quantile
		var level float64
		for _, i := range order {
			level += shares[i]
			qs = append(qs, quantile{level, float64(at[i])})
		}
		return qs
	}
	value := func(qs []quantile, u float64) float64 {
		for _, q := range qs {
			if u < q.upTo {
				return q.value
			}
		}
		return qs[len(qs)-1].value
	}
	f, g := steps(x, a), steps(y, b)
	levels := []float64{0, 1}
	for _, q := range append(slices.Clone(f), g...) {
		levels = append(levels, min(q.upTo, 1))
	}
	slices.Sort(levels)
	var total float64
	for i := range levels[1:] {
		middle := (levels[i] + levels[i+1]) / 2
		total += (levels[i+1] - levels[i]) * math.Pow(math.Abs(value(f, middle)-value(g, middle)), p)
	}
	return total
}

// each tries a law on all samples and powers.
func (e Line) each(holds func(x, y sample, p, power float64, byX, byY []float64) error) error {
	for i, pair := range samples(e.Lacks) {
		for _, p := range powers(e.Lacks) {
			x, y := pair[0], pair[1]
			value, byX, byY, err := e.Power(x.at, y.at, x.weights, y.weights, p)
			if err == nil && !slices.Contains(e.Lacks, Gradients) && (len(byX) != len(x.at) || len(byY) != len(y.at)) {
				err = fmt.Errorf("gradients of %d and %d numbers, want %d and %d", len(byX), len(byY), len(x.at), len(y.at))
			}
			if err == nil {
				err = holds(x, y, p, value, byX, byY)
			}
			if err != nil {
				return fmt.Errorf("samples %d, p = %g: %w", i, p, err)
			}
		}
	}
	return nil
}

// lineScale is the largest W_p^p between points of cloud.
func lineScale(p float64) float64 { return math.Pow(4, p) }

func (e Line) power(x, y sample, p float64) (float64, error) {
	value, _, _, err := e.Power(x.at, y.at, x.weights, y.weights, p)
	return value, err
}

func lineDiracs(e Line) error {
	for _, p := range powers(e.Lacks) {
		value, byX, byY, err := e.Power([]float32{3}, []float32{0.5}, nil, nil, p)
		if err == nil {
			err = near("W_p^p", value, math.Pow(2.5, p), e.Tolerance.Value*lineScale(p))
		}
		if err == nil && !slices.Contains(e.Lacks, Gradients) {
			slope := p * math.Pow(2.5, p-1)
			err = errors.Join(
				nearNorm("the gradient by x", byX, []float64{slope}, e.Tolerance.Gradient, 1),
				nearNorm("the gradient by y", byY, []float64{-slope}, e.Tolerance.Gradient, 1))
		}
		if err != nil {
			return fmt.Errorf("p = %g: %w", p, err)
		}
	}
	return nil
}

func lineQuantiles(e Line) error {
	return e.each(func(x, y sample, p, power float64, _, _ []float64) error {
		return near("W_p^p", power, quantilePower(x.at, y.at, x.weights, y.weights, p), e.Tolerance.Value*lineScale(p))
	})
}

// lineCDFs: W₁ = ∫ |F − G| dz (Peyré & Cuturi 2019, Remark 2.30).
func lineCDFs(e Line) error {
	return e.each(func(x, y sample, p, power float64, _, _ []float64) error {
		if p != 1 {
			return nil
		}
		type jump struct{ at, by float64 }
		var jumps []jump
		for sign, s := range map[float64]sample{1: x, -1: y} {
			for i, share := range transport.Shares(s.weights, len(s.at)) {
				jumps = append(jumps, jump{float64(s.at[i]), sign * share})
			}
		}
		slices.SortFunc(jumps, func(a, b jump) int { return cmp.Compare(a.at, b.at) })
		var area, height float64
		for i := range jumps[1:] {
			height += jumps[i].by
			area += math.Abs(height) * (jumps[i+1].at - jumps[i].at)
		}
		return near("W₁", power, area, e.Tolerance.Value*4)
	})
}

func lineAssignment(e Line) error {
	return e.each(func(x, y sample, p, power float64, _, _ []float64) error {
		if len(x.at) != len(y.at) || x.weights != nil {
			return nil
		}
		w, err := assign.Wasserstein(transport.Points{Dim: 1, Data: x.at}, transport.Points{Dim: 1, Data: y.at}, p)
		if err != nil {
			return err
		}
		return near("W_p^p", power, math.Pow(w, p), e.Tolerance.Value*lineScale(p))
	})
}

// lineTranslation: W_p(x, x + v) = |v| for all p and weights.
func lineTranslation(e Line) error {
	return e.each(func(x, _ sample, p, _ float64, _, _ []float64) error {
		moved := sample{shifted(transport.Points{Dim: 1, Data: x.at}, 1.75).Data, x.weights}
		power, err := e.power(x, moved, p)
		return errors.Join(err, near("W_p^p", power, math.Pow(1.75, p), e.Tolerance.Value*lineScale(p)))
	})
}

// lineGaussians: quantiles of N(0, 1) against those of N(1, 2²) in another order
// are coupled by z ↦ 2z + 1: W₂² is the mean of (z + 1)².
func lineGaussians(e Line) error {
	const n = 9
	x, y := make([]float32, n), make([]float32, n)
	order := rand.New(rand.NewPCG(1, 5)).Perm(n)
	var want float64
	for i := range n {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/n-1)
		x[i], y[order[i]] = float32(z), float32(2*z+1)
		want += (z + 1) * (z + 1) / n
	}
	power, err := e.power(sample{x, nil}, sample{y, nil}, 2)
	return errors.Join(err, near("W₂²", power, want, 1e-6+e.Tolerance.Value*16))
}

func lineSymmetry(e Line) error {
	return e.each(func(x, y sample, p, power float64, byX, byY []float64) error {
		back, backByY, backByX, err := e.Power(y.at, x.at, y.weights, x.weights, p)
		err = errors.Join(err, near("W_p^p(y, x)", back, power, e.Tolerance.Value*lineScale(p)))
		if !slices.Contains(e.Lacks, Gradients) {
			err = errors.Join(err, nearNorm("the gradient by x", backByX, byX, e.Tolerance.Gradient, 1),
				nearNorm("the gradient by y", backByY, byY, e.Tolerance.Gradient, 1))
		}
		return err
	})
}

func lineOrder(e Line) error {
	rng := rand.New(rand.NewPCG(2, 5))
	return e.each(func(x, y sample, p, power float64, byX, byY []float64) error {
		rows, columns := rng.Perm(len(x.at)), rng.Perm(len(y.at))
		value, rowBy, columnBy, err := e.Power(reordered(x.at, 1, rows), reordered(y.at, 1, columns),
			reordered(x.weights, 1, rows), reordered(y.weights, 1, columns), p)
		err = errors.Join(err, near("W_p^p", value, power, e.Tolerance.Value*lineScale(p)))
		// Without Ties a tie may be broken by position.
		if !slices.Contains(e.Lacks, Gradients) && !slices.Contains(e.Lacks, Ties) {
			err = errors.Join(err, nearNorm("the gradient by x", rowBy, reordered(byX, 1, rows), e.Tolerance.Gradient, 1),
				nearNorm("the gradient by y", columnBy, reordered(byY, 1, columns), e.Tolerance.Gradient, 1))
		}
		return err
	})
}

func lineScaling(e Line) error {
	return e.each(func(x, y sample, p, power float64, byX, _ []float64) error {
		// A reflection, too, which turns the order around.
		turn := func(s sample) sample { return sample{times(transport.Points{Dim: 1, Data: s.at}, -4).Data, s.weights} }
		x, y = turn(x), turn(y)
		value, turnedBy, _, err := e.Power(x.at, y.at, x.weights, y.weights, p)
		factor := math.Pow(4, p)
		err = errors.Join(err, near("W_p^p", value, factor*power, e.Tolerance.Value*factor*lineScale(p)))
		if !slices.Contains(e.Lacks, Gradients) && !slices.Contains(e.Lacks, Ties) {
			err = errors.Join(err, nearNorm("the gradient", turnedBy, scaled(byX, -factor/4), e.Tolerance.Gradient, 1))
		}
		return err
	})
}

func lineTriangle(e Line) error {
	return e.each(func(x, y sample, p, power float64, _, _ []float64) error {
		z := sample{cloud(77, len(x.at), 1, 3./32).Data, x.weights}
		if slices.Contains(e.Lacks, Sizes) && len(x.at) != len(y.at) {
			return nil
		}
		first, err1 := e.power(x, z, p)
		second, err2 := e.power(z, y, p)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		around, straight := math.Pow(first, 1/p)+math.Pow(second, 1/p), math.Pow(power, 1/p)
		if straight > around+e.Tolerance.Value*4 {
			return fmt.Errorf("the distance W_p is %v, the way around %v", straight, around)
		}
		return nil
	})
}

// lineAtoms: splitting an atom and adding one without weight change nothing.
func lineAtoms(e Line) error {
	return e.each(func(x, y sample, p, power float64, _, _ []float64) error {
		n := len(x.at)
		w := slices.Clone(x.weights)
		if w == nil {
			w = transport.Shares(nil, n)
		}
		split := sample{append(slices.Clone(x.at), x.at[n/2], 100), append(w, 0.25*w[n/2], 0)}
		split.weights[n/2] *= 0.75
		if slices.Contains(e.Lacks, Sizes) {
			return nil
		}
		value, byX, byY, err := e.Power(split.at, y.at, split.weights, y.weights, p)
		err = errors.Join(err, near("W_p^p", value, power, e.Tolerance.Value*lineScale(p)))
		if err == nil && !slices.Contains(e.Lacks, Gradients) {
			err = errors.Join(finite("the gradient", byX), finite("the gradient", byY), near("the slope of an atom without weight", byX[n+1], 0, e.Tolerance.Gradient))
		}
		return err
	})
}

// lineGradient: where no two points of a sample coincide, W_p^p has the
// derivatives that are returned.
func lineGradient(e Line) error {
	for i, pair := range samples(e.Lacks) {
		x, y := pair[0], pair[1]
		spread := func(s sample) sample { // apart by more than finite differences reach
			s.at = slices.Clone(s.at)
			for i := range s.at {
				s.at[i] += 4 * float32(i)
			}
			return s
		}
		x, y = spread(x), spread(y)
		for _, p := range powers(e.Lacks) {
			_, byX, byY, err := e.Power(x.at, y.at, x.weights, y.weights, p)
			if err != nil {
				return err
			}
			for _, side := range []struct {
				at []float32
				by []float64
			}{{x.at, byX}, {y.at, byY}} {
				want, err := differences(transport.Points{Dim: 1, Data: side.at}, e.Tolerance.Step, func() (float64, error) { return e.power(x, y, p) })
				if err == nil {
					err = nearNorm("the gradient", side.by, want, e.Tolerance.Gradient, 1)
				}
				if err != nil {
					return fmt.Errorf("samples %d, p = %g: %w", i, p, err)
				}
			}
		}
	}
	return nil
}

// lineTies: points that coincide share what the plan gives them, so they have
// one slope: the mean over all ways to break the tie.
func lineTies(e Line) error {
	x, y := []float32{0, 0, 2}, []float32{-1, 1, 5}
	_, byX, byY, err := e.Power(x, y, nil, nil, 2)
	if err != nil {
		return err
	}
	// The two at 0 share −1 and 1, and so stay; 2 goes to 5; −1 and 1 go to 0.
	return errors.Join(
		nearNorm("the gradient by x", byX, []float64{0, 0, -2}, e.Tolerance.Gradient, 1),
		nearNorm("the gradient by y", byY, []float64{-2. / 3, 2. / 3, 2}, e.Tolerance.Gradient, 1))
}

func lineBadInput(e Line) error {
	nan, inf := math.NaN(), math.Inf(1)
	one := []float32{1, 2}
	var errs []error
	for _, c := range []struct {
		name string
		x, y []float32
		a, b []float64
		p    float64
	}{
		{"no x", nil, one, nil, nil, 2},
		{"no y", one, nil, nil, nil, 2},
		{"NaN in x", []float32{1, float32(nan)}, one, nil, nil, 2},
		{"infinity in y", one, []float32{float32(inf), 1}, nil, nil, 2},
		{"a negative weight", one, one, []float64{2, -1}, nil, 2},
		{"weights of 0", one, one, nil, []float64{0, 0}, 2},
		{"a NaN weight", one, one, []float64{1, nan}, nil, 2},
		{"too many weights", one, one, []float64{1, 1, 1}, nil, 2},
		{"p < 1", one, one, nil, nil, 0.5},
		{"p is NaN", one, one, nil, nil, nan},
		{"p is infinite", one, one, nil, nil, inf},
	} {
		if err := refuses(func() error { _, _, _, err := e.Power(c.x, c.y, c.a, c.b, c.p); return err }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// refuses returns an error unless try does, without a panic.
func refuses(try func() error) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	if try() == nil {
		return errors.New("was taken")
	}
	return nil
}

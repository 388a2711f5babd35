package transporttest

import (
	"errors"
	"math"
	"slices"

	"molehill/transport"
)

// slicedGradient compares with finite differences of the sum over lines in
// double precision, where projections are not rounded. The measures have no
// projections within reach of a step.
func slicedGradient(e Sliced) error {
	u := axes()
	const step = 1. / (1 << 16)
	return e.each(func(x, y transport.Measure, p, _ float64, byX, byY []float64) error {
		exact := func() float64 {
			var sum float64
			for l := range u.Count {
				sum += lineOf(at(x.Points, u, l), at(y.Points, u, l), x.Shares(), y.Shares(), p) / float64(u.Count)
			}
			return sum
		}
		x.Points, y.Points = x.Clone(), y.Clone()
		for _, side := range []struct {
			name   string
			points transport.Points
			by     []float64
		}{{"the gradient by x", x.Points, byX}, {"the gradient by y", y.Points, byY}} {
			want, err := differences(side.points, step, func() (float64, error) { return exact(), nil })
			if err == nil {
				err = nearNorm(side.name, side.by, want, e.slope()+2e-5, 0.1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// lineOf is W_p^p of samples in double precision by the north-west corner rule.
func lineOf(x, y, a, b []float64, p float64) float64 {
	order := func(v []float64) []int {
		o := identity(len(v))
		slices.SortFunc(o, func(i, j int) int {
			switch {
			case v[i] < v[j]:
				return -1
			case v[i] > v[j]:
				return 1
			}
			return 0
		})
		return o
	}
	rows, columns := order(x), order(y)
	a, b = slices.Clone(a), slices.Clone(b)
	var total float64
	for i, j := 0, 0; i < len(rows) && j < len(columns); {
		r, c := rows[i], columns[j]
		mass := min(a[r], b[c])
		total += mass * math.Pow(math.Abs(x[r]-y[c]), p)
		a[r] -= mass
		b[c] -= mass
		if a[r] <= b[c] {
			i++
		} else {
			j++
		}
	}
	return total
}

// slicedForces: moving both measures together changes nothing, so the gradients
// of the two add up to 0.
func slicedForces(e Sliced) error {
	return e.each(func(_, _ transport.Measure, _, _ float64, byX, byY []float64) error {
		sum := make([]float64, 3)
		for k, g := range byX {
			sum[k%3] += g
		}
		for k, g := range byY {
			sum[k%3] += g
		}
		return nearNorm("the sum of gradients", sum, []float64{0, 0, 0}, e.slope(), 1)
	})
}

// slicedOneRecord: with one record against m the plan is a⊗b, and for p = 2 the
// gradient is (2/k)·Σ_l θ_l⟨θ_l, x − ȳ⟩ whatever the order on each line.
func slicedOneRecord(e Sliced) error {
	if e.lacks(Sizes) {
		return nil
	}
	u := axes()
	x, y := space(8, 1, false), space(9, 6, false)
	_, byX, _, err := e.Power(x, y, 2, u)
	want := make([]float64, 3)
	for l := range u.Count {
		var mean float64
		for _, v := range at(y.Points, u, l) {
			mean += v / 6
		}
		for c, v := range u.Row(l) {
			want[c] += 2 / float64(u.Count) * (at(x.Points, u, l)[0] - mean) * float64(v)
		}
	}
	return errors.Join(err, nearNorm("the gradient by x", byX, want, e.slope(), 1))
}

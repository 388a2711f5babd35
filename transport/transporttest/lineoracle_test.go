package transporttest

import (
	"errors"
	"math"
	"slices"

	"molehill/transport"
	"molehill/transport/sliced"
)

// lineOracle solves the line by the textbook: sort, and couple from the left.
// Its fields make it wrong on purpose, one way each.
type lineOracle struct {
	unsorted     bool // points coupled in the order they come in
	byPosition   bool // ties broken by position
	noPower      bool // the distance in place of its p-th power
	squareAlways bool // p = 2 whatever was asked
	forgetWeight bool
	wrongSign    bool // of the gradient by y
	careless     bool
	offset       float64 // moves x
	drift        float64 // relative error of values
	total        bool    // masses of weights, not of shares
	lopsided     bool    // not symmetric: distances to the left count double
}

func (o lineOracle) executor() Line {
	return Line{Name: "line oracle", Tolerance: Double,
		Power: func(x, y []float32, a, b []float64, p float64) (float64, []float64, []float64, error) {
			if !o.careless {
				err := errors.Join(transport.Measure{Points: transport.Points{Dim: 1, Data: x}, Weights: a}.Check(),
					transport.Measure{Points: transport.Points{Dim: 1, Data: y}, Weights: b}.Check())
				if err != nil {
					return 0, nil, nil, err
				}
				if !(p >= 1) || math.IsInf(p, 0) {
					return 0, nil, nil, errors.New("line oracle: p")
				}
			}
			value, byX, byY := o.power(widened(x), widened(y), a, b, p)
			return value, byX, byY, nil
		}}
}

func (o lineOracle) power(x, y, a, b []float64, p float64) (value float64, byX, byY []float64) {
	if o.forgetWeight {
		a, b = nil, nil
	}
	left, right := transport.Shares(a, len(x)), transport.Shares(b, len(y))
	if o.total && a != nil {
		left = slices.Clone(a)
	}
	if o.squareAlways {
		p = 2
	}
	rows, columns := o.order(x), o.order(y)
	byX, byY = make([]float64, len(x)), make([]float64, len(y))
	rest := slices.Clone(right)
	for i, j := 0, 0; i < len(rows) && j < len(columns); {
		r, c := rows[i], columns[j]
		if i == len(rows)-1 && j == len(columns)-1 {
			rest[c] = min(rest[c], left[r])
		}
		mass := min(left[r], rest[c])
		d := x[r] + o.offset - y[c]
		cost := math.Pow(math.Abs(d), p)
		if o.lopsided && d < 0 {
			cost *= 2
		}
		value += mass * cost
		if d != 0 {
			slope := mass * p * math.Copysign(math.Pow(math.Abs(d), p-1), d)
			byX[r] += slope
			if o.wrongSign {
				slope = -slope
			}
			byY[c] -= slope
		}
		left[r] -= mass
		rest[c] -= mass
		if left[r] <= rest[c] {
			i++
		} else {
			j++
		}
	}
	if !o.byPosition {
		share(byX, x, transport.Shares(a, len(x)))
		share(byY, y, right)
	}
	value *= 1 + o.drift
	if o.noPower {
		value = math.Pow(value, 1/p)
	}
	return value, byX, byY
}

// share gives points that coincide the gradient of all of them, by weight.
func share(by, at, weights []float64) {
	sum, mass := map[float64]float64{}, map[float64]float64{}
	for i, v := range at {
		sum[v] += by[i]
		mass[v] += weights[i]
	}
	for i, v := range at {
		by[i] = 0
		if mass[v] > 0 {
			by[i] = sum[v] * weights[i] / mass[v]
		}
	}
}

func (o lineOracle) order(v []float64) []int {
	order := identity(len(v))
	if !o.unsorted {
		slices.SortStableFunc(order, func(i, j int) int {
			switch {
			case v[i] < v[j]:
				return -1
			case v[i] > v[j]:
				return 1
			}
			return 0
		})
	}
	return order
}

// slicedOracle is the mean of a line oracle over the lines, with ways of its own
// to be wrong.
type slicedOracle struct {
	line      lineOracle
	sum       bool // over the directions, not their mean
	noChain   bool // the gradient along the direction of the line before
	firstOnly bool // one direction
	extra     float64
}

func (o slicedOracle) executor() Sliced {
	return Sliced{Name: "sliced oracle", Tolerance: Double,
		Power: func(x, y transport.Measure, p float64, u sliced.Directions) (float64, []float64, []float64, error) {
			if !o.line.careless {
				if err := errors.Join(x.Check(), y.Check()); err != nil {
					return 0, nil, nil, err
				}
				if u.Count < 1 || u.Dim != x.Dim || u.Dim != y.Dim || !(p >= 1) || math.IsInf(p, 0) {
					return 0, nil, nil, errors.New("sliced oracle: bad input")
				}
			}
			count := u.Count
			if o.firstOnly {
				count = 1
			}
			weight := 1 / float64(count)
			if o.sum {
				weight = 1
			}
			byX, byY := make([]float64, len(x.Data)), make([]float64, len(y.Data))
			var value float64
			for l := range count {
				v, lineX, lineY := o.line.power(at(x.Points, u, l), at(y.Points, u, l), x.Weights, y.Weights, p)
				value += weight * v
				direction := u.Row(l)
				if o.noChain {
					direction = u.Row((l + 1) % u.Count)
				}
				for c, d := range direction {
					for i, g := range lineX {
						byX[i*u.Dim+c] += weight * g * float64(d)
					}
					for j, g := range lineY {
						byY[j*u.Dim+c] += weight * g * float64(d)
					}
				}
			}
			return value + o.extra, byX, byY, nil
		}}
}

package clip

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/privacy"
)

// attack compares the distance of neighbouring answers to the bound over at
// least 10,000 pairs. The bound must never be passed, by any rounding, and the
// adversary must come as near as reach says.
func attack(t *testing.T, what string, reach float64, pair func(rng *rand.Rand) (before, after []float64, bound privacy.Sensitivity, err error)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 11))
	largest := 0.
	const pairs = 12_000
	for p := range pairs {
		before, after, bound, err := pair(rng)
		if err != nil {
			t.Fatal(err)
		}
		difference := make([]float64, len(before))
		for c := range before {
			difference[c] = before[c] - after[c]
		}
		ratio := Norm(difference) / bound.Value
		if !(ratio <= 1) {
			t.Fatalf("%s, pair %d: moved by %v times the sensitivity under %v", what, p, ratio, bound.Relation)
		}
		largest = max(largest, ratio)
	}
	t.Logf("%s: %d pairs, largest ratio to the bound %.6f", what, pairs, largest)
	if !(largest >= reach) {
		t.Errorf("%s: the adversary reaches only %v of the bound", what, largest)
	}
}

// neighbour returns what becomes of one row under a relation: another row, or
// zeros, which is what the sum of a batch without the record has.
func neighbour(rng *rand.Rand, row []float32, relation privacy.Relation) []float32 {
	other := make([]float32, len(row))
	if relation != privacy.ReplaceOne {
		return other
	}
	for c, x := range row {
		other[c] = -x // the adversary's
	}
	if rng.IntN(2) == 0 {
		other = fill[float32](rng, len(row))
	}
	if rng.IntN(5) == 0 {
		other[rng.IntN(len(other))] = float32(nasty(rng))
	}
	return other
}

var relations = []privacy.Relation{privacy.AddRemove, privacy.ZeroOut, privacy.ReplaceOne}

func TestSumSensitivityByBruteForce(t *testing.T) {
	for _, relation := range relations {
		attack(t, "clipped sum, "+relation.String(), 0.99999, func(rng *rand.Rand) ([]float64, []float64, privacy.Sensitivity, error) {
			n, dim, bound := 1+rng.IntN(6), 1+rng.IntN(5), math.Exp(3*rng.NormFloat64())
			data := fill[float32](rng, n*dim)
			for i := range data {
				if data[i] *= float32(bound); rng.IntN(30) == 0 {
					data[i] = float32(nasty(rng))
				}
			}
			before, err := Sum(data, dim, bound)
			if err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			moved := rng.IntN(n) * dim
			copy(data[moved:], neighbour(rng, data[moved:moved+dim], relation))
			if relation == privacy.AddRemove {
				data = append(data[:moved], data[moved+dim:]...)
			}
			after, err := Sum(data, dim, bound)
			if err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			s, err := SumSensitivity(bound, relation)
			if !s.PerRecord {
				t.Fatal("a sum over records does not say that it is one")
			}
			return before, after, s, err
		})
	}
}

// coupled returns the gradient of a loss that couples generated rows x with all
// records y, one number each: every row is drawn to the records' mean.
func coupled(x []float64, y []float64) []float64 {
	var mean float64
	for _, v := range y {
		mean += v / float64(len(y))
	}
	gradient := make([]float64, len(x))
	for i := range x {
		gradient[i] = x[i] - mean
	}
	return gradient
}

// Under a coupled loss one record moves every row, so the same adversary reaches
// 2C for the whole gradient and 2C√images for images clipped one by one: the
// published 2C is passed by √images.
func TestCoupledSensitivitiesByBruteForce(t *testing.T) {
	const images = 9
	pair := func(rng *rand.Rand, relation privacy.Relation) (before, after []float64) {
		x, y := fill[float64](rng, images), fill[float64](rng, 2+rng.IntN(3))
		other := append([]float64(nil), y...)
		far := math.Exp(10 * rng.Float64())
		y[0] -= far
		switch relation {
		case privacy.AddRemove:
			other = append(y[:len(y):len(y)], 10*far)
		case privacy.ZeroOut:
			y[1] += 2 * far
			other = append([]float64{0}, y[1:]...)
			y[0] -= 3 * far
		default:
			other[0] += far
		}
		return coupled(x, y), coupled(x, other)
	}
	for _, relation := range relations {
		attack(t, "whole gradient, "+relation.String(), 0.9999, func(rng *rand.Rand) ([]float64, []float64, privacy.Sensitivity, error) {
			before, after := pair(rng, relation)
			if err := Joint(0.5, before[:4], before[4:]); err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			if err := Joint(0.5, after); err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			s, err := JointSensitivity(0.5, relation)
			if s.PerRecord {
				t.Fatal("a coupled gradient says that it is a sum over records")
			}
			return before, after, s, err
		})
		published := 0.
		attack(t, "per image, "+relation.String(), 0.9999, func(rng *rand.Rand) ([]float64, []float64, privacy.Sensitivity, error) {
			before, after := pair(rng, relation)
			if err := Rows(before, 1, 0.5); err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			if err := Rows(after, 1, 0.5); err != nil {
				return nil, nil, privacy.Sensitivity{}, err
			}
			difference := append([]float64(nil), before...)
			for i := range difference {
				difference[i] -= after[i]
			}
			published = max(published, Norm(difference)/(2*0.5))
			s, err := PerImageSensitivity(0.5, images, relation)
			return before, after, s, err
		})
		t.Logf("per image, %v: %.4f times the 2C of one row", relation, published)
		if !(published >= 0.999*3) {
			t.Errorf("per-image clipping moves by %v times 2C; want √%d", published, images)
		}
	}
}

func fill[F Float](rng *rand.Rand, n int) []F {
	v := make([]F, n)
	for i := range v {
		v[i] = F(rng.NormFloat64())
	}
	return v
}

package clip

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func spectral(data []float64, rows, columns int) (largest float64) {
	// By the products of rows, whose largest eigenvalue is its square.
	m := mat.NewDense(rows, columns, slices.Clone(data))
	var products mat.Dense
	products.Mul(m, m.T())
	var eigen mat.EigenSym
	sym := mat.NewSymDense(rows, products.RawMatrix().Data)
	if !eigen.Factorize(sym, false) {
		return math.NaN()
	}
	return math.Sqrt(slices.Max(eigen.Values(nil)))
}

// Whatever a matrix is, its spectral norm is within the bound afterwards; one that was
// within it stays, and one that was not has it for its norm.
func TestSingularValuesAreClipped(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 400 {
		rows, columns := 1+rng.IntN(4), 1+rng.IntN(6)
		data := make([]float64, 2*rows*columns)
		for i := range data {
			data[i] = rng.NormFloat64() * math.Pow(10, float64(trial%7-3))
		}
		if trial%3 == 0 { // rows all but alike, where products of rows say little
			for i := range columns * (rows - 1) {
				data[columns+i] = data[i] * (1 + 1e-12*rng.Float64())
			}
		}
		before := slices.Clone(data)
		const bound = 0.7
		if err := Singular(data, rows, columns, bound); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			was, is := before[k*rows*columns:(k+1)*rows*columns], data[k*rows*columns:(k+1)*rows*columns]
			norm, now := spectral(was, rows, columns), spectral(is, rows, columns)
			switch {
			case now > bound:
				t.Fatalf("norm %v after clipping %v to %v", now, norm, bound)
			case norm <= bound*(1-2*Margin) && !slices.Equal(was, is):
				t.Fatalf("a matrix of norm %v was changed", norm)
			case norm > bound && now < bound*(1-2*Margin):
				t.Fatalf("norm %v became %v", norm, now)
			}
		}
	}
}

// Clipping singular values is the nearest matrix within the bound; rows clipped to
// bound/√rows are within it too, and further off.
func TestSingularLeavesMoreThanRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	off := func(a, b []float64) float64 {
		d := make([]float64, len(a))
		for i := range d {
			d[i] = a[i] - b[i]
		}
		return Norm(d)
	}
	for range 100 {
		data := make([]float64, 12)
		for i := range data {
			data[i] = rng.NormFloat64()
		}
		exact, naive := slices.Clone(data), slices.Clone(data)
		if err := Singular(exact, 3, 4, 1); err != nil {
			t.Fatal(err)
		}
		if err := Rows(naive, 4, 1/math.Sqrt(3)); err != nil {
			t.Fatal(err)
		}
		if !(off(exact, data) <= off(naive, data)+1e-6) {
			t.Errorf("%v from the matrix, rows %v", off(exact, data), off(naive, data))
		}
	}
}

func TestSingularRefuses(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e308} {
		data := []float64{bad, bad, 0, 1, 2, 3, 4, 5}
		if err := Singular(data, 2, 2, 100); err != nil {
			t.Fatal(err)
		}
		if largest := spectral(data[:4], 2, 2); !(largest <= 100) {
			t.Errorf("%v: norm %v", bad, largest)
		}
		if !slices.Equal(data[4:], []float64{2, 3, 4, 5}) {
			t.Errorf("%v changed another matrix", bad)
		}
	}
	for want, err := range map[string]error{
		"0×2":    Singular(nil, 0, 2, 1),
		"norm 0": Singular(make([]float64, 4), 2, 2, 0),
		"7":      Singular(make([]float64, 7), 2, 2, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
}

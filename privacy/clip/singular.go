package clip

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Singular clips the singular values of each matrix of data, [n, rows, columns], to
// bound, in place: the exact rule of 004 (Remark A.2), after which the spectral norm is
// at most bound, where Rows with bound/√rows gives the same and clips more. A matrix with
// a number that is not finite, or too large for a norm, becomes zero.
func Singular(data []float64, rows, columns int, bound float64) error {
	if rows < 1 || columns < 1 {
		return fmt.Errorf("clip: matrices of %d×%d; want at least 1×1", rows, columns)
	}
	if err := check(len(data), rows*columns, bound); err != nil {
		return err
	}
	parallel(len(data)/(rows*columns), func(i int) {
		singular(mat.NewDense(rows, columns, data[i*rows*columns:(i+1)*rows*columns]), bound*(1-Margin))
	})
	return nil
}

func singular(m *mat.Dense, bound float64) {
	var svd mat.SVD
	if norm := Norm(m.RawMatrix().Data); norm-norm != 0 || !svd.Factorize(m, mat.SVDThin) {
		m.Zero()
		return
	}
	values := svd.Values(nil) // the largest first
	if values[0] <= bound {
		return
	}
	for k, s := range values {
		values[k] = min(s, bound)
	}
	var u, v, scaled mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	scaled.Mul(&u, mat.NewDiagDense(len(values), values))
	m.Mul(&scaled, v.T())
}

package metric

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// Statistics are the mean and the covariance of points, which is all that the
// Fréchet distance sees of them.
type Statistics struct {
	Count      int // of the points
	Mean       []float64
	Covariance *mat.SymDense // [dim, dim], divided by Count − 1
}

// Dim is the dimension of the points.
func (s *Statistics) Dim() int { return len(s.Mean) }

// rowsAtOnce is how many points are centred at a time, and columnsAtOnce the
// side of the blocks of the covariance that are computed: of those below the
// diagonal nothing is.
const (
	rowsAtOnce    = 1024
	columnsAtOnce = 256
)

// NewStatistics computes the statistics of two points or more, in double
// precision.
func NewStatistics(p transport.Points) (*Statistics, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	n, dim := p.Len(), p.Dim
	if n < 2 {
		return nil, fmt.Errorf("metric: one point has no covariance; need two or more")
	}
	s := &Statistics{Count: n, Mean: make([]float64, dim)}
	for i := range n {
		for c, v := range p.Row(i) {
			s.Mean[c] += float64(v)
		}
	}
	for c := range s.Mean {
		s.Mean[c] /= float64(n)
	}
	sum := blas64.General{Rows: dim, Cols: dim, Stride: dim, Data: make([]float64, dim*dim)}
	centred := make([]float64, min(n, rowsAtOnce)*dim)
	for from := 0; from < n; from += rowsAtOnce {
		rows := min(rowsAtOnce, n-from)
		for i := range rows {
			for c, v := range p.Row(from + i) {
				centred[i*dim+c] = float64(v) - s.Mean[c]
			}
		}
		columns := func(at int) blas64.General {
			return blas64.General{Rows: rows, Cols: min(columnsAtOnce, dim-at), Stride: dim, Data: centred[at:]}
		}
		for i := 0; i < dim; i += columnsAtOnce {
			for j := i; j < dim; j += columnsAtOnce {
				a, b := columns(i), columns(j)
				block := blas64.General{Rows: a.Cols, Cols: b.Cols, Stride: dim, Data: sum.Data[i*dim+j:]}
				blas64.Gemm(blas.Trans, blas.NoTrans, 1/float64(n-1), a, b, 1, block)
			}
		}
	}
	s.Covariance = mat.NewSymDense(dim, sum.Data) // which reads the upper triangle
	return s, nil
}

// check says whether the statistics are whole.
func (s *Statistics) check() error {
	if s == nil || len(s.Mean) == 0 || s.Covariance == nil || s.Covariance.SymmetricDim() != len(s.Mean) {
		return fmt.Errorf("metric: statistics without a mean and a covariance of its size; make them with NewStatistics")
	}
	for i, v := range s.Mean {
		if v-v != 0 {
			return fmt.Errorf("metric: the mean has %v at coordinate %d", v, i)
		}
		for j := i; j < s.Dim(); j++ {
			if v := s.Covariance.At(i, j); v-v != 0 {
				return fmt.Errorf("metric: the covariance has %v at %d, %d", v, i, j)
			}
		}
		if v := s.Covariance.At(i, i); v < 0 {
			return fmt.Errorf("metric: coordinate %d has the variance %v", i, v)
		}
	}
	return nil
}

// Package clip bounds what one record can do to a sum: it clips rows, whole gradients
// and singular values, and states the sensitivity of what comes out. Package
// models/ghost has the norms and sums of single examples' gradients without writing them down.
//
// Every clip maps whatever it is given, NaN and infinities included, to a vector
// of norm at most C (Singular: to a matrix of spectral norm at most C): a record without a finite norm contributes zero, and
// changes nothing about what happens to the others.
package clip

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Float is what the numbers of a row are.
type Float interface{ ~float32 | ~float64 }

// Margin is by how much, relative to C, clipping stays below C. It pays for the
// rounding of norms of up to 2³⁰ numbers (2⁻²³), of clipped numbers to float32
// (2⁻²⁴), and of a sum in float64 (2⁻²¹) of up to 2¹⁶ clipped vectors, one after
// the other, or of 2²⁰ by the Block: a clipped vector, and the difference of two sums,
// never pass the bound that is proved for real numbers.
const Margin = 0x1p-20

// Block is how many vectors are added one after the other. Sums of more add up the sums of
// blocks: of n vectors rounding takes (Block + n/Block)·n of the norm's 2⁻⁵³, not n².
const Block = 1 << 10

// Factor returns what a vector of the given norm is multiplied with so that its
// norm is at most bound: min(1, bound/norm), less the Margin, and 0 for a norm
// that is not finite. It is continuous where it starts to clip.
func Factor(norm, bound float64) float64 {
	bound *= 1 - Margin
	switch {
	case !(norm <= math.MaxFloat64):
		return 0
	case norm <= bound:
		return 1
	}
	return bound / norm
}

// Norm returns ‖v‖₂, computed in float64 without overflow: NaN or +Inf if and
// only if a number in v is not finite or ‖v‖ itself is too large.
func Norm[F Float](v []F) float64 {
	var s0, s1, s2, s3 float64 // side by side: one after the other, additions wait for each other
	i := 0
	for ; i+4 <= len(v); i += 4 {
		four := v[i : i+4 : i+4]
		a, b, c, d := float64(four[0]), float64(four[1]), float64(four[2]), float64(four[3])
		s0, s1, s2, s3 = s0+a*a, s1+b*b, s2+c*c, s3+d*d
	}
	squares := s0 + s1 + s2 + s3
	for _, x := range v[i:] {
		squares += float64(x) * float64(x)
	}
	if squares > 0x1p-900 && squares < 0x1p1000 {
		return math.Sqrt(squares)
	}
	var largest float64
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x))) // NaN stays
	}
	if largest == 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		return largest
	}
	squares = 0
	for _, x := range v {
		squares += (float64(x) / largest) * (float64(x) / largest)
	}
	return largest * math.Sqrt(squares)
}

// Rows clips each row of data, [n, dim], to norm bound, in place.
func Rows[F Float](data []F, dim int, bound float64) error {
	if err := check(len(data), dim, bound); err != nil {
		return err
	}
	each := func(i int) {
		row := data[i*dim : (i+1)*dim]
		scale(row, Factor(Norm(row), bound))
	}
	if len(data) > few {
		parallel(len(data)/dim, each)
		return nil
	}
	for i := range len(data) / dim {
		each(i)
	}
	return nil
}

// few numbers are clipped before another core wakes up.
const few = 1 << 16

// Joint clips several tensors as the one vector they make up together, in
// place: a whole gradient, by its Frobenius norm.
func Joint[F Float](bound float64, tensors ...[]F) error {
	if err := checkBound(bound); err != nil {
		return err
	}
	norms := make([]float64, len(tensors))
	for i, t := range tensors {
		norms[i] = Norm(t)
	}
	factor := Factor(Norm(norms), bound)
	for _, t := range tensors {
		scale(t, factor)
	}
	return nil
}

// Sum returns the sum of the rows of data, [n, dim], each clipped to norm bound.
// The clipped rows are never written down, and the sum does not depend on the
// number of cores.
func Sum[F Float](data []F, dim int, bound float64) ([]float64, error) {
	if err := check(len(data), dim, bound); err != nil {
		return nil, err
	}
	n := len(data) / dim
	partial := make([][]float64, (n+Block-1)/Block) // each enough to occupy a core
	parallel(len(partial), func(b int) {
		sum := make([]float64, dim)
		for i := b * Block; i < min((b+1)*Block, n); i++ {
			row := data[i*dim : (i+1)*dim]
			if factor := Factor(Norm(row), bound); factor > 0 { // 0·NaN is not 0
				for c, x := range row {
					sum[c] += factor * float64(x)
				}
			}
		}
		partial[b] = sum
	})
	sum := make([]float64, dim)
	for _, p := range partial {
		for c, x := range p {
			sum[c] += x
		}
	}
	return sum, nil
}

// scale multiplies in float64 and rounds once. A factor of 0 clears: 0·NaN is
// not 0.
func scale[F Float](v []F, factor float64) {
	switch factor {
	case 1:
	case 0:
		clear(v)
	default:
		for i, x := range v {
			v[i] = F(factor * float64(x))
		}
	}
}

// Norms that rows can be clipped to: the smallest is far above the numbers that float32
// cannot tell from zero, so that relative rounding errors are all there are.
const (
	Smallest = 0x1p-64
	Largest  = math.MaxFloat32
)

func checkBound(bound float64) error {
	if !(bound >= Smallest && bound <= Largest) {
		return fmt.Errorf("clip: clipping norm %v; it must be finite and above 0 (at least %.2g, at most %.2g)", bound, Smallest, Largest)
	}
	return nil
}

func check(length, dim int, bound float64) error {
	if dim < 1 || length%dim != 0 {
		return fmt.Errorf("clip: %d numbers do not divide into rows of %d; give [n, dim] numbers, dim at least 1", length, dim)
	}
	return checkBound(bound)
}

// parallel calls work for 0 … n−1 on all cores, a run of indices at a time.
func parallel(n int, work func(i int)) {
	workers := runtime.GOMAXPROCS(0)
	run := max(1, n/(8*workers))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for from := int(next.Add(int64(run))) - run; from < n; from = int(next.Add(int64(run))) - run {
				for i := from; i < min(from+run, n); i++ {
					work(i)
				}
			}
		})
	}
	group.Wait()
}

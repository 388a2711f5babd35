package semidebiased

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// Costs that a device computes for exact plans are those of the host to all but the last
// bits of double precision: single precision would move the plans of a small λ. Of the sizes
// of 001, with more real rows than there is room for, and with none.
func TestCostsOfADeviceMakeTheSamePlans(t *testing.T) {
	const n, room, dim = 50, 53, 784
	l := Loss{Debiasing: 0.4, Absolute: 1, LabelScale: 15, Classes: 10, Entropy: 0.05, Iterations: 150, Tolerance: 1e-3}
	total, _ := l.Split(n)
	x := rows(total, dim, 10, 1)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		e, err := l.Exact(n, room, dim)
		if err != nil {
			t.Fatal(err)
		}
		exec, err := NewExec(b.Engine, func(in []*Node) []*Node { return e.Head(in[0], in[1:]) })
		if err != nil {
			t.Fatal(err)
		}
		defer exec.Finalize()
		for _, count := range []int{0, 1, 41, 60} {
			real := rows(count, dim, 10, 2)
			if count > 1 {
				real.Data[3] = float32(math.NaN())
			}
			want, err := e.Gradient(x, real)
			if err != nil {
				t.Fatal(err)
			}
			in, err := e.Feed(b, x.Labels, real)
			if err != nil {
				t.Fatal(err)
			}
			made := tensors.FromFlatDataAndDimensions(x.Data, total, dim)
			all := []any{made}
			for _, t := range in.Tensors {
				all = append(all, t)
			}
			out, err := exec.Call(all...)
			if err != nil {
				t.Fatal(err)
			}
			fetch := func(of *tensors.Tensor) []float32 {
				numbers := make([]float32, of.Size())
				if err := backend.Fetch(b, of, numbers); err != nil {
					t.Fatal(err)
				}
				return numbers
			}
			packed, back := fetch(out[0]), fetch(out[1])
			backend.Free(append(append(in.Tensors, made), out...))
			last := len(packed) - 1
			if packed[last] != 1 || !slices.Equal(back, x.Data) {
				t.Fatalf("generated rows came back otherwise, finite: %v", packed[last])
			}
			got, err := e.Unpack(packed[:last], func() ([]float32, error) { return back, nil }, in)
			if err != nil {
				t.Fatal(err)
			}
			var apart, size float64
			for i, v := range want.ByX {
				apart, size = max(apart, math.Abs(float64(v-got.ByX[i]))), max(size, math.Abs(float64(v)))
			}
			if !(apart <= 1e-6*size) || !(math.Abs(got.Loss-want.Loss) <= 1e-9*math.Abs(want.Loss)) || !(math.Abs(got.MarginalError-want.MarginalError) <= 1e-6) {
				t.Errorf("%d real rows: gradients of up to %v are %v apart; loss %v, on the host %v; marginal errors %v and %v", count, size, apart, got.Loss, want.Loss, got.MarginalError, want.MarginalError)
			}
		}
	})
}

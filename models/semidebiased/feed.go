package semidebiased

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport"
)

// Fed is what a Head takes beside generated rows, on the device, and what of it the host has
// to remember.
type Fed struct {
	// Tensors are labels of generated rows; real rows, [room, dim], their labels, and weights.
	Tensors []*tensors.Tensor
	real    Batch // those that count
	empty   bool  // none does
}

// Free releases the tensors.
func (f Fed) Free() { backend.Free(f.Tensors) }

// Feed puts on a device what stands beside generated rows with labels. Where no real row
// counts, one of zeros stands for them, whose pull is to be taken back.
func (s sizes) Feed(on *backend.Backend, labels []int, real Batch) (in Fed, err error) {
	if err := s.checkReal(real); err != nil {
		return Fed{}, err
	}
	in.real = s.counting(real)
	in.empty = in.real.Len() == 0
	y, labelsY, weights := s.pad(in.real)
	for _, put := range []func() (*tensors.Tensor, error){
		func() (*tensors.Tensor, error) { return backend.Put(on, int32s(labels), len(labels)) },
		func() (*tensors.Tensor, error) { return backend.Put(on, y, s.room, s.dim) },
		func() (*tensors.Tensor, error) { return backend.Put(on, labelsY, s.room) },
		func() (*tensors.Tensor, error) { return backend.Put(on, weights, s.room) },
	} {
		t, err := put()
		if err != nil {
			in.Free()
			return Fed{}, err
		}
		in.Tensors = append(in.Tensors, t)
	}
	return in, nil
}

// counting returns the real rows that count: of the first ones, as many as there is room
// for, those whose numbers are finite.
func (s sizes) counting(real Batch) Batch {
	some := make([]int, 0, s.room)
	for i := range min(real.Len(), s.room) {
		if transport.Finite(real.Row(i)) {
			some = append(some, i)
		}
	}
	if len(some) == real.Len() {
		return real
	}
	return real.Subset(some)
}

// pad puts real rows into their fixed shape, with weight 1, or one of zeros where there are
// none.
func (s sizes) pad(real Batch) (y []float32, labels []int32, weights []float32) {
	y, labels, weights = make([]float32, s.room*s.dim), make([]int32, s.room), make([]float32, s.room)
	weights[0] = 1
	copy(y, real.Data)
	for i, label := range real.Labels {
		labels[i], weights[i] = int32(label), 1
	}
	return y, labels, weights
}

// packed are results of a head in one vector, and 1 behind them where all that was
// generated is finite, else 0.
func packed(x *Node, results ...*Node) *Node {
	results = append(slices.Clone(results), ConvertDType(LogicalAll(IsFinite(x)), x.DType()))
	for i, r := range results {
		results[i] = Reshape(r, r.Shape().Size())
	}
	return Concatenate(results, 0)
}

func int32s(values []int) []int32 {
	out := make([]int32, len(values))
	for i, v := range values {
		out[i] = int32(v)
	}
	return out
}

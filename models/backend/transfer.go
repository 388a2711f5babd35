package backend

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// Put puts numbers on the backend's device, [dims...], without another copy of them on the
// host.
func Put[T float32 | int32](b *Backend, numbers []T, dims ...int) (*tensors.Tensor, error) {
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	if shape.Size() != len(numbers) {
		return nil, fmt.Errorf("backend: %d numbers for a tensor of shape %s", len(numbers), shape)
	}
	buffer, err := b.Engine.BufferFromFlatData(0, numbers, shape)
	if err == nil {
		var t *tensors.Tensor
		if t, err = tensors.FromBuffer(buffer); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("backend: %d numbers to %s: %w", len(numbers), b, err)
}

// Free releases tensors on their device, whose memory the garbage collector does not see.
func Free(all []*tensors.Tensor) {
	for _, t := range all {
		t.MustFinalizeAll()
	}
}

// Fetch copies the numbers of a tensor on the backend's device into to.
func Fetch(b *Backend, t *tensors.Tensor, to []float32) error {
	if t.DType() != dtypes.Float32 || t.Size() != len(to) {
		return fmt.Errorf("backend: a tensor of shape %s into %d numbers of 32 bits", t.Shape(), len(to))
	}
	buffer, err := t.Buffer(b.Engine, 0)
	if err == nil {
		err = buffer.ToFlatData(to)
	}
	if err != nil {
		return fmt.Errorf("backend: a tensor of shape %s from %s: %w", t.Shape(), b, err)
	}
	return nil
}

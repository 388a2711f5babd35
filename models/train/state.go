package train

import (
	"io"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"molehill/models/layer"
	"molehill/pkg/npy"
)

// largest bounds what a saved state may unpack to, in bytes.
const largest = 1 << 30

// Save writes parameters, and moments, counters and averages of the optimiser, with
// metadata beside them.
func (t *Trainer) Save(w io.Writer, metadata any) error {
	var arrays []npy.Array[float32]
	for v := range t.store.IterVariables() {
		if v.DType() != dtypes.Float32 {
			continue // GoMLX's global step, which nothing here reads
		}
		name := strings.TrimPrefix(v.Path(), "/")
		value, err := t.value(name)
		if err != nil {
			return err
		}
		arrays = append(arrays, npy.Array[float32]{Name: name, Shape: v.Shape().Dimensions, Value: value})
	}
	// The order in which variables came about is another after Restore.
	slices.SortFunc(arrays, func(a, b npy.Array[float32]) int { return strings.Compare(a.Name, b.Name) })
	return npy.WriteArchive(w, metadata, arrays)
}

// Reset puts params, which are of the network, in the place of what was learned, and
// forgets what the optimiser remembers: as a new trainer, but that its programs are
// compiled. On the same backend its steps have the results of a new one's to the last
// bit.
func (t *Trainer) Reset(params layer.Params) error {
	if err := t.put(params); err != nil {
		return err
	}
	for _, p := range t.passages {
		p.forget() // what other parameters have made
	}
	at := 0
	for v := range t.store.IterVariables() {
		if late := at >= t.first; late && v.DType() == dtypes.Float32 {
			if err := t.set(strings.TrimPrefix(v.Path(), "/"), v.Shape().Dimensions, make([]float32, v.Shape().Size())); err != nil {
				return err
			}
		}
		at++
	}
	return nil
}

// Restore continues from what Save has written of the same network and optimiser, if
// check, called once metadata is decoded, agrees. On the same backend the next steps
// have the same results to the last bit.
func (t *Trainer) Restore(r io.Reader, metadata any, check func() error) error {
	arrays, err := npy.ReadArchive[float32](r, largest, metadata)
	if err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	for _, p := range t.passages {
		p.forget() // what other parameters have made
	}
	at := 0
	for v := range t.store.IterVariables() {
		name := strings.TrimPrefix(v.Path(), "/")
		_, saved := arrays[name]
		if late := at >= t.first; late && !saved { // it starts at 0 in the first step, which was not made yet
			arrays[name] = npy.Array[float32]{Name: name, Shape: v.Shape().Dimensions, Value: make([]float32, v.Shape().Size())}
		}
		if at++; v.DType() != dtypes.Float32 {
			delete(arrays, name)
			continue
		}
		if _, err := arrays.Take(name, v.Shape().Dimensions...); err != nil {
			return err
		}
	}
	for _, a := range arrays {
		if err := t.set(a.Name, a.Shape, a.Value); err != nil {
			return err
		}
	}
	return nil
}

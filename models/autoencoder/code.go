package autoencoder

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/layer"
)

// codeBatch is the number of rows that Encode and Decode pass through the
// network at a time: 250 of DefaultConfig, and as many of others as have
// activations of about that size. One size means one compilation.
func (c Config) codeBatch() int {
	usual := DefaultConfig
	return min(250, max(1, 250*usual.Side*usual.Side*usual.Width/(c.Side*c.Side*c.Width)))
}

// Encode maps images [n, Side·Side·Channels] to latents [n, Latent] of norm at
// most 1. Pixels are taken as in [0, 1]: values outside are clamped, NaN is 0,
// so that each row has a defined, bounded latent that no other row influences.
func (a *Autoencoder) Encode(ctx context.Context, b *backend.Backend, images []float32) ([]float32, error) {
	if _, err := a.Config.countImages(images); err != nil {
		return nil, err
	}
	c := a.Config
	return a.apply(ctx, keyOf(b, "encode"), b, c.encoder(), images, c.frame(), c.Latent, pixel)
}

// Decode maps latents [n, Latent] to images [n, Side·Side·Channels] in [0, 1].
// Coordinates that are not finite count as 0.
func (a *Autoencoder) Decode(ctx context.Context, b *backend.Backend, latents []float32) ([]float32, error) {
	c := a.Config
	if len(latents)%c.Latent != 0 {
		return nil, fmt.Errorf("autoencoder: %d latent values are not a whole number of rows of %d", len(latents), c.Latent)
	}
	return a.apply(ctx, keyOf(b, "decode"), b, c.decoder(), latents, []int{c.Latent}, c.Dim(), coordinate)
}

// pixel clamps v to [0, 1] and makes NaN 0.
func pixel(v float32) float32 {
	if v > 0 { // false for NaN
		return min(v, 1)
	}
	return 0
}

// coordinate makes non-finite values 0.
func coordinate(v float32) float32 {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return 0
	}
	return v
}

// program is one direction of the network, compiled for a backend, with its
// weights there.
type program struct {
	exec    *graph.Exec
	weights []any // *tensors.Tensor
}

// program returns the compiled half of the network that key names.
func (a *Autoencoder) program(key programKey, b *backend.Backend, half layer.Sequence) (*program, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.programs[key]; ok {
		return p, nil
	}
	exec, err := graph.NewExec(b.Engine, func(in []*graph.Node) *graph.Node { return half.Apply(in[0], in[1:]) })
	if err != nil {
		return nil, fmt.Errorf("autoencoder: %s on %s: %w", key.name, b, err)
	}
	p := &program{exec: exec}
	wanted := map[string]bool{}
	for _, spec := range half.Params() {
		wanted[spec.Name] = true
	}
	for _, param := range a.params {
		if wanted[param.Name] {
			p.weights = append(p.weights, tensors.FromFlatDataAndDimensions(param.Value, param.Shape...))
		}
	}
	if a.programs == nil {
		a.programs = map[programKey]*program{}
	}
	a.programs[key] = p
	return p, nil
}

// apply runs rows of shape in through half of the network, codeBatch at a
// time, the last batch filled up with zeros, and returns rows of out values.
// Each value passes through clean first.
func (a *Autoencoder) apply(ctx context.Context, key programKey, b *backend.Backend, half layer.Sequence,
	rows []float32, in []int, out int, clean func(float32) float32) ([]float32, error) {
	width := 1
	for _, dim := range in {
		width *= dim
	}
	n := len(rows) / width
	results := make([]float32, n*out)
	if n == 0 {
		return results, nil
	}
	p, err := a.program(key, b, half)
	if err != nil {
		return nil, err
	}
	size := a.Config.codeBatch()
	err = backend.Batches(ctx, n, size, func(first, last int) error {
		values := make([]float32, size*width)
		for i, v := range rows[first*width : last*width] {
			values[i] = clean(v)
		}
		x := tensors.FromFlatDataAndDimensions(values, append([]int{size}, in...)...)
		defer x.MustFinalizeAll()
		outputs, err := p.exec.Call(append([]any{x}, p.weights...)...)
		if err == nil {
			defer backend.Free(outputs)
			err = tensors.ConstFlatData(outputs[0], func(flat []float32) { copy(results[first*out:last*out], flat) })
		}
		if err != nil {
			return fmt.Errorf("autoencoder: %s on %s: %w", key.name, b, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

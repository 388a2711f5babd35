package inception

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/transport"
)

// How many images pass through the network at a time. An image's largest activations take
// 6 MB; on a CPU the time per image is the same from 8 images on.
const (
	largestBatch    = 16
	largestOnDevice = 64
)

// largestSide bounds the images, in pixels.
const largestSide = 4096

// Features returns the features of n images, [n, Dim].
//
// images are [n, height·width·channels] in the order row, column, channel, with
// values in [0, 1]; height and width are at most 4096, channels 1 (grey) or 3
// (red, green, blue). They are rounded to the 256 levels of a picture file
// first, ⌊255·v + ½⌋, since that is what the reference reads: a value outside
// [0, 1] is clamped, NaN is 0. The resize to 299×299 is the network's own (see
// interpolation).
//
// At most 16 images are worked on at a time, 64 on a device, twice; a call with fewer
// compiles a program of its own. progress, which may be nil, is called as images are
// done, by one goroutine at a time. Errors are about shapes, ctx's, or the
// backend's.
func (n *Network) Features(ctx context.Context, b *backend.Backend, images []float32, height, width, channels int, progress func(done, total int)) (transport.Points, error) {
	if height < 1 || width < 1 || height > largestSide || width > largestSide || channels != 1 && channels != 3 {
		return transport.Points{}, fmt.Errorf("inception: images of %d×%d pixels with %d channels; expected sides of 1 to %d pixels, and 1 (grey) or 3 (colour) channels", height, width, channels, largestSide)
	}
	pixels := height * width * channels
	if len(images) == 0 || len(images)%pixels != 0 {
		return transport.Points{}, fmt.Errorf("inception: %d pixel values are not one or more images of %d×%d×%d values", len(images), height, width, channels)
	}
	total, most := len(images)/pixels, largestOnDevice
	if b.OnCPU() {
		most = largestBatch
	}
	s := shape{b.Engine, min(total, most), height, width, channels}
	p, err := n.program(s)
	if err != nil {
		return transport.Points{}, fmt.Errorf("inception: on %s: %w", b, err)
	}
	features := transport.NewPoints(total, n.dim)
	report := newReporter(total, progress)
	err = backend.Batches(ctx, total, s.batch, func(first, last int) error {
		result, err := p.run(images[first*pixels : last*pixels])
		if err != nil {
			return fmt.Errorf("inception: on %s: %w", b, err)
		}
		copy(features.Data[first*n.dim:last*n.dim], result)
		report.add(last - first)
		return nil
	})
	if err != nil {
		return transport.Points{}, err
	}
	if err := features.Check(); err != nil {
		return transport.Points{}, fmt.Errorf("inception: on %s: a feature is not finite: %w", b, err)
	}
	return features, nil
}

// shape names what a program is compiled for.
type shape struct {
	engine                         compute.Backend
	batch, height, width, channels int
}

// program is the network compiled for a shape, with its weights on the device.
type program struct {
	shape   shape
	exec    *graph.Exec
	weights []any // *tensors.Tensor
}

// program returns the network compiled for s.
func (n *Network) program(s shape) (*program, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ok := n.programs[s]; ok {
		return p, nil
	}
	network := layers(n.dim)
	exec, err := graph.NewExec(s.engine, func(in []*graph.Node) *graph.Node {
		return graph.ReduceMean(network.Apply(prepare(in[0]), in[1:]), 1, 2)
	})
	if err != nil {
		return nil, err
	}
	p := &program{shape: s, exec: exec}
	for _, param := range n.params {
		p.weights = append(p.weights, tensors.FromFlatDataAndDimensions(param.Value, param.Shape...))
	}
	if n.programs == nil {
		n.programs = map[shape]*program{}
	}
	n.programs[s] = p
	return p, nil
}

// run returns the features of as many images as the program takes or fewer,
// whose places zeros fill.
func (p *program) run(images []float32) (features []float32, err error) {
	s := p.shape
	values := make([]float32, s.batch*s.height*s.width*s.channels)
	for i, v := range images {
		values[i] = level(v)
	}
	x := tensors.FromFlatDataAndDimensions(values, s.batch, s.height, s.width, s.channels)
	defer x.MustFinalizeAll()
	outputs, err := p.exec.Call(append([]any{x}, p.weights...)...)
	if err != nil {
		return nil, err
	}
	defer outputs[0].MustFinalizeAll()
	count := len(images) / (s.height * s.width * s.channels)
	err = tensors.ConstFlatData(outputs[0], func(flat []float32) {
		features = append(features, flat[:count*len(flat)/s.batch]...)
	})
	return features, err
}

// level rounds a value in [0, 1] to one of the 256 levels 0…255.
func level(v float32) float32 {
	if v > 0 { // false for NaN
		return float32(math.Floor(255*float64(min(v, 1)) + 0.5))
	}
	return 0
}

// reporter counts what is done for a callback that is called by one goroutine
// at a time.
type reporter struct {
	mu          sync.Mutex
	done, total int
	each        func(done, total int)
}

func newReporter(total int, each func(done, total int)) *reporter {
	return &reporter{total: total, each: each}
}

func (r *reporter) add(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += count
	if r.each != nil {
		r.each(r.done, r.total)
	}
}

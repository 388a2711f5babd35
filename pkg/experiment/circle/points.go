package circle

import (
	"math"

	"molehill/models/layer"
	"molehill/privacy/noise"
	"molehill/transport"
)

// radius of the circle that Z is on (004 D.2).
const radius = 0.75

// Points returns n points of the circle of radius ¾ about the origin, uniformly.
func Points(n int, public noise.Source, label string) transport.Points {
	p, r := transport.NewPoints(n, 2), public.Stream(label, 0)
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * r.Float64())
		p.Data[2*i], p.Data[2*i+1] = float32(radius*cos), float32(radius*sin)
	}
	return p
}

// normal returns n points of the standard normal distribution in the plane.
func normal(n int, public noise.Source, label string) transport.Points {
	p, r := transport.NewPoints(n, 2), public.Stream(label, 0)
	for i := range p.Data {
		p.Data[i] = float32(r.NormFloat64())
	}
	return p
}

// network is g: three hidden layers, of 128, 64 and 64. 004 does not name its
// activation. It is a generator.Design.
type network struct{}

func (network) Check() error              { return nil }
func (network) Size() (input, output int) { return 2, 2 }
func (network) Network() layer.Layer      { return layers() }

func layers() layer.Sequence {
	return layer.Sequence{
		layer.Dense{Name: "hidden1", In: 2, Out: 128}, layer.ReLU,
		layer.Dense{Name: "hidden2", In: 128, Out: 64}, layer.ReLU,
		layer.Dense{Name: "hidden3", In: 64, Out: 64}, layer.ReLU,
		layer.Dense{Name: "output", In: 64, Out: 2},
	}
}

package generator

import (
	"fmt"

	"molehill/transport"
)

// Forward returns what the generator makes of noise in training, [n, output], with
// the statistics of this batch.
func (g *Generator) Forward(noise transport.Points) (transport.Points, error) {
	if err := g.expect(noise); err != nil {
		return transport.Points{}, err
	}
	made, err := g.passage.Forward(matrix(noise))
	if err != nil {
		return transport.Points{}, fmt.Errorf("generator: %w", err)
	}
	g.made = noise.Len()
	g.forwards++
	return g.points(made[0])
}

// ByParameters turns a gradient by what Forward has made last, [n, output], into one by
// all parameters, [Parameters]. Nothing moves. It needs a Forward since the last step.
func (g *Generator) ByParameters(byOutput []float32) ([]float32, error) {
	if len(byOutput) != g.made*g.output {
		return nil, fmt.Errorf("generator: a gradient by %d numbers of an output of %d; give one for each number that Forward has made", len(byOutput), g.made*g.output)
	}
	gradient, err := g.passage.Gradient(matrix(transport.Points{Dim: g.output, Data: byOutput}))
	if err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return gradient, nil
}

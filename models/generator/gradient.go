package generator

import (
	"errors"
	"fmt"
	"slices"

	"molehill/transport"
)

// Forward returns what the generator makes of noise in training, [n, output], with
// the statistics of this batch.
func (g *Generator) Forward(noise transport.Points) (transport.Points, error) {
	if err := g.expect(noise); err != nil {
		return transport.Points{}, err
	}
	return g.run(g.forward, noise)
}

// errLooked ends a step that was made for its gradient alone.
var errLooked = errors.New("the gradient was all that was wanted")

// ByParameters turns a gradient by what Forward makes of noise, [n, output], into one
// by all parameters, [Parameters]. Nothing moves.
func (g *Generator) ByParameters(noise transport.Points, byOutput []float32) (gradient []float32, err error) {
	if err := g.expect(noise); err != nil {
		return nil, err
	}
	if len(byOutput) != noise.Len()*g.output {
		return nil, fmt.Errorf("generator: a gradient by %d numbers of an output of %d", len(byOutput), noise.Len()*g.output)
	}
	velocity := transport.NewPoints(noise.Len(), g.output)
	for i, v := range byOutput {
		velocity.Data[i] = -float32(noise.Len()) * v
	}
	_, err = g.learnChanged.Run(0, func(found []float32) error {
		gradient = slices.Clone(found)
		return errLooked
	}, matrix(noise), matrix(velocity))
	if !errors.Is(err, errLooked) {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return gradient, nil
}

package generator

import (
	"fmt"

	"molehill/transport"
)

// Step makes a step of the optimiser: velocity is given the generator's output of
// noise, [n, input], and returns where each point of it should go, [n, output]: of a
// loss with gradient G by the output, −n·G. It must leave the generator as it is.
func (g *Generator) Step(noise transport.Points, rate float64, velocity func(x transport.Points) ([]float32, error)) error {
	byOutput, err := g.pull(noise, velocity)
	if err != nil {
		return err
	}
	if err := g.passage.Step(rate, matrix(byOutput)); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	return nil
}

// StepByParameters is Step for a velocity that must not be followed as it is: sanitise
// is given the gradient of the loss by all parameters, [Parameters], and bounds it and
// adds noise, in place. The optimiser goes by what sanitise leaves there, so that its
// moments, weight decay and averages come after. Where sanitise returns an error no
// parameter moves.
//
// This is gradient perturbation as DP-SGD has it, which 001 (Table 2) compares with
// noise on the gradient by the images: velocity may then be of private records, and
// nothing of it but the gradient goes on. Statistics that a network tracks
// (layer.BatchNorm, layer.Spectral) need no noise, as they are those of generated
// rows and of weights alone.
func (g *Generator) StepByParameters(noise transport.Points, rate float64, velocity func(x transport.Points) ([]float32, error), sanitise func(gradient []float32) error) error {
	byOutput, err := g.pull(noise, velocity)
	if err != nil {
		return err
	}
	if err := g.passage.StepChanged(rate, matrix(byOutput), sanitise); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	return nil
}

// Parameters is the number of values that the generator learns, which is that of the
// gradient that StepByParameters hands out: of the network's parameters in their
// order, without tracked statistics.
func (g *Generator) Parameters() int { return g.trainer.Learned() }

// pull returns the gradient by the output that velocity of what the generator makes of
// noise in training stands for, [n, output]: −velocity/n.
func (g *Generator) pull(noise transport.Points, velocity func(x transport.Points) ([]float32, error)) (transport.Points, error) {
	x, err := g.Forward(noise)
	if err != nil {
		return x, err
	}
	if err := finite(x); err != nil {
		return x, err
	}
	seen := g.forwards
	v, err := velocity(x)
	if err != nil {
		return x, err
	}
	if g.forwards != seen {
		return x, fmt.Errorf("generator: the velocity has had the generator make something else; it is for what it is given")
	}
	if len(v) != len(x.Data) {
		return x, fmt.Errorf("generator: %d velocities for %d coordinates; give one each", len(v), len(x.Data))
	}
	byOutput, n := transport.NewPoints(x.Len(), x.Dim), float32(x.Len())
	for i, v := range v {
		byOutput.Data[i] = -v / n
	}
	return byOutput, nil
}

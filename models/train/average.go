package train

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
)

// average builds what a step does to the average of the parameters: it moves to their
// new values by one part in the weight of all steps. So it is a mean at every step,
// without a bias to correct, and nothing is lost where β is close to 1. Statistics
// that layers track are averaged, too.
func (t *Trainer) average(g *graph.Graph) {
	weight := t.variable(averageWeight)
	sum := graph.AddScalar(graph.MulScalar(weight.NodeValue(g), t.optimizer.Average), 1)
	weight.SetNodeValue(sum)
	for _, spec := range t.specs {
		mean := t.variable(averagePrefix + spec.Name)
		before := mean.NodeValue(g)
		mean.SetNodeValue(graph.Add(before, graph.Div(graph.Sub(t.variable(spec.Name).NodeValue(g), before), sum)))
	}
}

// Average returns the parameters' average over the steps (Optimizer.Average); before
// the first step these are the parameters themselves.
func (t *Trainer) Average() (layer.Params, error) {
	if err := t.averages(); err != nil {
		return nil, err
	}
	return t.params(averagePrefix)
}

// InferenceOfAverage is Inference with the parameters' average (Optimizer.Average).
func (t *Trainer) InferenceOfAverage() (*Program, error) {
	if err := t.averages(); err != nil {
		return nil, err
	}
	return t.compile(averagePrefix, t.apply)
}

func (t *Trainer) averages() error {
	if t.optimizer.Average == 0 {
		return fmt.Errorf("train: this optimiser keeps no average; set Optimizer.Average, such as to 0.999")
	}
	return nil
}

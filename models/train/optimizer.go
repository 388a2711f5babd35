package train

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"molehill/models/layer"
)

// Names of optimisers.
const (
	// Adam is Kingma & Ba's (2015), with their β₁ = 0.9, β₂ = 0.999 and ε = 1e-8.
	Adam = "adam"
	// SGD moves by the gradient, or by its running sum if there is momentum.
	SGD = "sgd"
)

// Optimizer is how a step moves parameters. The zero value is Adam. Weight decay and
// momentum are those of PyTorch's Adam and SGD.
type Optimizer struct {
	Name string `json:"name"` // Adam or SGD; "" is Adam

	// WeightDecay λ ≥ 0 adds λ·parameter to each gradient, before anything else is
	// made of it. (It is not AdamW's, which goes past the moments.)
	WeightDecay float64 `json:"weight_decay"`

	// Momentum μ in [0, 1) of SGD: a step goes along b ← μ·b + gradient, b from 0.
	Momentum float64 `json:"momentum"`

	// Average β in [0, 1) keeps, beside the parameters, their average over the steps
	// made so far, which gives a step β times the weight of the next one; 0 keeps
	// none. Where gradients are noisy it has less of the noise than the last
	// parameters. It weighs about 1/(1−β) steps, early on all of them, and the
	// parameters before the first step count nothing.
	Average float64 `json:"average"`
}

// Check says what is wrong with the optimiser.
func (o Optimizer) Check() error {
	switch {
	case o.Name != "" && o.Name != Adam && o.Name != SGD:
		return fmt.Errorf("train: there is no optimiser %q; take %q or %q", o.Name, Adam, SGD)
	case !(o.WeightDecay >= 0) || math.IsInf(o.WeightDecay, 0):
		return fmt.Errorf("train: a weight decay of %v; take 0 or a small number, such as 1e-5", o.WeightDecay)
	case !(o.Momentum >= 0 && o.Momentum < 1):
		return fmt.Errorf("train: a momentum of %v; take a number from 0 to below 1, such as 0.9", o.Momentum)
	case o.Momentum > 0 && o.Name != SGD:
		return fmt.Errorf("train: a momentum of %v for %s, which has its own; leave it 0", o.Momentum, Adam)
	case !(o.Average >= 0 && o.Average < 1):
		return fmt.Errorf("train: an average with β = %v; take a number from 0 to below 1, such as 0.999", o.Average)
	}
	return nil
}

// Complete returns the optimiser with its name filled in, so that equal ones compare
// as equal.
func (o Optimizer) Complete() Optimizer {
	if o.Name == "" {
		o.Name = Adam
	}
	return o
}

// What is remembered between steps beside the library's own, by prefixes of
// parameters' names.
const (
	averagePrefix  = "average/"
	momentumPrefix = "momentum/"
	// averageWeight is the sum of the weights of the steps in the average.
	averageWeight = "averaged/weight"
)

// remember puts what the optimiser remembers from step to step beside parameters, but
// for Adam's moments, which the library makes in the first step.
func (t *Trainer) remember(params layer.Params) error {
	for i, spec := range t.specs {
		if t.optimizer.Momentum > 0 && !spec.Tracked {
			if err := t.set(momentumPrefix+spec.Name, spec.Shape, make([]float32, spec.Size())); err != nil {
				return err
			}
		}
		if t.optimizer.Average > 0 {
			if err := t.set(averagePrefix+spec.Name, spec.Shape, params[i].Value); err != nil {
				return err
			}
		}
	}
	if t.optimizer.Average > 0 {
		return t.set(averageWeight, nil, []float32{0})
	}
	return nil
}

// learned returns those of the parameters that an optimiser moves.
func learned[T any](t *Trainer, of []T) (moved []T) {
	for i, spec := range t.specs {
		if !spec.Tracked {
			moved = append(moved, of[i])
		}
	}
	return moved
}

// byGradients is an optimiser of GoMLX that takes gradients from elsewhere.
type byGradients interface {
	UpdateGraphWithGradients(scope *model.Scope, gradients []*graph.Node, dtype dtypes.DType)
}

// move builds a step along gradients, of the loss by each of the learned weights, and
// gives tracked parameters their values after it, where there is one.
func (t *Trainer) move(scope *model.Scope, rate *graph.Node, weights, gradients, after []*graph.Node) {
	o := t.optimizer
	along := make([]*graph.Node, len(gradients))
	specs := learned(t, t.specs)
	for k, weight := range learned(t, weights) {
		along[k] = gradients[k]
		if o.WeightDecay > 0 {
			along[k] = graph.Add(along[k], graph.MulScalar(weight, o.WeightDecay))
		}
		if o.Momentum > 0 {
			b := t.variable(momentumPrefix + specs[k].Name)
			along[k] = graph.Add(graph.MulScalar(b.NodeValue(rate.Graph()), o.Momentum), along[k])
			b.SetNodeValue(along[k])
		}
	}
	optimizer.LearningRateVar(scope, dtypes.Float32, 0.001).SetNodeValue(rate)
	var library byGradients = optimizer.StochasticGradientDescent().WithDecay(false)
	if o.Complete().Name == Adam {
		library = optimizer.Adam().Epsilon(1e-8).Done().(byGradients)
	}
	library.UpdateGraphWithGradients(scope, along, dtypes.Float32)
	for i, spec := range t.specs {
		if spec.Tracked && after[i] != nil {
			t.variable(spec.Name).SetNodeValue(after[i])
		}
	}
	if o.Average > 0 {
		t.average(rate.Graph())
	}
}

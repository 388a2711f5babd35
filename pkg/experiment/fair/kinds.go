// Package fair trains models that treat two groups of people alike and keep their
// records private: Learning with Differentially Private Sliced Wasserstein Gradients
// (004), Section 7 and Appendix C. Each task of the paper is an experiment.
//
//	fair-classification   a label (C.3)
//	fair-regression       a response in the plane (C.4)
//	fair-regression-1d    a number (Remark C.4)
//	fair-representation   an encoding in the plane (C.5)
//	fair-adult            a label of people of a census (Remark C.3)
//
// Beside them are what 004 compares with: fair-regression-1d-post, fair-adult-ermi and
// fair-adult-lagrangian.
//
// The loss is (1−α) times that of the task plus α times a sliced Wasserstein distance
// between what the model makes of the two groups.
package fair

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// kind is a task.
type kind struct {
	plugin.Info
	labels bool // predicts a label, so that odds can be compared
	hidden int  // least width of hidden layers
	config func(experiment.Preset) Config
	model  func(c *Config, dim int) matching.Model
	target func(*Records) ([]float32, error) // what is to be predicted, [n, …]
	// measure adds what a task is measured by, of outputs of g, [n, …], and φ, [n, d],
	// on records that the model has not seen.
	measure func(m run.Values, r *Records, output, inner []float32) error
}

// kinds are registered as experiments.
var kinds = []*kind{
	{Info: plugin.Info{Name: "fair-classification", Version: "3", Source: "004 C.3",
		Summary: "private logistic regression whose scores are to be distributed alike in two groups, or in those of each label"},
		labels: true, config: classification, model: logistic, target: (*Records).labels, measure: measureDecisions},
	{Info: plugin.Info{Name: "fair-regression", Version: "3", Source: "004 C.4",
		Summary: "private regression of two numbers whose predictions are to be distributed alike in two groups"},
		hidden: 1, config: regression, model: planar, target: (*Records).responses, measure: measurePlane},
	{Info: plugin.Info{Name: "fair-regression-1d", Version: "3", Source: "004 Remark C.4",
		Summary: "private regression of a number whose predictions are to be distributed alike in two groups"},
		hidden: 1, config: line, model: number, target: (*Records).sums, measure: measureLine},
	{Info: plugin.Info{Name: "fair-representation", Version: "3", Source: "004 C.5",
		Summary: "private autoencoder whose codes in the plane are to be distributed alike in two groups"},
		hidden: 1, config: representation, model: autoencoder, target: (*Records).features, measure: measureCodes},
}

func init() {
	for _, k := range kinds {
		experiment.Registry.Register(Experiment{k})
	}
}

// logistic is g(x) = 1/(1+exp(−⟨w, x⟩−b)) with cross-entropy.
func logistic(_ *Config, dim int) matching.Model {
	return matching.Model{
		Input: []int{dim}, Outputs: 1, Target: []int{1}, Loss: crossEntropy,
		Inner: layer.Sequence{layer.Dense{Name: "score", In: dim, Out: 1}, layer.Func(graph.Sigmoid)},
	}
}

// planar predicts in [−½, ½]²: two layers, and a sigmoid minus ½.
func planar(c *Config, dim int) matching.Model {
	centred := layer.Func(func(x *graph.Node) *graph.Node { return graph.AddScalar(graph.Sigmoid(x), -0.5) })
	return matching.Model{
		Input: []int{dim}, Outputs: 2, Target: []int{2}, Loss: squaredError,
		Inner: append(twoLayers("", dim, c.Hidden, 2), centred),
	}
}

// number predicts one: two layers. 004 tells of nothing after them.
func number(c *Config, dim int) matching.Model {
	return matching.Model{Input: []int{dim}, Outputs: 1, Target: []int{1}, Loss: squaredError, Inner: twoLayers("", dim, c.Hidden, 1)}
}

// autoencoder has codes in the plane between two layers and two layers.
func autoencoder(c *Config, dim int) matching.Model {
	return matching.Model{
		Input: []int{dim}, Outputs: 2, Target: []int{dim}, Loss: squaredError,
		Inner: twoLayers("encoder.", dim, c.Hidden, 2), Outer: twoLayers("decoder.", 2, c.Hidden, dim),
	}
}

// twoLayers have a ReLU between them: 004 does not name its activation.
func twoLayers(name string, in, hidden, out int) layer.Sequence {
	return layer.Sequence{layer.Dense{Name: name + "hidden", In: in, Out: hidden}, layer.ReLU, layer.Dense{Name: name + "output", In: hidden, Out: out}}
}

// crossEntropy is −y·log p − (1−y)·log(1−p), [n], of [n, 1] and [n, 1].
func crossEntropy(p, y *graph.Node) *graph.Node {
	const least = 1e-6 // keeps logarithms finite
	p = graph.ClipScalar(p, least, 1-least)
	right := graph.Add(graph.Mul(y, graph.Log(p)), graph.Mul(graph.OneMinus(y), graph.Log(graph.OneMinus(p))))
	return graph.Neg(graph.ReduceSum(right, 1))
}

// squaredError is ‖output − target‖², [n].
func squaredError(output, target *graph.Node) *graph.Node {
	return graph.ReduceSum(graph.Square(graph.Sub(output, target)), 1)
}

func (r *Records) labels() ([]float32, error) {
	y := make([]float32, r.Len())
	for i, label := range r.Label {
		y[i] = float32(label)
	}
	return y, nil
}

// responses are Y^C moved to [−½, ½]² (004 C.4).
func (r *Records) responses() ([]float32, error) {
	if r.Response == nil {
		return nil, fmt.Errorf("fair: the records have no continuous response to predict; train fair-classification on them")
	}
	y := make([]float32, len(r.Response))
	for i, v := range r.Response {
		y[i] = v - 0.5
	}
	return y, nil
}

// sums are Y^C_1 + Y^C_2 − 1 (004 Remark C.4).
func (r *Records) sums() ([]float32, error) {
	y, err := r.responses()
	for i := range len(y) / 2 {
		y[i] = y[2*i] + y[2*i+1]
	}
	return y[:len(y)/2], err
}

func (r *Records) features() ([]float32, error) { return r.X, nil }

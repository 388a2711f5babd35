package fair

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

func init() {
	experiment.Registry.Register(Experiment{adultKind})
	sources["adult"] = adultRecords
}

// adultKind is 004's Remark C.3: who earns much, of people of both sexes.
var adultKind = &kind{
	Info: plugin.Info{Name: "fair-adult", Version: "3", Source: "004 Remark C.3",
		Summary: "private logistic regression on Adult whose scores are to be distributed alike for women and men"},
	labels: true, config: adultSettings, model: centredLogistic, target: (*Records).labels, measure: measureDecisions,
}

// Records of Adult for training and for testing.
const adultTrain, adultTest = 32_561, 16_281

// adultSettings are ours but for logistic regression, ε and δ = 1/n²: 004 prints nothing
// else, and takes the preprocessing of Lowy et al. 2023, where dataset.LoadAdult has its own, by
// public ranges alone. A record
// has 7 features of 1 and 5 of up to 1, so the gradients of its loss and its score are
// up to √13 = 3.6 and √13/4 = 0.9; most are a third of that.
func adultSettings(preset experiment.Preset) Config {
	c := classification(preset)
	c.Dataset, c.Records, c.Held = "adult", adultTrain, adultTest
	c.Epsilon, c.Delta = 1, 1./adultTrain/adultTrain
	c.Steps, c.LearningRate, c.Share = 300, 2, 0.2
	c.LossLimit, c.Limit, c.Jacobian = 1, 0.5, 0.5
	return c
}

// centredLogistic is logistic regression whose scores lie around 0 where they are
// compared: the same distance, and half of the norm that one record can have.
func centredLogistic(_ *Config, dim int) matching.Model {
	move := func(by float64) layer.Func {
		return layer.Func(func(x *graph.Node) *graph.Node { return graph.AddScalar(x, by) })
	}
	return matching.Model{
		Input: []int{dim}, Outputs: 1, Target: []int{1}, Loss: crossEntropy,
		Inner: layer.Sequence{layer.Dense{Name: "score", In: dim, Out: 1}, layer.Func(graph.Sigmoid), move(-0.5)},
		Outer: layer.Sequence{move(0.5)},
	}
}

// adultRecords are people of Adult, with the sex for A and the income for Y.
func adultRecords(c *Config) (train, test *Records, err error) {
	if c.Held > adultTest {
		return nil, nil, fmt.Errorf("held is %d; adult has %d records for testing, take at most those", c.Held, adultTest)
	}
	learned, held, err := dataset.LoadAdult(context.Background(), dataset.Options{N: c.Records, Seed: experiment.SplitSeed})
	if err != nil {
		return nil, nil, err
	}
	part := func(s dataset.AdultSample, n int) *Records {
		dim := len(s.X) / len(s.Sex)
		return &Records{Dim: dim, X: s.X[:n*dim], Group: s.Sex[:n], Label: s.Income[:n], Origin: "adult, features by public ranges alone"}
	}
	return part(learned, len(learned.Sex)), part(held, c.Held), nil
}

package tables

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/layer"
	"molehill/pkg/experiment/synth/training"
)

// rowNetwork makes probabilities of the outcomes of each column of noise: two hidden
// layers, and a softmax a column. It implements generator.Design.
type rowNetwork struct {
	Latent   int   `json:"latent"`   // dimension of its noise
	Width    int   `json:"width"`    // of its hidden layers
	Outcomes []int `json:"outcomes"` // of each column
}

// Check implements generator.Design.
func (n rowNetwork) Check() error {
	if n.Latent < 1 || n.Width < 1 || len(n.Outcomes) == 0 {
		return fmt.Errorf("latent is %d and width %d for %d columns; take at least 1 of each", n.Latent, n.Width, len(n.Outcomes))
	}
	return nil
}

// Size implements generator.Design.
func (n rowNetwork) Size() (input, output int) {
	for _, size := range n.Outcomes {
		output += size
	}
	return n.Latent, output
}

// Network implements generator.Design.
func (n rowNetwork) Network() layer.Layer { return training.Layers(n, n.Width, n.softmax) }

func (n rowNetwork) softmax(x *graph.Node) *graph.Node {
	var parts []*graph.Node
	from := 0
	for _, size := range n.Outcomes {
		parts = append(parts, graph.Softmax(graph.SliceAxis(x, 1, graph.AxisRange(from, from+size)), 1))
		from += size
	}
	return graph.Concatenate(parts, 1)
}

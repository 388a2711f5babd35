package layer

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Residual adds what two layers make of the same input (He et al. 2016). Sequence{} as Shortcut adds the input itself.
type Residual struct {
	Main, Shortcut Layer
}

// Params implements Layer: those of Main, then those of Shortcut.
func (r Residual) Params() []Spec { return slices.Concat(r.Main.Params(), r.Shortcut.Params()) }

// Apply implements Layer.
func (r Residual) Apply(x *Node, weights []*Node) *Node {
	n := len(r.Main.Params())
	return Add(r.Main.Apply(x, weights[:n]), r.Shortcut.Apply(x, weights[n:]))
}

// Train implements Learner.
func (r Residual) Train(x *Node, weights []*Node) (*Node, []*Node) {
	n := len(r.Main.Params())
	main, mainAfter := Train(r.Main, x, weights[:n])
	shortcut, shortcutAfter := Train(r.Shortcut, x, weights[n:])
	return Add(main, shortcut), slices.Concat(mainAfter, shortcutAfter)
}

// Upsample repeats every pixel factor times along height and width (nearest
// neighbour): [batch, h, w, c] to [batch, factor·h, factor·w, c].
func Upsample(factor int) Func {
	return func(x *Node) *Node {
		if factor < 1 {
			panic(fmt.Errorf("layer: expected pixels to be repeated 1 or more times, found %d", factor))
		}
		n, h, w, c := x.Shape().Dimensions[0], x.Shape().Dimensions[1], x.Shape().Dimensions[2], x.Shape().Dimensions[3]
		copies := func(x *Node, axis int) *Node { // copying rows is what the Go backend does fast
			return Concatenate(slices.Repeat([]*Node{x}, factor), axis)
		}
		wide := copies(Reshape(x, n*h*w, 1, c), 1)
		return Reshape(copies(Reshape(wide, n*h, 1, factor*w*c), 1), n, factor*h, factor*w, c)
	}
}

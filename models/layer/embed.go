package layer

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Embedding replaces the label at the end of each row, a one among Classes zeros,
// by that class's row of a learned table: it maps [batch, Keep+Classes] to
// [batch, Keep+Size] and leaves the first Keep coordinates as they are.
type Embedding struct {
	Name                string
	Keep, Classes, Size int
}

// Params implements Layer: table [Classes, Size]. It starts uniform on ±1, where
// PyTorch's starts normal.
func (e Embedding) Params() []Spec {
	return []Spec{{Name: e.Name + ".table", Shape: []int{e.Classes, e.Size}, FanIn: 1}}
}

// Apply implements Layer. The lookup is a product, which has a gradient on every
// backend.
func (e Embedding) Apply(x *Node, weights []*Node) *Node {
	kept := SliceAxis(x, 1, AxisRange(0, e.Keep))
	label := SliceAxis(x, 1, AxisRange(e.Keep, e.Keep+e.Classes))
	return Concatenate([]*Node{kept, Dot(label, weights[0]).Product()}, 1)
}

package layer

import (
	"fmt"
	"reflect"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// pad adds before and after zeros along each of the axes of x.
func pad(x *Node, before, after int, axes ...int) *Node {
	if before == 0 && after == 0 {
		return x
	}
	widths := make([]PadAxis, x.Rank())
	for _, axis := range axes {
		widths[axis] = PadAxis{Start: before, End: after}
	}
	return Pad(x, ScalarZero(x.Graph(), x.DType()), widths...)
}

// GoMLX 0.28.2 has no gradient of Pad. Without it one has to concatenate with zeros,
// for which XLA takes a second longer to compile a decoder.
func init() {
	if _, has := VJPRegistration[NodeTypePad]; !has {
		VJPRegistration[NodeTypePad] = padVJP
	}
}

// padVJP takes from v, the gradient by what Pad returned, what fell on its operand.
// The rest belongs to the value it padded with.
func padVJP(node *Node, v []*Node, _ shapes.Shape) []*Node {
	x, filling := node.Inputs()[0], node.Inputs()[1]
	own := make([]SliceAxisSpec, x.Rank())
	for axis, width := range widths(node) {
		if width.Start < 0 || width.End < 0 {
			panic(fmt.Errorf("layer: no gradient of a Pad that cuts off %+v; Slice has one", width)) // GoMLX catches errors alone
		}
		stride := width.Interior + 1
		own[axis] = AxisRange(width.Start, width.Start+(x.Shape().Dimensions[axis]-1)*stride+1).Stride(stride)
	}
	byX := Slice(v[0], own...)
	if filling.Type() == NodeTypeConstant {
		return []*Node{byX, nil}
	}
	return []*Node{byX, Sub(ReduceAllSum(v[0]), ReduceAllSum(byX))}
}

// widths are what a Pad adds along each axis. GoMLX does not export them.
func widths(pad *Node) []PadAxis {
	given := reflect.ValueOf(pad).Elem().FieldByName("inputs").Elem().Elem().FieldByName("axesConfig")
	all := make([]PadAxis, pad.Rank()) // those not given are zero
	for axis := range given.Len() {
		width := given.Index(axis)
		all[axis] = PadAxis{
			Start: int(width.FieldByName("Start").Int()), End: int(width.FieldByName("End").Int()), Interior: int(width.FieldByName("Interior").Int()),
		}
	}
	return all
}

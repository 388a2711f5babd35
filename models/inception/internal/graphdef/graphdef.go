// Package graphdef reads frozen TensorFlow graphs: GraphDef messages in
// protobuf's wire format. Only what an import of weights needs is read, from the
// file's bytes in place; a message that is cut short, promises more than there
// is or has another shape gives an error. Field numbers are those of
// TensorFlow's graph.proto, node_def.proto, attr_value.proto, tensor.proto and
// tensor_shape.proto.
package graphdef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Graph is a graph's nodes by name.
type Graph map[string]*Node

// Node is an operation.
type Node struct {
	Op     string
	Inputs []string // names of nodes, each with ":" and the number of an output where that is not 0

	attrs map[string][]byte // AttrValue messages
}

// Bounds on what a graph may hold; the one of 2015 has about a thousand nodes,
// of at most five inputs and nine attributes.
const (
	mostNodes = 20_000
	mostParts = 100
)

// fields calls each for every field of a message: with its number and, as its
// wire type has it, the bytes or the number it holds.
func fields(message []byte, each func(number protowire.Number, text []byte, value uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var text []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			value = uint64(v)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(message)
		default: // groups, which no message of TensorFlow has
			return fmt.Errorf("wire type %d of field %d is not one of TensorFlow's", kind, number)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := each(number, text, value); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a GraphDef.
func Parse(data []byte) (Graph, error) {
	g := Graph{}
	err := fields(data, func(number protowire.Number, text []byte, _ uint64) error {
		if number != 1 { // versions, library
			return nil
		}
		name, n, err := parseNode(text)
		if err != nil {
			return fmt.Errorf("node %d: %w", len(g), err)
		}
		if _, twice := g[name]; twice || name == "" {
			return fmt.Errorf("node %d has the name %q, which is taken or none", len(g), name)
		}
		if len(g) == mostNodes {
			return fmt.Errorf("more than %d nodes", mostNodes)
		}
		g[name] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("expected a TensorFlow GraphDef: %w", err)
	}
	return g, nil
}

func parseNode(message []byte) (name string, n *Node, err error) {
	n = &Node{attrs: map[string][]byte{}}
	err = fields(message, func(number protowire.Number, text []byte, _ uint64) error {
		if len(n.Inputs) > mostParts || len(n.attrs) > mostParts {
			return fmt.Errorf("more than %d inputs or attributes", mostParts)
		}
		switch number {
		case 1:
			name = string(text)
		case 2:
			n.Op = string(text)
		case 3:
			n.Inputs = append(n.Inputs, string(text))
		case 5: // an entry of a map: key 1, value 2
			var key string
			var value []byte
			err := fields(text, func(number protowire.Number, text []byte, _ uint64) error {
				switch number {
				case 1:
					key = string(text)
				case 2:
					value = text
				}
				return nil
			})
			n.attrs[key] = value
			return err
		}
		return nil
	})
	return name, n, err
}

// attr returns the field of an attribute's AttrValue: its bytes or its number.
func (n *Node) attr(key string, field protowire.Number) (text []byte, value uint64, ok bool) {
	err := fields(n.attrs[key], func(number protowire.Number, t []byte, v uint64) error {
		if number == field {
			text, value, ok = t, v, true
		}
		return nil
	})
	return text, value, ok && err == nil
}

// Fields of AttrValue.
const (
	attrList, attrText, attrFloat, attrBool, attrTensor = 1, 2, 4, 5, 8
)

// Text returns an attribute that is text, "" if there is none.
func (n *Node) Text(key string) string {
	text, _, _ := n.attr(key, attrText)
	return string(text)
}

// Float returns an attribute that is a number, 0 if there is none.
func (n *Node) Float(key string) float32 {
	_, bits, _ := n.attr(key, attrFloat)
	return math.Float32frombits(uint32(bits))
}

// Bool returns an attribute that is true or false, false if there is none.
func (n *Node) Bool(key string) bool {
	_, value, _ := n.attr(key, attrBool)
	return value != 0
}

// Ints returns an attribute that is a list of numbers, packed or not.
func (n *Node) Ints(key string) (list []int) {
	text, _, _ := n.attr(key, attrList)
	_ = fields(text, func(number protowire.Number, text []byte, value uint64) error { // what is damaged makes a shorter list
		if number != 3 {
			return nil
		}
		if text == nil {
			list = append(list, int(value))
		}
		for len(text) > 0 && len(list) < mostParts {
			v, n := protowire.ConsumeVarint(text)
			if n < 0 {
				break
			}
			list, text = append(list, int(v)), text[n:]
		}
		return nil
	})
	return list
}

// Follow returns the name of the node that an input refers to, past Identity
// nodes.
func (g Graph) Follow(input string) string {
	for range mostParts {
		name, _, _ := strings.Cut(input, ":")
		n, ok := g[name]
		if !ok || n.Op != "Identity" || len(n.Inputs) == 0 {
			return name
		}
		input = n.Inputs[0]
	}
	return input
}

// Constant returns the values of a float32 constant, which must have the shape.
// What is allocated is what the shape asked for needs.
func (g Graph) Constant(name string, shape []int) ([]float32, error) {
	n, ok := g[name]
	if !ok || n.Op != "Const" {
		return nil, fmt.Errorf("expected a constant %s, the graph has none", name)
	}
	tensor, _, ok := n.attr("value", attrTensor)
	if !ok {
		return nil, fmt.Errorf("constant %s has no value", name)
	}
	values, err := decodeTensor(tensor, shape)
	if err != nil {
		return nil, fmt.Errorf("constant %s: %w", name, err)
	}
	return values, nil
}

// decodeTensor reads a TensorProto of type float32 and the shape given.
func decodeTensor(message []byte, shape []int) ([]float32, error) {
	var kind uint64
	var dims []int
	var content, listed []byte
	err := fields(message, func(number protowire.Number, text []byte, value uint64) error {
		switch number {
		case 1:
			kind = value
		case 2:
			return fields(text, func(number protowire.Number, text []byte, _ uint64) error {
				if number != 2 {
					return nil
				}
				if len(dims) == len(shape) {
					return errors.New("more axes than expected")
				}
				dims = append(dims, 0)
				return fields(text, func(number protowire.Number, _ []byte, value uint64) error {
					if number == 1 {
						dims[len(dims)-1] = int(min(value, math.MaxInt32))
					}
					return nil
				})
			})
		case 4:
			content = text
		case 5: // packed, or one by one
			if text == nil {
				text = binary.LittleEndian.AppendUint32(nil, uint32(value))
			}
			if listed == nil {
				listed = text
			} else {
				listed = append(slices.Clip(listed), text...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const float32Type = 1
	if kind != float32Type || !slices.Equal(dims, shape) {
		return nil, fmt.Errorf("expected type %d (float32) and shape %v, found type %d and shape %v", float32Type, shape, kind, dims)
	}
	size := 1
	for _, dim := range shape {
		size *= dim
	}
	text := content
	if text == nil {
		text = listed
	}
	count := len(text) / 4
	// Listed values may stop early: the last one fills the rest.
	if len(text)%4 != 0 || count > size || count == 0 || content != nil && count != size {
		return nil, fmt.Errorf("shape %v needs %d bytes, found %d", shape, 4*size, len(text))
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(text[4*min(i, count-1):]))
	}
	return values, nil
}

package graphdef

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func message(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

func number(number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
}

func fixed(number protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, number, protowire.Fixed32Type), math.Float32bits(v))
}

func floats(v ...float32) []byte {
	text, _ := binary.Append(nil, binary.LittleEndian, v)
	return text
}

func attribute(key string, value ...[]byte) []byte {
	return message(5, message(1, []byte(key)), message(2, slices.Concat(value...)))
}

// tensor is a TensorProto of shape [2, 3] with the values given as its other
// fields.
func tensor(kind uint64, values ...[]byte) []byte {
	return message(8, number(1, kind), message(2, message(2, number(1, 2)), message(2, number(1, 3))), slices.Concat(values...))
}

func constant(value []byte) []byte {
	return message(1, message(1, []byte("c")), message(2, []byte("Const")), attribute("value", value))
}

var sample = slices.Concat(
	constant(tensor(1, message(4, floats(1, 2, 3, 4, 5, 6)))),
	message(1, message(1, []byte("read")), message(2, []byte("Identity")), message(3, []byte("c"))),
	message(1, message(1, []byte("conv")), message(2, []byte("Conv2D")), message(3, []byte("x")), message(3, []byte("read:0")),
		attribute("strides", message(1, number(3, 1), number(3, 2))), attribute("packed", message(1, message(3, []byte{1, 2, 0x80, 1}))),
		attribute("padding", message(2, []byte("VALID"))), attribute("epsilon", fixed(4, 0.001)), attribute("scale", number(5, 1))),
	message(2, number(1, 8)), // versions
)

func TestParse(t *testing.T) {
	g, err := Parse(sample)
	if err != nil || len(g) != 3 {
		t.Fatalf("%v, %v", g, err)
	}
	n := g["conv"]
	if n.Op != "Conv2D" || g.Follow(n.Inputs[1]) != "c" || g.Follow("x") != "x" {
		t.Errorf("%+v; the second input is %q", n, g.Follow(n.Inputs[1]))
	}
	if !slices.Equal(n.Ints("strides"), []int{1, 2}) || !slices.Equal(n.Ints("packed"), []int{1, 2, 128}) || n.Ints("none") != nil {
		t.Errorf("strides %v, packed %v", n.Ints("strides"), n.Ints("packed"))
	}
	if n.Text("padding") != "VALID" || n.Float("epsilon") != 0.001 || !n.Bool("scale") || n.Text("scale") != "" || n.Bool("padding") {
		t.Errorf("%q, %v, %v", n.Text("padding"), n.Float("epsilon"), n.Bool("scale"))
	}
}

func TestConstants(t *testing.T) {
	whole := []float32{1, 2, 3, 4, 5, 6}
	for name, c := range map[string]struct {
		value []byte
		want  []float32 // nil: refused
	}{
		"bytes":             {tensor(1, message(4, floats(whole...))), whole},
		"packed":            {tensor(1, message(5, floats(whole...))), whole},
		"packed in parts":   {tensor(1, message(5, floats(1, 2)), message(5, floats(3, 4, 5, 6))), whole},
		"one by one":        {tensor(1, fixed(5, 1), fixed(5, 2), fixed(5, 3)), []float32{1, 2, 3, 3, 3, 3}},
		"one for all":       {tensor(1, message(5, floats(7))), []float32{7, 7, 7, 7, 7, 7}},
		"double precision":  {tensor(2, message(4, floats(whole...))), nil},
		"too few bytes":     {tensor(1, message(4, floats(1, 2, 3, 4, 5))), nil},
		"too many bytes":    {tensor(1, message(4, floats(1, 2, 3, 4, 5, 6, 7))), nil},
		"too many listed":   {tensor(1, message(5, floats(1, 2, 3, 4, 5, 6, 7))), nil},
		"broken bytes":      {tensor(1, message(4, floats(whole...)[1:])), nil},
		"nothing":           {tensor(1), nil},
		"three axes":        {tensor(1, message(2, message(2, number(1, 1))), message(4, floats(whole...))), nil},
		"no tensor":         {number(5, 1), nil},
		"a negative length": {message(8, number(1, 1), message(2, message(2, number(1, math.MaxUint64)), message(2, number(1, 3))), message(4, floats(whole...))), nil},
	} {
		g, err := Parse(constant(c.value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Constant("c", []int{2, 3})
		if c.want == nil && err == nil || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	g, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "none"} {
		if _, err := g.Constant(name, []int{2, 3}); err == nil {
			t.Errorf("%s is a constant", name)
		}
	}
	if _, err := g.Constant("c", []int{3, 2}); err == nil || !strings.Contains(err.Error(), "[3 2]") {
		t.Errorf("%v, want an error about the shape", err)
	}
}

func TestDamagedGraphsAreErrors(t *testing.T) {
	twice := constant(tensor(1, message(4, floats(1))))
	for name, data := range map[string][]byte{
		"cut short":     sample[:len(sample)-20],
		"a name twice":  append(slices.Clone(twice), twice...),
		"no name":       message(1, message(2, []byte("Const"))),
		"a group":       protowire.AppendTag(nil, 1, protowire.StartGroupType),
		"a long length": {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"many inputs":   message(1, message(1, []byte("n")), slices.Repeat(message(3, []byte("x")), mostParts+5)),
	} {
		if g, err := Parse(data); err == nil {
			t.Errorf("%s: %v", name, g)
		}
	}
	var many []byte
	for i := range mostNodes + 1 {
		many = append(many, message(1, message(1, binary.LittleEndian.AppendUint32(nil, uint32(i))))...)
	}
	if _, err := Parse(many); err == nil {
		t.Error("a graph of too many nodes was read")
	}
	// A circle of identities ends.
	circle := slices.Concat(
		message(1, message(1, []byte("a")), message(2, []byte("Identity")), message(3, []byte("b"))),
		message(1, message(1, []byte("b")), message(2, []byte("Identity")), message(3, []byte("a"))))
	if g, err := Parse(circle); err != nil || g.Follow("a") == "c" {
		t.Errorf("%v, %v", g, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add(constant(tensor(1, message(5, floats(1, 2)))))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Parse(data)
		if err != nil {
			return
		}
		if len(g) > mostNodes {
			t.Fatalf("%d nodes", len(g))
		}
		for name, n := range g {
			if values, err := g.Constant(name, []int{2, 3}); err == nil && len(values) != 6 {
				t.Fatalf("%d values", len(values))
			}
			for key := range n.attrs {
				n.Text(key)
				n.Float(key)
				n.Bool(key)
				n.Ints(key)
			}
			for _, in := range n.Inputs {
				g.Follow(in)
			}
		}
	})
}

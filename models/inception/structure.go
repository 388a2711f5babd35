package inception

import (
	"fmt"

	"molehill/models/layer"
)

// The structure of the network, by the names of the graph of 2015. Sizes are
// height×width; a convolution of the graph is followed by batch normalisation
// and a ReLU, the former folded into its kernel and bias here.

// full are the layers of the network from a [batch, 299, 299, 3] image in
// [−1, 1) to [batch, 8, 8, 2048].
func full() layer.Sequence {
	return append(cut(),
		narrow8(),
		mixed2048("mixed_9", 1280, averagePool{}),
		// The graph of 2015 has a maximum here, where it has averages elsewhere
		// and where the paper and later versions have one too.
		mixed2048("mixed_10", 2048, maxPool{Stride: 1}),
	)
}

// cut are the layers up to mixed_7, whose result is [batch, 17, 17, 768].
func cut() layer.Sequence {
	return layer.Sequence{
		conv{Name: "conv", In: 3, Out: 32, Height: 3, Width: 3, Stride: 2, Valid: true},    // 149×149
		conv{Name: "conv_1", In: 32, Out: 32, Height: 3, Width: 3, Stride: 1, Valid: true}, // 147×147
		conv{Name: "conv_2", In: 32, Out: 64, Height: 3, Width: 3, Stride: 1},
		maxPool{Stride: 2}, // 73×73
		conv{Name: "conv_3", In: 64, Out: 80, Height: 1, Width: 1, Stride: 1},
		conv{Name: "conv_4", In: 80, Out: 192, Height: 3, Width: 3, Stride: 1, Valid: true}, // 71×71
		maxPool{Stride: 2}, // 35×35
		mixed35("mixed", 192, 32),
		mixed35("mixed_1", 256, 64),
		mixed35("mixed_2", 288, 64),
		narrow17(),
		mixed17("mixed_4", 128),
		mixed17("mixed_5", 160),
		mixed17("mixed_6", 160),
		mixed17("mixed_7", 192),
	}
}

// tower is a branch of a mixed layer: convolutions "<name>", "<name>_1", ….
func tower(name string, in int, convs ...conv) layer.Sequence {
	var s layer.Sequence
	for i, c := range convs {
		c.Name, c.In = name, in
		if i > 0 {
			c.Name = fmt.Sprintf("%s_%d", name, i)
		}
		in = c.Out
		s = append(s, c)
	}
	return s
}

// pooled is a branch that pools and then convolves.
func pooled(pool layer.Layer, name string, in, out int) layer.Sequence {
	return append(layer.Sequence{pool}, tower(name, in, c(1, 1, out))...)
}

// c is a convolution that keeps the size, to be named by tower.
func c(height, width, out int) conv { return conv{Height: height, Width: width, Out: out, Stride: 1} }

// half is a 3×3 convolution that halves the size.
func half(out int) conv { return conv{Height: 3, Width: 3, Out: out, Stride: 2, Valid: true} }

// mixed35 is a mixed layer of the 35×35 stage: 64+64+96+pool channels.
func mixed35(name string, in, pool int) mixed {
	return mixed{
		tower(name+"/conv", in, c(1, 1, 64)),
		tower(name+"/tower/conv", in, c(1, 1, 48), c(5, 5, 64)),
		tower(name+"/tower_1/conv", in, c(1, 1, 64), c(3, 3, 96), c(3, 3, 96)),
		pooled(averagePool{}, name+"/tower_2/conv", in, pool),
	}
}

// narrow17 leads from 35×35×288 to 17×17×768.
func narrow17() mixed {
	return mixed{
		tower("mixed_3/conv", 288, half(384)),
		tower("mixed_3/tower/conv", 288, c(1, 1, 64), c(3, 3, 96), half(96)),
		{maxPool{Stride: 2}},
	}
}

// mixed17 is a mixed layer of the 17×17 stage, whose 7×7 convolutions are
// factored and have width channels inside.
func mixed17(name string, width int) mixed {
	return mixed{
		tower(name+"/conv", 768, c(1, 1, 192)),
		tower(name+"/tower/conv", 768, c(1, 1, width), c(1, 7, width), c(7, 1, 192)),
		tower(name+"/tower_1/conv", 768, c(1, 1, width), c(7, 1, width), c(1, 7, width), c(7, 1, width), c(1, 7, 192)),
		pooled(averagePool{}, name+"/tower_2/conv", 768, 192),
	}
}

// narrow8 leads from 17×17×768 to 8×8×1280.
func narrow8() mixed {
	return mixed{
		tower("mixed_8/tower/conv", 768, c(1, 1, 192), half(320)),
		tower("mixed_8/tower_1/conv", 768, c(1, 1, 192), c(1, 7, 192), c(7, 1, 192), half(192)),
		{maxPool{Stride: 2}},
	}
}

// mixed2048 is a mixed layer of the 8×8 stage, two of whose branches fork.
func mixed2048(name string, in int, pool layer.Layer) mixed {
	fork := func(tower string) mixed {
		return mixed{
			{conv{Name: name + "/" + tower + "/mixed/conv", In: 384, Out: 384, Height: 1, Width: 3, Stride: 1}},
			{conv{Name: name + "/" + tower + "/mixed/conv_1", In: 384, Out: 384, Height: 3, Width: 1, Stride: 1}},
		}
	}
	return mixed{
		tower(name+"/conv", in, c(1, 1, 320)),
		append(tower(name+"/tower/conv", in, c(1, 1, 384)), fork("tower")),
		append(tower(name+"/tower_1/conv", in, c(1, 1, 448), c(3, 3, 384)), fork("tower_1")),
		pooled(pool, name+"/tower_2/conv", in, 192),
	}
}

// convs lists the convolutions of a network in the order of their parameters.
func convs(s layer.Sequence) []conv {
	var all []conv
	for _, l := range s {
		switch l := l.(type) {
		case conv:
			all = append(all, l)
		case mixed:
			for _, branch := range l {
				all = append(all, convs(branch)...)
			}
		}
	}
	return all
}

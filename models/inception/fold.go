package inception

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"molehill/models/inception/internal/graphdef"
	"molehill/models/layer"
)

// fold reads the parameters of the whole network from the graph of 2015: of
// each convolution the kernel and the constants of its batch normalisation,
//
//	y = γ (conv(x) − μ)/√(σ² + ε) + β,
//
// where γ counts only if the graph says so, folded into kernel and bias. The
// strides, paddings and kinds of pools that the graph states must be those of
// the structure here.
func fold(g graphdef.Graph) (layer.Params, error) {
	use := map[string]string{} // by the name of a constant, the node whose second input it is
	for name, n := range g {
		if len(n.Inputs) > 1 && (n.Op == "Conv2D" || n.Op == "BatchNormWithGlobalNormalization") {
			use[g.Follow(n.Inputs[1])] = name
		}
	}
	if err := checkPools(g); err != nil {
		return nil, err
	}
	var params layer.Params
	for _, c := range convs(full()) {
		specs := c.Params()
		weight, bias, err := c.fold(g, use)
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", c.Name, err)
		}
		params = append(params, layer.Param{Spec: specs[0], Value: weight}, layer.Param{Spec: specs[1], Value: bias})
	}
	return params, nil
}

func (c conv) fold(g graphdef.Graph, use map[string]string) (weight, bias []float32, err error) {
	kernel := c.Name + "/conv2d_params"
	if err := c.checkConv(g[use[kernel]]); err != nil {
		return nil, nil, err
	}
	if weight, err = g.Constant(kernel, []int{c.Height, c.Width, c.In, c.Out}); err != nil {
		return nil, nil, err
	}
	moments := map[string][]float32{}
	for _, name := range []string{"moving_mean", "moving_variance", "beta", "gamma"} {
		if moments[name], err = g.Constant(c.Name+"/batchnorm/"+name, []int{c.Out}); err != nil {
			return nil, nil, err
		}
	}
	norm := g[use[c.Name+"/batchnorm/moving_mean"]]
	if norm == nil || norm.Op != "BatchNormWithGlobalNormalization" {
		return nil, nil, fmt.Errorf("expected a batch normalisation with the mean %s/batchnorm/moving_mean, the graph has none", c.Name)
	}
	epsilon := float64(norm.Float("variance_epsilon"))
	if !(epsilon > 0 && epsilon < 1) {
		return nil, nil, fmt.Errorf("a batch normalisation with ε = %v; expected 0.001", epsilon)
	}
	scaled := norm.Bool("scale_after_normalization")
	bias = make([]float32, c.Out)
	scale := make([]float64, c.Out)
	for o := range scale {
		variance := float64(moments["moving_variance"][o])
		if !(variance >= 0) {
			return nil, nil, fmt.Errorf("channel %d has the variance %v", o, variance)
		}
		scale[o] = 1 / math.Sqrt(variance+epsilon)
		if scaled {
			scale[o] *= float64(moments["gamma"][o])
		}
		bias[o] = float32(float64(moments["beta"][o]) - float64(moments["moving_mean"][o])*scale[o])
	}
	for i, w := range weight { // [Height, Width, In, Out]
		weight[i] = float32(float64(w) * scale[i%c.Out])
	}
	return weight, bias, nil
}

// checkConv compares the graph's convolution with the structure's.
func (c conv) checkConv(n *graphdef.Node) error {
	if n == nil || n.Op != "Conv2D" {
		return fmt.Errorf("expected a convolution with the kernel %s/conv2d_params, the graph has none", c.Name)
	}
	padding := "SAME"
	if c.Valid {
		padding = "VALID"
	}
	found, strides := n.Text("padding"), n.Ints("strides")
	if c.Height == 1 && c.Width == 1 && c.Stride == 1 && (found == "SAME" || found == "VALID") {
		padding = found // there is nothing to pad
	}
	if wanted := []int{1, c.Stride, c.Stride, 1}; found != padding || !slices.Equal(strides, wanted) {
		return fmt.Errorf("expected a convolution with strides %v and padding %s, found %v and %q", wanted, padding, strides, found)
	}
	return nil
}

// checkPools looks whether pools of the graph are of another kind than the
// structure's. It is what tells the graph of 2015 from later ones.
func checkPools(g graphdef.Graph) error {
	for name, n := range g {
		var wanted string
		switch last := name[strings.LastIndex(name, "/")+1:]; {
		case strings.HasSuffix(name, "tower_2/pool") && name != "mixed_10/tower_2/pool", name == "pool_3":
			wanted = "AvgPool"
		case last == "pool", name == "pool_1":
			wanted = "MaxPool"
		default:
			continue
		}
		if n.Op != wanted {
			return fmt.Errorf("expected a node %s of kind %s, found %s; it is another network than that of 2015", name, wanted, n.Op)
		}
	}
	return nil
}

// Package inception is the Inception network of 2015 through which the Fréchet
// Inception Distance sees images (Heusel et al. 2017; the network: Szegedy et al.
// 2015, in the trained state that TensorFlow published in December 2015 as
// classify_image_graph_def.pb). Later versions of the network, which other
// libraries ship, have other weights and other pools and give other distances.
//
// The whole network has 2048 features, the average of its last mixed layer.
// From the folder of weights that lacks two kernels of the last two layers only
// the network up to mixed_7 can be had: 768 features, which make a distance of
// another scale. A Network says which it is, and its points have as many
// dimensions, so the metrics "fid" and "fid-768" each take their own and refuse
// the other's.
package inception

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"molehill/models/layer"
)

// Numbers of features.
const (
	Full = 2048 // of the whole network
	Cut  = 768  // of the network up to mixed_7
)

// Side is the height and width that the network resizes images to, in pixels.
const Side = 299

// Network is a network with its weights. It is safe for concurrent use.
type Network struct {
	Origin string // where the weights were found

	dim    int // Full or Cut
	params layer.Params
	digest string

	mu       sync.Mutex
	programs map[shape]*program
}

// preprocessing counts the ways in which images were resized, rounded and scaled for the
// network: what was kept of one is not for another.
const preprocessing = 1

// layers returns the layers of the network with dim features.
func layers(dim int) layer.Sequence {
	if dim == Full {
		return full()
	}
	return cut()
}

// newNetwork returns the network with dim features and the parameters given,
// which must be those of its layers.
func newNetwork(dim int, params layer.Params, origin string) *Network {
	sum := sha256.New()
	fmt.Fprintf(sum, "inception %d %d ", dim, preprocessing)
	for _, p := range params {
		text, _ := binary.Append(nil, binary.LittleEndian, p.Value) // float32s always have an encoding
		sum.Write(text)
	}
	return &Network{Origin: origin, dim: dim, params: params, digest: hex.EncodeToString(sum.Sum(nil)[:16])}
}

// Dim is the number of features of an image: Full or Cut.
func (n *Network) Dim() int { return n.dim }

// Metric is the name of the metric that the features are for.
func (n *Network) Metric() string { return metricOf(n.dim) }

// Metrics are those of all networks.
func Metrics() []string { return []string{metricOf(Full), metricOf(Cut)} }

func metricOf(dim int) string {
	if dim == Full {
		return "fid"
	}
	return fmt.Sprintf("fid-%d", dim)
}

// Digest tells the network from every other by its weights, for the names of
// caches.
func (n *Network) Digest() string { return n.digest }

// String says what the network is.
func (n *Network) String() string {
	if n.dim == Full {
		return "Inception of 2015, 2048 features (" + n.Origin + ")"
	}
	return "Inception of 2015 cut after mixed_7, 768 features (" + n.Origin + ")"
}

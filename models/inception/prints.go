package inception

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"molehill/models/layer"
)

// prints are two numbers of each parameter of the network of 2015 after
// folding, by which it is known whatever file it comes from: its norm, and its
// product with a fixed row of signs (testdata/prints.py). The kernels of two
// layers, which the folder lacks that they were computed from, have none; their
// biases do.
//
//go:embed prints.txt
var prints string

// printTolerance is the difference from a print that is allowed, in units of
// the parameter's norm. Folding in other precision makes 1e-6 of difference;
// other weights or another order make about 1.
const printTolerance = 1e-3

// MismatchError says that weights are not those of the network of 2015.
type MismatchError struct {
	Path, Parameter           string
	Norm, Probe               float64 // found
	ExpectedNorm, ExpectProbe float64
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("inception: %s: %s is not that of the network of 2015: expected norm %.6g and probe %.6g, found %.6g and %.6g; remove it and run `molehill data fetch inception`",
		e.Path, e.Parameter, e.ExpectedNorm, e.ExpectProbe, e.Norm, e.Probe)
}

// checkPrints compares parameters with the prints. path is for the error.
func checkPrints(params layer.Params, path string) error {
	type fingerprint struct{ norm, probe float64 }
	known := map[string]fingerprint{}
	for line := range strings.Lines(prints) {
		var name string
		var p fingerprint
		if _, err := fmt.Sscan(line, &name, &p.norm, &p.probe); err != nil {
			return fmt.Errorf("inception: prints.txt: %w", err)
		}
		known[name] = p
	}
	for _, param := range params {
		norm, probe := printOf(param.Value)
		p, ok := known[param.Name]
		if !ok && norm > 0 && !math.IsInf(norm, 0) {
			continue
		}
		if !(math.Abs(norm-p.norm) <= printTolerance*p.norm && math.Abs(probe-p.probe) <= printTolerance*p.norm) {
			return &MismatchError{path, param.Name, norm, probe, p.norm, p.probe}
		}
	}
	return nil
}

// printOf returns the norm of values and their product with a row of signs: the
// highest bits of multiples of 2³²/φ (Knuth's multiplicative hash).
func printOf(values []float32) (norm, probe float64) {
	for i, v := range values {
		w := float64(v)
		norm += w * w
		if uint32(i)*2654435761>>31 != 0 {
			w = -w
		}
		probe += w
	}
	return math.Sqrt(norm), probe
}

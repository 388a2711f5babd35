package dataset

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/pkg/dataset/internal/draw"
	"molehill/pkg/plugin"
)

func init() { Registry.Register(biased{}) }

// Biased makes records whose features give a sensitive attribute away, which in turn
// agrees with the label more often than not (004 C.2):
//
//	(i)   Y^C ~ U([0, 1]²), the response,
//	(ii)  Y = 1 if Y^C_2 > 1 − Y^C_1, else 0, the label,
//	(iii) A = Y with probability p, else 1 − Y, the sensitive attribute,
//	(iv)  X_core = (Y^C, …, Y^C) + N(0, σ²_core I), X_sp = (A, …, A) + N(0, σ²_sp I),
//	(v)   X = (X_core, X_sp).
//
// The closer p is to 1, the more a model gains by judging by A.
type Biased struct {
	Records                        int     // n
	Probability                    float64 // p, in [0, 1]
	Core                           int     // d_core, even: Y^C stands in it d_core/2 times
	Spurious                       int     // d_sp
	CoreVariance, SpuriousVariance float64 // σ²_core and σ²_sp
}

// PublishedBiased returns the values of 004 C.2.
func PublishedBiased() Biased {
	return Biased{Records: 30_000, Probability: 0.7, Core: 8, Spurious: 8, CoreVariance: 1. / 5, SpuriousVariance: 2. / 5}
}

// BiasedSample are n records of Biased, in the order drawn.
type BiasedSample struct {
	X  []float32 // features, [n, Core+Spurious]
	A  []int     // sensitive attribute, [n], 0 or 1
	Y  []int     // label, [n], 0 or 1
	YC []float32 // response, [n, 2]
}

// Dim returns the number of features of a record.
func (b Biased) Dim() int { return b.Core + b.Spurious }

// Check returns an error that names a value with which no records can be made.
func (b Biased) Check() error {
	fault := func(name, expected string, found any) error {
		return fmt.Errorf("data set %q: expected %s %s, found %v; change it", "biased", name, expected, found)
	}
	variance := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	const records, features = 1_000_000, 4096 // limits that keep a slip of the finger out of memory
	switch {
	case b.Records < 1 || b.Records > records:
		return fault("Records", fmt.Sprintf("from 1 to %d", records), b.Records)
	case !(b.Probability >= 0 && b.Probability <= 1):
		return fault("Probability", "from 0 to 1", b.Probability)
	case b.Core < 0 || b.Core > features || b.Core%2 != 0:
		return fault("Core", fmt.Sprintf("even and from 0 to %d, as the response has two values", features), b.Core)
	case b.Spurious < 0 || b.Spurious > features:
		return fault("Spurious", fmt.Sprintf("from 0 to %d", features), b.Spurious)
	case b.Dim() == 0:
		return fault("Core or Spurious", "above 0", "0 for both")
	case !variance(b.CoreVariance):
		return fault("CoreVariance", "finite and at least 0", b.CoreVariance)
	case !variance(b.SpuriousVariance):
		return fault("SpuriousVariance", "finite and at least 0", b.SpuriousVariance)
	}
	return nil
}

// Generate returns Records records. Fewer of a seed are the first of more. Values
// that Check refuses give none.
func (b Biased) Generate(seed uint64) BiasedSample { return b.generate(seed, 0) }

// Holdout returns Records other records, independent of Generate's of the same seed:
// for evaluation.
func (b Biased) Holdout(seed uint64) BiasedSample { return b.generate(seed, 1) }

// generate draws from one of several independent sets of a seed.
func (b Biased) generate(seed, set uint64) (s BiasedSample) {
	if b.Check() != nil {
		return s
	}
	n := b.Records
	s = BiasedSample{X: make([]float32, 0, n*b.Dim()), A: make([]int, n), Y: make([]int, n), YC: make([]float32, 0, 2*n)}
	random := rand.New(draw.New("biased", seed, set))
	core, spurious := math.Sqrt(b.CoreVariance), math.Sqrt(b.SpuriousVariance)
	for i := range n {
		response := [2]float64{random.Float64(), random.Float64()}
		if response[1] > 1-response[0] {
			s.Y[i] = 1
		}
		s.A[i] = s.Y[i]
		if random.Float64() >= b.Probability {
			s.A[i] = 1 - s.Y[i]
		}
		s.YC = append(s.YC, float32(response[0]), float32(response[1]))
		// The conversions keep a product and its sum apart, so that all machines
		// round alike.
		for j := range b.Core {
			s.X = append(s.X, float32(response[j%2]+float64(core*random.NormFloat64())))
		}
		for range b.Spurious {
			s.X = append(s.X, float32(float64(s.A[i])+float64(spurious*random.NormFloat64())))
		}
	}
	return s
}

// biased is a sample of PublishedBiased labelled by Y: Options.N records for
// training (30,000 if 0), and 10,000 others for testing.
type biased struct{}

func (biased) Describe() plugin.Info {
	return plugin.Info{
		Name:    "biased",
		Summary: "16 features with a label and a sensitive attribute that agree too often; public, needs no files",
		Version: "1",
		Source:  "generated; Learning with Differentially Private Sliced Wasserstein Gradients (004), Appendix C.2",
	}
}

func (biased) Public() bool { return true }

// Pinned marks rows that the version fixes.
func (biased) Pinned() {}

func (biased) Load(ctx context.Context, o Options) (*Splits, error) {
	b := PublishedBiased()
	n, err := generated("biased", o.N, b.Records)
	if err != nil {
		return nil, err
	}
	part := func(records int, draw func(Biased, uint64) BiasedSample) *Dataset {
		b.Records = records
		s := draw(b, o.Seed)
		return &Dataset{
			Name: "biased", Origin: fmt.Sprintf("generated from seed %d", o.Seed),
			Height: 1, Width: b.Dim(), Channels: 1, X: s.X, Labels: s.Y, Classes: []string{"0", "1"},
		}
	}
	return &Splits{Train: part(n, Biased.Generate), Test: part(10_000, Biased.Holdout)}, ctx.Err()
}

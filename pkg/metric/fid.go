package metric

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"molehill/pkg/plugin"
	"molehill/transport"
)

// The Fréchet Inception Distance, by the network whose features it compares.
// Each takes points of its own number of dimensions only; the two are on
// different scales and not to be compared.
var (
	// FID is the one of publications: of the 2048 features of the whole network.
	FID = Frechet{Features: 2048}
	// FID768 is of the 768 features of the network cut after mixed_7.
	FID768 = Frechet{Features: 768}
)

// Frechet is the Fréchet distance, squared, between the Gaussians that have the
// mean and covariance of the points, which are features that
// molehill/models/inception computes:
//
//	‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁Σ₂)^½)
//
// With few points it is larger on average than with many, by an amount that
// depends on the model (Bińkowski et al. 2018; Chong & Forsyth 2020): compare
// values of equal numbers of points only, and with the value between two
// samples of real images. With fewer points than features the covariance is
// singular, and the value's note says so.
type Frechet struct{ Features int }

// Describe implements plugin.Plugin.
func (f Frechet) Describe() plugin.Info {
	info := plugin.Info{
		Name:    "fid",
		Summary: "Fréchet Inception Distance to held-out images, of the 2048 features of the network of 2015",
		Version: "1",
		Source:  "Heusel et al. 2017, Eq. 6; Dowson & Landau 1982",
	}
	if f.Features != FID.Features {
		info.Name = fmt.Sprintf("fid-%d", f.Features)
		info.Summary = fmt.Sprintf("Fréchet distance to held-out images, of the %d features of the network of 2015 cut short; no published FID compares with it", f.Features)
	}
	return info
}

// Measure implements Metric; nothing is drawn.
func (f Frechet) Measure(generated, real transport.Points, _ *rand.Rand) (Value, error) {
	a, err := NewStatistics(generated)
	if err != nil {
		return Value{}, err
	}
	b, err := NewStatistics(real)
	if err != nil {
		return Value{}, err
	}
	return f.Between(a, b)
}

// Between is Measure for points whose statistics are known.
func (f Frechet) Between(generated, real *Statistics) (Value, error) {
	for _, s := range []*Statistics{generated, real} {
		if s != nil && s.Dim() != f.Features {
			return Value{}, fmt.Errorf("metric: %s takes the %d features of its network, found points of dimension %d; other features need another metric",
				f.Describe().Name, f.Features, s.Dim())
		}
	}
	d, err := FrechetDistance(generated, real)
	if err != nil {
		return Value{}, err
	}
	v := Value{Value: d, Note: fmt.Sprintf("%s of %d generated and %d real images", f.Describe().Name, generated.Count, real.Count)}
	if least := min(generated.Count, real.Count); least <= f.Features {
		v.Note += fmt.Sprintf("; %d are too few for %d features: biased upwards", least, f.Features)
	}
	return v, nil
}

// FrechetDistance returns the squared Fréchet distance between the Gaussians
// with the given statistics, of any dimension (Frechet has the formula).
//
// Covariances of few points, or of features that are never active, are
// singular, where square roots of Σ₁Σ₂ by iteration or by its eigenvalues are
// complex or infinite. With factors Σᵢ = RᵢᵀRᵢ, which pivoted Cholesky
// decomposition finds also then, the eigenvalues of Σ₁Σ₂ are the squares of the
// singular values of R₁R₂ᵀ, and the trace is their sum.
func FrechetDistance(a, b *Statistics) (float64, error) {
	for _, s := range []*Statistics{a, b} {
		if err := s.check(); err != nil {
			return 0, err
		}
	}
	if a.Dim() != b.Dim() {
		return 0, fmt.Errorf("metric: statistics of dimensions %d and %d; need the same features on both sides", a.Dim(), b.Dim())
	}
	var d float64
	for i, v := range a.Mean {
		d += (v - b.Mean[i]) * (v - b.Mean[i])
	}
	d += mat.Trace(a.Covariance) + mat.Trace(b.Covariance)
	first, second := factor(a.Covariance), factor(b.Covariance)
	if first == nil || second == nil { // one of the sides is a single point
		return d, nil
	}
	var product mat.Dense
	product.Mul(first, second.T())
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		return 0, fmt.Errorf("metric: the singular values of a %d×%d product of covariances' roots did not converge", a.Dim(), a.Dim())
	}
	for _, v := range svd.Values(nil) {
		d -= 2 * v
	}
	return max(d, 0), nil // rounding can leave a little less
}

// factor returns R, [rank, dim], with RᵀR = s, or nil if s is 0.
func factor(s *mat.SymDense) *mat.Dense {
	dim := s.SymmetricDim()
	var c mat.PivotedCholesky
	c.Factorize(s, -1) // false means that the rank is less than dim
	if c.Rank() == 0 {
		return nil
	}
	var u mat.TriDense
	c.UTo(&u)
	r := mat.NewDense(c.Rank(), dim, nil)
	for j, pivot := range c.ColumnPivots(nil) {
		for i := range min(j+1, c.Rank()) {
			r.Set(i, pivot, u.At(i, j))
		}
	}
	return r
}

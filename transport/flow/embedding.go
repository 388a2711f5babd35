package flow

import (
	"fmt"
	"math"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// Embedding guides particles along the gradient of the maximum mean discrepancy
// to a mean embedding of the records (Harder et al. 2021, DP-MERF, with particles
// in place of a generator: Arbel et al. 2019): random Fourier features of a
// Gaussian kernel with a public length scale (Rahimi & Recht 2007),
//
//	φ(x) = √(1/D)·(cos⟨ω_1, x⟩, sin⟨ω_1, x⟩, …),  ω ~ N(0, I/scale²),  ‖φ‖ = 1.
type Embedding struct {
	Frequencies transport.Points // ω, [D, Dim]
	Mean        []float64        // of φ over the records, [D, 2], cosines and sines
}

// EmbeddingSensitivity is that of NewEmbedding's release: φ has norm 1, so
// replacing one of n records moves the mean by at most 2/n.
func EmbeddingSensitivity(n int) (privacy.Sensitivity, error) {
	if n < 1 {
		return privacy.Sensitivity{}, fmt.Errorf("flow: the mean embedding of %d records; take at least 1", n)
	}
	return privacy.Sensitivity{
		Value:    2 / float64(n) * (1 + 1e-6), // and rounding
		Relation: privacy.ReplaceOne,
		Query:    "mean of random Fourier features",
		Source:   "‖φ(x) − φ(x′)‖ ≤ 2 (Harder et al. 2021, Section 4)",
	}, nil
}

// NewEmbedding releases the mean of D = features pairs of Fourier features of
// records, once. The frequencies are public.
func NewEmbedding(records transport.Points, features int, scale float64, public noise.Source, release *privacy.Releaser) (*Embedding, error) {
	if features < 1 || !(scale > 0) || math.IsInf(scale, 1) {
		return nil, fmt.Errorf("flow: %d features of length scale %v; take at least 1, of a finite scale above 0", features, scale)
	}
	sensitivity, err := EmbeddingSensitivity(records.Len())
	if err != nil {
		return nil, err
	}
	// Records that are no numbers become the origin; cosines need no other bound.
	if records, err = all(records, 1e6, release); err != nil {
		return nil, err
	}
	e := &Embedding{Frequencies: transport.NewPoints(features, records.Dim), Mean: make([]float64, 2*features)}
	rng := public.Stream("frequencies", 0)
	for i := range e.Frequencies.Data {
		e.Frequencies.Data[i] = float32(rng.NormFloat64() / scale)
	}
	e.mean(e.Mean, records)
	if err := release.Release(e.Mean, sensitivity, 0); err != nil {
		return nil, err // the mean is exact still
	}
	return e, nil
}

// mean writes the mean of φ over x to dst.
func (e *Embedding) mean(dst []float64, x transport.Points) {
	size := e.Frequencies.Len()
	weight := 1 / math.Sqrt(float64(size)) / float64(x.Len())
	transport.InParallel(size, func(k int) {
		var c, s transport.Sum
		for i := range x.Len() {
			sin, cos := math.Sincos(e.phase(k, x.Row(i)))
			c.Add(cos)
			s.Add(sin)
		}
		dst[2*k], dst[2*k+1] = weight*c.Value(), weight*s.Value()
	})
}

func (e *Embedding) phase(k int, x []float32) (phase float64) {
	for c, w := range e.Frequencies.Row(k) {
		phase += float64(w) * float64(x[c])
	}
	return phase
}

// Drift implements Guide: −(n/2)·∂MMD²/∂x_i, which a step of size 1 follows.
func (e *Embedding) Drift(_ Flow, x transport.Points, _ int) ([]float32, error) {
	if x.Dim != e.Frequencies.Dim {
		return nil, fmt.Errorf("flow: particles of dimension %d for an embedding of dimension %d; they must agree", x.Dim, e.Frequencies.Dim)
	}
	own := make([]float64, len(e.Mean))
	e.mean(own, x)
	size := e.Frequencies.Len()
	drift := make([]float32, len(x.Data))
	weight := 1 / math.Sqrt(float64(size))
	transport.Parallel(x.Len(), func() []float64 { return make([]float64, x.Dim) }, func(sum []float64, i int) {
		clear(sum)
		for k := range size {
			sin, cos := math.Sincos(e.phase(k, x.Row(i)))
			slope := weight * (cos*(e.Mean[2*k+1]-own[2*k+1]) - sin*(e.Mean[2*k]-own[2*k]))
			for c, w := range e.Frequencies.Row(k) {
				sum[c] += slope * float64(w)
			}
		}
		for c, v := range sum {
			drift[i*x.Dim+c] = float32(v)
		}
	})
	return drift, nil
}

// all returns all records within their diameter, for a release that looks at
// each of them.
func all(records transport.Points, diameter float64, release *privacy.Releaser) (transport.Points, error) {
	return records.Within(diameter / 2), drawsAll(records, release)
}

// drawsAll refuses a plan whose release does not look at all records.
func drawsAll(records transport.Points, release *privacy.Releaser) error {
	rows, err := drawn(release, 0)
	if err == nil && len(rows) != records.Len() {
		err = fmt.Errorf("flow: a plan that draws %d of %d records; this release looks at all", len(rows), records.Len())
	}
	return err
}

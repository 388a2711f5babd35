// Package merf is the mean embedding of labelled records, released once, and the gradient
// towards it: DP-MERF (Harder, Adamczewski & Park 2021).
package merf

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
	"molehill/transport"
)

// Embedding guides labelled rows along the gradient of the maximum mean discrepancy
// to the records, whose mean embedding was released once (Harder, Adamczewski &
// Park 2021, DP-MERF, Section 4): random Fourier features of a Gaussian kernel of a
// public length scale (Rahimi & Recht 2007),
//
//	φ(x) = √(1/m)·(cos⟨ω_1, x⟩, …, sin⟨ω_1, x⟩, …),  ω ~ N(0, I/scale²),  ‖φ‖ = 1,
//
// in a table with a row for each class. Beside its features a record adds a 1 to
// its class, so that the classes' shares are released, too: that is free (see
// Sensitivity). It is for one goroutine.
type Embedding struct {
	Frequencies transport.Points // ω, [features, dim]: public
	// Released is Σ_i e_{y_i}·(φ(x_i), 1)ᵀ/n with noise, [classes, 2·features + 1]:
	// cosines, sines and the share of each class.
	Released []float64

	classes             int
	frequencies, target *tensors.Tensor // [features, dim] and [classes, 2·features]
	gradient            *Exec
}

// Size is how many numbers an Embedding releases.
func Size(classes, features int) int { return classes * (2*features + 1) }

// Sensitivity is that of New's release of n records: 2/n when one
// of them is replaced, n being public. A record adds (φ, 1)/n to the row of its
// class, with ‖φ‖ ≤ 1. The neighbours' difference is
//
//	‖φ(x) − φ(x′)‖/n = √(2 − 2·mean_k cos⟨ω_k, x − x′⟩)/n ≤ 2/n  for equal classes,
//	√(‖φ(x)‖² + 1 + ‖φ(x′)‖² + 1)/n ≤ 2/n                         for different ones.
//
// So the shares of the classes cost nothing: without them different classes would
// move the table by √2/n alone. Nothing less holds for equal ones while rows are
// unbounded: frequencies of a normal distribution are rationally independent, and
// all ⟨ω_k, x − x′⟩ can be brought as near to π at once as one likes (Kronecker's
// theorem), exactly so with no more features than dimensions.
//
// Rounding is covered. Features of the backend are clipped to norm 1, less a margin
// of 2⁻²⁰, and cut off to multiples of 2⁻³², which makes none of them longer; whole
// numbers of these are added without rounding, up to 2³⁰ records. So a record's part
// does not depend on the others, and is within the bound whatever the backend made of
// it. The margin pays for the last rounding of the sums.
func Sensitivity(n int) (privacy.Sensitivity, error) {
	if n < 1 || n > mostRecords {
		return privacy.Sensitivity{}, fmt.Errorf("merf: the mean embedding of %d records; take 1 to %d", n, mostRecords)
	}
	return privacy.Sensitivity{
		Value:    2 / float64(n),
		Relation: privacy.ReplaceOne,
		Query:    "mean of random Fourier features by class, with the classes' shares",
		Source:   "‖φ(x) − φ(x′)‖ ≤ 2 in one class, √(2·1 + 2·1) = 2 in two (Harder et al. 2021, Section 4)",
	}, nil
}

const (
	unit           = 0x1p-32 // of sums of features
	mostRecords    = 1 << 30 // whose sum of units an int64 holds
	largestTable   = 1 << 28 // numbers of the frequencies and of the released table
	numbersAtOnce  = 1 << 20 // of rows and features on the backend
	leastEvenShare = 0.1     // of an even share, to which a class is scaled up at most
)

// Check says what is wrong with the settings of an embedding of rows of dimension dim.
func Check(dim, classes, features int, scale float64) error {
	switch {
	case features < 1 || classes < 1:
		return fmt.Errorf("merf: %d features of %d classes; take at least 1 of each", features, classes)
	case features > largestTable/(dim+1) || classes > largestTable/(2*features+1):
		return fmt.Errorf("merf: %d features of dimension %d for %d classes; take at most %d numbers", features, dim, classes, largestTable)
	case !(scale >= 0x1p-64 && scale <= 0x1p64):
		return fmt.Errorf("merf: features of length scale %v; take a finite one above 0, about the distance of two rows", scale)
	}
	return nil
}

// New releases the embedding of labelled records of so many classes, with
// m = features pairs of a cosine and a sine, once, at step 0. The frequencies are
// drawn from public. A record with a number that is not finite, or one whose label
// is out of range, contributes nothing.
//
// Generated rows have as many of each class as the caller makes, evenly many as a
// rule, whatever the records' shares are. So each row of the released table is
// divided by its released share times the number of classes: the records' classes
// count alike. The publication divides by noisy counts of a release of their own
// (Section 4.2). A class of less than a tenth of an even share is divided by that,
// and keeps less weight, lest the noise be all there is to it.
func New(b *backend.Backend, records semidebiased.Batch, classes, features int, scale float64, public noise.Source, release *privacy.Releaser) (*Embedding, error) {
	n := records.Len()
	sensitivity, err := Sensitivity(n)
	if err != nil {
		return nil, err
	}
	if records.Dim*n != len(records.Data) || len(records.Labels) != n {
		return nil, fmt.Errorf("merf: %d records of dimension %d in %d numbers, with %d labels; give [n, dim] numbers and n labels", n, records.Dim, len(records.Data), len(records.Labels))
	}
	if err := Check(records.Dim, classes, features, scale); err != nil {
		return nil, err
	}
	rows, err := release.Draw(0)
	if err != nil {
		return nil, err
	}
	if len(rows) != n {
		return nil, fmt.Errorf("merf: a plan that draws %d of %d records; this release looks at all", len(rows), n)
	}
	e := &Embedding{Frequencies: transport.NewPoints(features, records.Dim), classes: classes}
	rng := public.Stream("frequencies", 0)
	for i := range e.Frequencies.Data {
		e.Frequencies.Data[i] = float32(rng.NormFloat64() / scale)
	}
	e.frequencies = tensors.FromFlatDataAndDimensions(e.Frequencies.Data, features, records.Dim)
	if e.Released, err = e.table(b, records); err == nil {
		err = release.Release(e.Released, sensitivity, 0)
	}
	if err == nil {
		e.target = tensors.FromFlatDataAndDimensions(e.balanced(), classes, 2*features)
		e.gradient, err = NewExec(b.Engine, e.descent)
	}
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("merf: on %s: %w", b, err)
	}
	return e, nil
}

// Close releases what the embedding holds on the backend.
func (e *Embedding) Close() {
	if e.gradient != nil {
		e.gradient.Finalize()
	}
	for _, t := range []*tensors.Tensor{e.frequencies, e.target} {
		if t != nil {
			t.MustFinalizeAll()
		}
	}
}

// featuresOf is √m·φ of rows x, [n, dim]: cosines and sines, each [n, m].
func featuresOf(x, frequencies *Node) (cos, sin *Node) {
	phases := Einsum("nd,md->nm", x, frequencies)
	return Cos(phases), Sin(phases)
}

// table is what is released of the records before its noise. A record has the same
// place on the backend whatever the others are, and so the same features to the
// last bit.
func (e *Embedding) table(b *backend.Backend, records semidebiased.Batch) ([]float64, error) {
	n, dim, width := records.Len(), records.Dim, 2*e.Frequencies.Len()
	exec, err := NewExec(b.Engine, func(x, frequencies *Node) *Node {
		cos, sin := featuresOf(x, frequencies)
		return MulScalar(Concatenate([]*Node{cos, sin}, 1), 1/math.Sqrt(float64(width/2)))
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	atOnce := min(n, max(1, numbersAtOnce/(dim+width)))
	sums := make([]int64, e.classes*(width+1)) // of units
	for first := 0; first < n; first += atOnce {
		x := make([]float32, atOnce*dim)
		copy(x, records.Data[first*dim:])
		features, err := call(exec, []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, atOnce, dim)}, e.frequencies)
		if err != nil {
			return nil, err
		}
		for i := range min(atOnce, n-first) {
			label, row := records.Labels[first+i], features[i*width:(i+1)*width]
			factor := clip.Factor(clip.Norm(row), 1) // 0 where phases overflow
			if label < 0 || label >= e.classes || !transport.Finite(records.Row(first+i)) || factor == 0 {
				continue
			}
			sum := sums[label*(width+1) : (label+1)*(width+1)]
			for k, v := range row {
				sum[k] += int64(factor * float64(v) / unit)
			}
			sum[width] += 1 / unit
		}
	}
	table := make([]float64, len(sums))
	for i, s := range sums {
		table[i] = float64(s) * unit / float64(n)
	}
	return table, nil
}

// balanced is the table of features that generated rows are to have: the released
// one with each class scaled to an even share.
func (e *Embedding) balanced() []float32 {
	width := 2 * e.Frequencies.Len()
	target := make([]float32, 0, e.classes*width)
	for class := range e.classes {
		row := e.Released[class*(width+1) : (class+1)*(width+1)]
		relative := max(row[width]*float64(e.classes), leastEvenShare)
		for _, v := range row[:width] {
			target = append(target, float32(v/relative))
		}
	}
	return target
}

// descent is Gradient's graph: with the difference D of the tables of x and of the
// target,
//
//	∂‖D‖²/∂x_i = 2/(n·√m)·Σ_k (cos⟨ω_k, x_i⟩·D_sin,k − sin⟨ω_k, x_i⟩·D_cos,k)·ω_k
//
// in the row of D that is of i's class.
func (e *Embedding) descent(x, labels, frequencies, target *Node) *Node {
	features := frequencies.Shape().Dim(0)
	weight := 1 / (float64(x.Shape().Dim(0)) * math.Sqrt(float64(features)))
	cos, sin := featuresOf(x, frequencies)
	class := OneHot(labels, e.classes, x.DType()) // [n, classes]
	difference := func(own *Node, from int) *Node {
		table := MulScalar(Einsum("nc,nm->cm", class, own), weight)
		return Einsum("nc,cm->nm", class, Sub(table, Slice(target, AxisRange(), AxisRange(from, from+features))))
	}
	slope := Sub(Mul(cos, difference(sin, features)), Mul(sin, difference(cos, 0)))
	return MulScalar(Einsum("nm,md->nd", slope, frequencies), 2*weight)
}

// Gradient returns that of ‖B − T(x)‖²_F by the rows of x, [n, dim], where B is the
// released table, balanced, and T(x) = Σ_i e_{y_i}·φ(x_i)ᵀ/n is that of x. It asks
// the records nothing. A batch of another size compiles again.
func (e *Embedding) Gradient(x semidebiased.Batch) ([]float32, error) {
	dim := e.Frequencies.Dim
	if err := x.Check(); err != nil {
		return nil, fmt.Errorf("merf: generated rows: %w", err)
	}
	if x.Dim != dim || len(x.Labels) != x.Len() {
		return nil, fmt.Errorf("merf: %d generated rows of dimension %d with %d labels; the embedding is of rows of dimension %d, each with a label", x.Len(), x.Dim, len(x.Labels), dim)
	}
	if slices.Min(x.Labels) < 0 || slices.Max(x.Labels) >= e.classes {
		return nil, fmt.Errorf("merf: generated rows with labels from %d to %d; the embedding is of 0 to %d", slices.Min(x.Labels), slices.Max(x.Labels), e.classes-1)
	}
	labels := make([]int32, x.Len())
	for i, label := range x.Labels {
		labels[i] = int32(label)
	}
	g, err := call(e.gradient, []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x.Data, x.Len(), dim),
		tensors.FromFlatDataAndDimensions(labels, x.Len())}, e.frequencies, e.target)
	if err != nil {
		return nil, fmt.Errorf("merf: %w", err)
	}
	return g, nil
}

// call returns the numbers of a program's only result. It releases its inputs but for
// those that are kept.
func call(exec *Exec, inputs []*tensors.Tensor, kept ...*tensors.Tensor) ([]float32, error) {
	defer backend.Free(inputs)
	var all []any
	for _, t := range slices.Concat(inputs, kept) {
		all = append(all, t)
	}
	out, err := exec.Call1(all...)
	if err != nil {
		return nil, err
	}
	defer out.MustFinalizeAll()
	return tensors.CopyFlatData[float32](out)
}

// Scale is a length scale for an Embedding: the median distance of two rows, as is
// usual for Gaussian kernels (Gretton et al. 2012). Far shorter ones, of a third for
// images, leave rows without a gradient that start far from the records. It has to be of public rows,
// such as drawn digits or a held-out half: a scale of the records themselves would be
// a release without noise. Of more than 500 rows it looks at 500, evenly spaced. It
// is 0 for less than two rows and where most coincide, and NaN where most are not
// finite; no Embedding takes either.
func Scale(public transport.Points) float64 {
	const most = 500
	n := public.Len()
	looked := min(n, most)
	var distances []float64
	for i := range looked {
		for j := range i {
			a, b := public.Row(i*n/looked), public.Row(j*n/looked)
			var squares float64
			for c, v := range a {
				d := float64(v) - float64(b[c])
				squares += d * d
			}
			distances = append(distances, math.Sqrt(squares))
		}
	}
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}

package harmonic

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"molehill/transport"
)

// Classifier tells what class a point is of. It is made of a labelled release alone.
type Classifier struct {
	basis   *Basis
	classes int
	weights []float64 // [classes, 1+basis.Size()], of each row degree 0 first
}

// Classifier returns the regression of the classes on the harmonics that a release with
// Gaussian noise of standard deviation noiseStd tells.
//
// What least squares need to know of labels, the means of 1{y = c}·Y(x), is what was
// released. The rest, how the harmonics Y of a record go together, is taken from points
// that lie as the records do, such as those that follow Densities: with G = E Y·Yᵀ over
// them, the released row of a class is G·W + noise for the weights W that are looked for.
// That is a Bayesian linear regression (Bishop 2006, Chapter 3). The noise is known: that
// of the release, and that of records and points which are samples. W has variance
// v/Count on each harmonic of a degree, with the v, the same for all classes, under which
// what was released is most likely (MacKay 1992).
func (s *Labelled) Classifier(noiseStd float64, points transport.Points) (*Classifier, error) {
	if err := checkNoise(noiseStd); err != nil {
		return nil, err
	}
	basis := s.Basis
	for Size(basis.Dim, basis.Degree) > classifierSize && basis.Degree > 1 {
		basis = basis.UpTo(basis.Degree - 1)
	}
	if err := basis.check(points); err != nil {
		return nil, err
	}
	w, err := s.regression(basis, noiseStd, points).weights()
	if err != nil {
		return nil, err
	}
	return &Classifier{basis, s.Classes, mat.DenseCopyOf(w.T()).RawMatrix().Data}, nil
}

// classifierSize bounds the time and memory of a classifier: it has equations of as many
// unknowns.
const classifierSize = 1500

// regression has what was released of all classes, without its weights, as G·W + noise.
type regression struct {
	seen   *mat.Dense    // [size, classes]
	g      *mat.SymDense // G, [size, size]
	prior  []float64     // V, the variances of W for v = 1, [size]
	spread *mat.SymDense // G·V·G, [size, size]
	noise  *mat.SymDense // covariance of seen beside v·G·V·G, [size, size]
}

func (s *Labelled) regression(basis *Basis, noiseStd float64, points transport.Points) *regression {
	size := 1 + basis.Size()
	r := &regression{seen: mat.NewDense(size, s.Classes, nil), g: secondMoments(basis, points),
		prior: make([]float64, size), spread: mat.NewSymDense(size, nil), noise: mat.NewSymDense(size, nil)}
	// A label is 0 or 1, so what a record adds has a variance of at most G times how often
	// that is 1, in the mean over classes.
	r.noise.ScaleSym((1/float64(s.Records)+1/float64(points.Len()))/float64(s.Classes), r.g)
	scaled := mat.DenseCopyOf(r.g) // √V·G
	at := 0
	for l, w := range s.Weights[:basis.Degree+1] {
		count := Count(basis.Dim, l)
		noise := noiseStd / w
		for range int(count) {
			for c := range s.Classes {
				r.seen.Set(at, c, s.row(c)[at]/w)
			}
			r.prior[at] = 1 / count
			floats.Scale(math.Sqrt(r.prior[at]), scaled.RawRowView(at))
			r.noise.SetSym(at, at, r.noise.At(at, at)+noise*noise)
			at++
		}
	}
	r.spread.SymOuterK(1, scaled.T())
	// Harmonics of points that crowd are nearly dependent: what is solved stays above what
	// rounding does to it (Higham 2002, Chapter 10).
	rest := 1e-14 * float64(size) * mat.Trace(r.spread)
	for i := range size {
		r.noise.SetSym(i, i, r.noise.At(i, i)+rest)
	}
	return r
}

// secondMoments returns E Y·Yᵀ over points, of degrees 0 to that of b.
func secondMoments(b *Basis, points transport.Points) *mat.SymDense {
	const together = 1024 // so that memory does not grow with their number
	size, n := 1+b.Size(), points.Len()
	g, y := mat.NewSymDense(size, nil), make([]float64, min(n, together)*size)
	for from := 0; from < n; from += together {
		count := min(together, n-from)
		transport.Parallel(count, b.rows, func(r *rows, i int) {
			copy(y[i*size:(i+1)*size], r.at(points.Row(from+i)))
		})
		g.SymRankK(g, 1/float64(n), mat.NewDense(count, size, y[:count*size]).T())
	}
	return g
}

// weights returns the mean of W for the v under which what was seen is most likely.
func (r *regression) weights() (*mat.Dense, error) {
	var best *mat.Dense
	least := math.Inf(1)
	const step = 4
	for v := 1.; v > 1e-6; v /= step { // W of the size of labels, and less
		unlikely, solved := r.unlikely(v)
		if solved == nil {
			return nil, fmt.Errorf("harmonic: the classes' regression on %d harmonics cannot be solved; take a lower degree", len(r.prior))
		}
		if unlikely >= least {
			break
		}
		least, best = unlikely, solved
	}
	var w mat.Dense
	w.Mul(r.g, best)
	for i, variance := range r.prior {
		floats.Scale(variance, w.RawRowView(i))
	}
	return &w, nil
}

// unlikely returns what is less the likelier it is, and v·(v·G·V·G + noise)⁻¹·seen.
func (r *regression) unlikely(v float64) (float64, *mat.Dense) {
	var total mat.SymDense
	total.ScaleSym(v, r.spread)
	total.AddSym(&total, r.noise)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&total) {
		return 0, nil
	}
	size, classes := r.seen.Dims()
	solved := mat.NewDense(size, classes, nil)
	if cholesky.SolveTo(solved, r.seen) != nil {
		return 0, nil
	}
	value := float64(classes) * cholesky.LogDet()
	for i := range size {
		value += floats.Dot(r.seen.RawRowView(i), solved.RawRowView(i))
	}
	solved.Scale(v, solved)
	return value, solved
}

// Margins returns by how much the class of each point, labels, [n], is ahead of the
// likeliest other one, [n]: what lies between −1 and 1 for most, and below 0 where another
// class is likelier. Points have norm 1.
func (c *Classifier) Margins(points transport.Points, labels []int) ([]float64, error) {
	if err := c.basis.check(points); err != nil {
		return nil, err
	}
	if len(labels) != points.Len() {
		return nil, fmt.Errorf("harmonic: %d labels of %d points; give one each", len(labels), points.Len())
	}
	for i, label := range labels {
		if label < 0 || label >= c.classes {
			return nil, fmt.Errorf("harmonic: label %d of point %d; labels are from 0 to %d", label, i, c.classes-1)
		}
	}
	margins := make([]float64, points.Len())
	transport.Parallel(points.Len(), c.basis.rows, func(r *rows, i int) {
		y := r.at(points.Row(i))
		own, other := 0., math.Inf(-1)
		for class := range c.classes {
			score := floats.Dot(c.weights[class*len(y):(class+1)*len(y)], y)
			if class == labels[i] {
				own = score
			} else {
				other = max(other, score)
			}
		}
		margins[i] = own - other
	})
	return margins, nil
}

// rows evaluates the harmonics of rows of points, degree 0 first.
type rows struct {
	values *values
	x      []float64
}

func (b *Basis) rows() *rows { return &rows{b.values(), make([]float64, b.Dim)} }

// at returns the harmonics at x, [1+Size] until the next call.
func (r *rows) at(x []float32) []float64 {
	unit(r.x, x)
	r.values.at(r.x)
	return r.values.here
}

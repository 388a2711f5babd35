package utility

import (
	"math"
	"slices"

	"molehill/pkg/dataset"
	"molehill/transport"
)

// objective is what Logistic minimises, and its gradient, at one place at a
// time. Both come from one pass over the rows: products in single precision,
// block by block, and sums over blocks in double precision.
type objective struct {
	x       []float32 // [n, dim]
	n, dim  int
	targets []int   // of each row, index among the classes present
	classes int     // present
	free    int     // classes that have coefficients: the last ones
	wide    int     // free, and one more where that makes it even
	penalty float64 // 1/(C·n)

	theta    []float64 // the place: coefficients [free, dim], then intercepts [free]
	loss     float64
	gradient []float64 // as theta

	weights []float32 // [wide, dim], the coefficients there
	parts   []part
}

const (
	// blockRows is how many rows are multiplied at a time: they stay in a core's
	// cache from the logits to the gradient.
	blockRows = 64
	// spanBlocks is how many blocks are added up in single precision.
	spanBlocks = 8
	// shares is into how many parts the rows are cut. It does not depend on the
	// machine, so neither does the order of additions.
	shares = 16
)

// part is a share of the rows, and what they add.
type part struct {
	from, to int // rows
	loss     float64
	gradient []float64 // as theta

	single    []float32 // [wide, dim], the gradient by coefficients of a span
	residuals []float32 // [blockRows, wide], logits first
	rest      []float32 // [blockRows, dim], the last block with zeros added
}

func newObjective(train *dataset.Dataset, present []int, c float64) *objective {
	n, dim := train.Len(), train.Dim()
	o := &objective{x: train.X, n: n, dim: dim, classes: len(present), free: len(present), penalty: 1 / (c * float64(n))}
	if o.classes == 2 {
		o.free = 1
	}
	o.wide = o.free + o.free%2
	for _, label := range train.Labels {
		target, _ := slices.BinarySearch(present, label)
		o.targets = append(o.targets, target)
	}
	o.weights = make([]float32, o.wide*dim)
	o.gradient = make([]float64, o.free*(dim+1))
	blocks := (n + blockRows - 1) / blockRows
	parts := min(shares, blocks)
	for s := range parts {
		p := part{from: s * blocks / parts * blockRows, to: min(n, (s+1)*blocks/parts*blockRows)}
		p.gradient = make([]float64, len(o.gradient))
		p.single = make([]float32, o.wide*dim)
		p.residuals = make([]float32, blockRows*o.wide)
		if (p.to-p.from)%blockRows != 0 {
			p.rest = make([]float32, blockRows*dim)
		}
		o.parts = append(o.parts, p)
	}
	return o
}

// at moves to theta.
func (o *objective) at(theta []float64) {
	if slices.Equal(theta, o.theta) {
		return // the same place is asked for its value, then for its gradient
	}
	o.theta = append(o.theta[:0], theta...)
	split := o.free * o.dim
	squares := 0.0
	for i, w := range theta[:split] {
		o.weights[i] = float32(w)
		o.gradient[i] = o.penalty * w
		squares += w * w
	}
	clear(o.gradient[split:])
	o.loss = o.penalty * squares / 2
	transport.InParallel(len(o.parts), func(i int) { o.sum(&o.parts[i], theta[split:]) })
	for _, p := range o.parts {
		o.loss += p.loss / float64(o.n)
		for i, g := range p.gradient {
			o.gradient[i] += g / float64(o.n)
		}
	}
}

// sum passes over the rows of a part.
func (o *objective) sum(p *part, intercepts []float64) {
	p.loss = 0
	clear(p.gradient)
	clear(p.single)
	byIntercept := p.gradient[o.free*o.dim:]
	logits := make([]float64, o.classes)
	for block, from := 1, p.from; from < p.to; block, from = block+1, from+blockRows {
		rows := min(blockRows, p.to-from)
		x := o.x[from*o.dim : (from+rows)*o.dim]
		if rows < blockRows {
			copy(p.rest, x) // what is beyond stays zero
			x = p.rest
		}
		multiply(p.residuals, x, o.weights, o.wide, o.dim)
		for r := range rows {
			row := p.residuals[r*o.wide : r*o.wide+o.free]
			p.loss += o.residual(row, logits, intercepts, o.targets[from+r])
			for k, v := range row {
				byIntercept[k] += float64(v)
			}
		}
		accumulate(p.single, x, p.residuals, o.wide, o.dim)
		if block%spanBlocks == 0 || from+rows == p.to {
			for i := range o.free * o.dim {
				p.gradient[i] += float64(p.single[i])
			}
			clear(p.single)
		}
	}
}

// residual turns a row's products with the coefficients into p(k | x) − [k = y],
// for the classes that have some, and returns −log p(y | x).
func (o *objective) residual(row []float32, logits, intercepts []float64, target int) float64 {
	fixed := o.classes - o.free
	largest := 0.0
	for k, v := range row {
		logits[fixed+k] = float64(v) + intercepts[k]
	}
	if fixed == 0 {
		largest = logits[0]
	}
	for _, v := range logits[fixed:] {
		largest = max(largest, v)
	}
	sum := float64(fixed) * math.Exp(-largest) // logits of zero
	for k := range row {
		sum += math.Exp(logits[fixed+k] - largest)
	}
	logSum := largest + math.Log(sum)
	for k := range row {
		p := math.Exp(logits[fixed+k] - logSum)
		if fixed+k == target {
			p--
		}
		row[k] = float32(p)
	}
	if target < fixed {
		return logSum
	}
	return logSum - logits[target]
}

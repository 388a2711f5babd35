package utility

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// Logistic is multinomial logistic regression as scikit-learn 1.7 has it by
// default: it minimises
//
//	1/n Σᵢ −log p(yᵢ | xᵢ) + ‖W‖²/(2·C·n),  p(k | x) ∝ exp(⟨w_k, x⟩ + b_k)
//
// by L-BFGS (Liu & Nocedal 1989) with a memory of 10, from zero. Intercepts b
// are not penalised. Classes without rows are left out and never predicted. Of
// two classes only the second has coefficients, which makes the penalty another
// one than that of a pair; with one class there is nothing to learn.
//
// Nothing is drawn: the seed has no part in it.
type Logistic struct {
	C          float64 // inverse strength of the penalty, positive
	Tolerance  float64 // ends when no derivative is this large; positive
	Iterations int     // limit, at least 1
}

// DefaultLogistic has scikit-learn's settings but for the limit of 5000
// iterations, which is Cao et al.'s (002 D.2).
var DefaultLogistic = Logistic{C: 1, Tolerance: 1e-4, Iterations: 5000}

// Describe implements plugin.Plugin.
func (Logistic) Describe() plugin.Info {
	return plugin.Info{
		Name:    "logistic",
		Summary: "multinomial logistic regression, penalised as scikit-learn does by default, by L-BFGS",
		Version: "1",
		Source:  "002 D.2; Pedregosa et al. 2011",
	}
}

func (l Logistic) check() error {
	switch {
	case !(l.C > 0):
		return fmt.Errorf("utility: logistic regression with C = %v; take a positive number, such as 1", l.C)
	case !(l.Tolerance > 0):
		return fmt.Errorf("utility: logistic regression to a tolerance of %v; take a positive number, such as 1e-4", l.Tolerance)
	case l.Iterations < 1:
		return fmt.Errorf("utility: logistic regression of %d iterations; take at least 1", l.Iterations)
	}
	return nil
}

// Fit implements Classifier; the Model is a *LogisticModel.
func (l Logistic) Fit(ctx context.Context, train *dataset.Dataset, _ uint64, say func(Progress)) (Model, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if err := check(train); err != nil {
		return nil, err
	}
	m := &LogisticModel{classes: len(train.Classes), dim: train.Dim(), Present: present(train.Labels)}
	if len(m.Present) == 1 {
		m.Converged = true
		return m, ctx.Err()
	}
	o := newObjective(train, m.Present, l.C)
	result, err := optimize.Minimize(
		optimize.Problem{
			Func:   func(theta []float64) float64 { o.at(theta); return o.loss },
			Grad:   func(gradient, theta []float64) { o.at(theta); copy(gradient, o.gradient) },
			Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
		},
		make([]float64, o.free*(o.dim+1)),
		&optimize.Settings{
			GradientThreshold: l.Tolerance,
			MajorIterations:   l.Iterations,
			// As in scikit-learn: at the limits of double precision.
			Converger: &optimize.FunctionConverge{Relative: 64 * 0x1p-52, Iterations: 1},
			Recorder:  &recorder{say: say, limit: l.Iterations},
		},
		&optimize.LBFGS{Store: 10, Linesearcher: &optimize.MoreThuente{DecreaseFactor: 1e-4}},
	)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if result == nil || !finite(result.F) || !finite(result.X...) {
		return nil, fmt.Errorf("utility: logistic regression diverged (%v); are the values of the rows within reason? Scale them to [0, 1]", err)
	}
	// An error is a line search without progress: the limits of precision. What
	// is reached by then stands, and Gradient tells how good it is.
	m.Coefficients, m.Intercepts = result.X[:o.free*o.dim], result.X[o.free*o.dim:]
	m.Loss, m.Iterations = result.F, result.MajorIterations
	o.at(result.X)
	for _, g := range o.gradient {
		m.Gradient = max(m.Gradient, math.Abs(g))
	}
	m.Converged = result.Status == optimize.GradientThreshold || result.Status == optimize.FunctionConvergence
	return m, nil
}

// present lists the labels that occur, in rising order.
func present(labels []int) []int {
	all := slices.Clone(labels)
	slices.Sort(all)
	return slices.Compact(all)
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// recorder tells of L-BFGS's iterations. The last one comes as the end only.
type recorder struct {
	say         func(Progress)
	limit, told int
}

func (*recorder) Init() error { return nil }

func (r *recorder) Record(at *optimize.Location, op optimize.Operation, stats *optimize.Stats) error {
	if r.say != nil && op&(optimize.MajorIteration|optimize.PostIteration) != 0 && stats.MajorIterations > r.told {
		r.told = stats.MajorIterations
		r.say(Progress{Step: r.told, Limit: r.limit, Loss: at.F})
	}
	return nil
}

// LogisticModel is what Logistic has learned.
type LogisticModel struct {
	Present      []int     // labels that occurred, in rising order
	Coefficients []float64 // [len(Present), dim]; [dim] of the second of two labels
	Intercepts   []float64 // one for each row of Coefficients
	Loss         float64   // with the penalty, in nats
	Gradient     float64   // its largest derivative
	Iterations   int
	Converged    bool // within the tolerance or to the limits of precision, before the limit of iterations

	classes, dim int
}

// Classes implements Model.
func (m *LogisticModel) Classes() int { return m.classes }

// Predict implements Model: the most probable label, the first of equally
// probable ones.
func (m *LogisticModel) Predict(x *dataset.Dataset) ([]int, error) {
	if err := checkRows(x, m.dim); err != nil {
		return nil, err
	}
	labels := make([]int, x.Len())
	scores := make([]float64, len(m.Present))
	for i := range labels {
		m.score(scores, x.Row(i))
		labels[i] = m.Present[floats.MaxIdx(scores)]
	}
	return labels, nil
}

// score writes the logits of a row, those of Present; the first of two is 0.
func (m *LogisticModel) score(scores []float64, row []float32) {
	clear(scores)
	fixed := len(scores) - len(m.Intercepts) // classes without coefficients
	for k, intercept := range m.Intercepts {
		sum := intercept
		for j, w := range m.Coefficients[k*m.dim : (k+1)*m.dim] {
			sum += w * float64(row[j])
		}
		scores[fixed+k] = sum
	}
}

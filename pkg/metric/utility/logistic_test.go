package utility

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"molehill/pkg/dataset"
)

// golden holds what testdata/golden.py has scikit-learn compute.
//
//go:embed testdata/golden.json
var golden []byte

type goldenValues struct {
	Small []struct {
		N, Dim          int
		Labels, Classes []int
		Coefficients    [][]float64
		Intercepts      []float64
		Accuracy        float64
		Probabilities   [][]float64
	}
	MNIST []struct {
		N, Iterations int
		Accuracy      float64
	}
}

func goldenFile(t *testing.T) (g goldenValues) {
	t.Helper()
	if err := json.Unmarshal(golden, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// congruential returns the points of golden.py, without their last column.
func congruential(n, dim int) []float32 {
	state, x := uint32(1), []float32{}
	for i := range n * (dim + 1) {
		state = 1664525*state + 1013904223
		if i%(dim+1) < dim {
			x = append(x, float32(float64(state>>16%1000)/1000))
		}
	}
	return x
}

// points is a data set of rows [n, dim] in k classes.
func points(x []float32, dim int, labels []int, k int) *dataset.Dataset {
	return &dataset.Dataset{Name: "points", Origin: "a test", Height: 1, Width: dim, Channels: 1, X: x, Labels: labels, Classes: make([]string, k)}
}

func fitLogistic(t *testing.T, l Logistic, d *dataset.Dataset) *LogisticModel {
	t.Helper()
	m, err := l.Fit(context.Background(), d, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*LogisticModel)
}

// Coefficients, intercepts, probabilities and accuracy are scikit-learn's, of
// several classes and of two, with classes that have no rows.
func TestLogisticIsScikitLearns(t *testing.T) {
	tight := DefaultLogistic
	tight.Tolerance = 1e-6 // derivatives have the rounding of single precision
	for _, g := range goldenFile(t).Small {
		d := points(congruential(g.N, g.Dim), g.Dim, g.Labels, 6)
		m := fitLogistic(t, tight, d)
		if !slices.Equal(m.Present, g.Classes) {
			t.Fatalf("classes %v, want %v", m.Present, g.Classes)
		}
		// The curvature is at least the penalty's, 1/n, so that a derivative of
		// 1e-6 leaves coefficients within √(parameters)·n·1e-6, at the most 1e-3.
		compare := func(what string, got, want []float64) {
			t.Helper()
			if len(got) != len(want) {
				t.Fatalf("%d %s, want %d", len(got), what, len(want))
			}
			for i := range want {
				if !(math.Abs(got[i]-want[i]) <= 1e-3) {
					t.Errorf("%s %d of %v is %v, want %v", what, i, g.Classes, got[i], want[i])
				}
			}
		}
		compare("coefficient", m.Coefficients, slices.Concat(g.Coefficients...))
		compare("intercept", m.Intercepts, g.Intercepts)
		for i, want := range g.Probabilities {
			scores := make([]float64, len(g.Classes))
			m.score(scores, d.Row(i))
			sum := 0.0
			for k, s := range scores {
				scores[k] = math.Exp(s)
				sum += scores[k]
			}
			for k := range scores {
				scores[k] /= sum
			}
			compare("probability", scores, want)
		}
		accuracy, err := Accuracy(m, d)
		// One row may lie within the coefficients' error of a border.
		if err != nil || !(math.Abs(accuracy.Value-g.Accuracy) <= 1.01/float64(g.N)) {
			t.Errorf("accuracy %v (%v), want %v", accuracy, err, g.Accuracy)
		}
	}
}

// Accuracy on MNIST is scikit-learn's to half a per cent.
func TestLogisticOnMNIST(t *testing.T) {
	for _, g := range goldenFile(t).MNIST {
		if g.N > 5000 && os.Getenv("MOLEHILL_THOROUGH") == "" {
			continue // takes half a minute
		}
		train, test := mnist(t, g.N)
		m := fitLogistic(t, DefaultLogistic, train)
		accuracy, err := Accuracy(m, test)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d rows: %.4f after %d iterations, largest derivative %.1e; scikit-learn %.4f after %d", g.N, accuracy.Value, m.Iterations, m.Gradient, g.Accuracy, g.Iterations)
		if !(math.Abs(accuracy.Value-g.Accuracy) <= 0.005) || !m.Converged {
			t.Errorf("%d rows: accuracy %.4f, converged %v; scikit-learn has %.4f", g.N, accuracy.Value, m.Converged, g.Accuracy)
		}
	}
}

// mnist is the first n images for training, and those for testing. It skips the
// test where there are none.
func mnist(t *testing.T, n int) (train, test *dataset.Dataset) {
	t.Helper()
	splits, err := dataset.Load(context.Background(), "mnist", dataset.Options{})
	var missing *dataset.NotFoundError
	if errors.As(err, &missing) {
		t.Skipf("WITHOUT mnist: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return splits.Train.Subset(rows), splits.Test
}

// normals are n rows in k classes, row i in class i % k; their centres are apart
// by a multiple of the standard deviation, 1, along axes.
func normals(n, dim, k int, apart float64, seed uint64) *dataset.Dataset {
	rng := rand.New(rand.NewPCG(seed, 3))
	x, labels := make([]float32, n*dim), make([]int, n)
	for i := range n {
		labels[i] = i % k
		for j := range dim {
			x[i*dim+j] = float32(rng.NormFloat64())
		}
		x[i*dim+labels[i]%dim] += float32(apart)
	}
	return points(x, dim, labels, k)
}

func TestLogisticSeparates(t *testing.T) {
	for _, k := range []int{2, 3, 5} {
		m := fitLogistic(t, DefaultLogistic, normals(500, 6, k, 20, 8))
		// Centres 28 standard deviations apart.
		if a, err := Accuracy(m, normals(500, 6, k, 20, 9)); err != nil || a.Value != 1 || a.StandardError != 0 {
			t.Errorf("%d separable classes: accuracy %v (%v), want 1", k, a, err)
		}
	}
}

// Labels that have nothing to do with the rows teach nothing: accuracy is that
// of guessing among five, with a standard deviation of 0.4/√2000 = 0.009 over
// rows; 5 of them once in 1.7·10⁶.
func TestShuffledLabelsGiveChance(t *testing.T) {
	d := normals(2000, 6, 5, 20, 10)
	rand.New(rand.NewPCG(11, 3)).Shuffle(d.Len(), func(i, j int) { d.Labels[i], d.Labels[j] = d.Labels[j], d.Labels[i] })
	test := normals(2000, 6, 5, 20, 12)
	rand.New(rand.NewPCG(13, 3)).Shuffle(test.Len(), func(i, j int) { test.Labels[i], test.Labels[j] = test.Labels[j], test.Labels[i] })
	a, err := Accuracy(fitLogistic(t, DefaultLogistic, d), test)
	if err != nil || !(math.Abs(a.Value-0.2) <= 5*0.009) {
		t.Errorf("accuracy %v (%v), want 0.2", a, err)
	}
	if want := math.Sqrt(a.Value * (1 - a.Value) / 2000); a.StandardError != want {
		t.Errorf("standard error %v, want %v", a.StandardError, want)
	}
}

// The order of rows and of classes has no part in the model.
func TestLogisticIgnoresOrder(t *testing.T) {
	d := normals(700, 6, 4, 1, 14)
	a := fitLogistic(t, DefaultLogistic, d)
	rows := rand.New(rand.NewPCG(15, 3)).Perm(d.Len())
	b := fitLogistic(t, DefaultLogistic, d.Subset(rows))
	for i := range a.Coefficients {
		if !(math.Abs(a.Coefficients[i]-b.Coefficients[i]) <= 1e-4) {
			t.Errorf("coefficient %d is %v in one order, %v in another", i, a.Coefficients[i], b.Coefficients[i])
		}
	}
	renamed := *d
	renamed.Labels = make([]int, d.Len())
	for i, label := range d.Labels {
		renamed.Labels[i] = 3 - label
	}
	c := fitLogistic(t, DefaultLogistic, &renamed)
	for i := range a.Intercepts {
		if !(math.Abs(a.Intercepts[i]-c.Intercepts[3-i]) <= 1e-3) {
			t.Errorf("intercept %d is %v, with classes reversed %v", i, a.Intercepts[i], c.Intercepts[3-i])
		}
	}
}

// A class alone is always the answer; classes without rows never are.
func TestMissingClasses(t *testing.T) {
	d := points([]float32{1, 2, 3}, 1, []int{2, 2, 2}, 4)
	m := fitLogistic(t, DefaultLogistic, d)
	labels, err := m.Predict(points([]float32{-5, 7}, 1, nil, 4))
	if err != nil || !slices.Equal(labels, []int{2, 2}) || m.Classes() != 4 || !m.Converged {
		t.Errorf("labels %v (%v) of %d classes, want 2 and 2 of 4", labels, err, m.Classes())
	}
	d = points([]float32{-2, -1, 1, 2}, 1, []int{1, 1, 3, 3}, 5)
	labels, err = fitLogistic(t, DefaultLogistic, d).Predict(d)
	if err != nil || !slices.Equal(labels, d.Labels) {
		t.Errorf("labels %v (%v), want %v", labels, err, d.Labels)
	}
}

// The same rows give the same model to the last bit, whatever the cores do.
func TestLogisticIsReproducible(t *testing.T) {
	d := normals(3000, 6, 4, 1, 16)
	a, b := fitLogistic(t, DefaultLogistic, d), fitLogistic(t, DefaultLogistic, d)
	if !slices.Equal(a.Coefficients, b.Coefficients) || a.Loss != b.Loss {
		t.Error("two fits to the same rows differ")
	}
}

func TestLogisticTellsAndStops(t *testing.T) {
	d := normals(700, 6, 4, 1, 17)
	var told []Progress
	m, err := DefaultLogistic.Fit(context.Background(), d, 1, func(p Progress) { told = append(told, p) })
	if err != nil {
		t.Fatal(err)
	}
	last := told[len(told)-1]
	if last.Step != m.(*LogisticModel).Iterations || last.Limit != 5000 || last.Loss != m.(*LogisticModel).Loss || !(last.Loss < told[0].Loss) {
		t.Errorf("told %+v at last, of a model of loss %v after %d iterations", last, m.(*LogisticModel).Loss, m.(*LogisticModel).Iterations)
	}
	ctx, cancel := context.WithCancel(context.Background())
	iterations := 0
	m, err = DefaultLogistic.Fit(ctx, d, 1, func(Progress) { iterations++; cancel() })
	if !errors.Is(err, context.Canceled) || m != nil || iterations > 2 {
		t.Errorf("%v and error %v, %d iterations on, of a context that ended", m, err, iterations)
	}
	short := DefaultLogistic
	short.Iterations = 2
	if m := fitLogistic(t, short, d); m.Converged || m.Iterations != 2 || !(m.Gradient >= short.Tolerance) {
		t.Errorf("converged %v after %d of 2 iterations at derivative %v", m.Converged, m.Iterations, m.Gradient)
	}
}

package matching_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/matching"
	"molehill/models/train"
)

var wide = matching.Clipping{Output: 100, Jacobian: 1000, Loss: 1000}

// A record that is no number counts as one with output 0 and without gradient, and leaves
// the others as they are. One of huge numbers whose outputs are finite counts as it is.
func TestRecordsThatAreNoNumbers(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		l := learner(t, b, small)
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32} {
			of := batch(1)
			of.Pairs, of.Alpha = nil, 0 // of losses alone, what remains is known
			without := of
			without.X, without.Target = slices.Clone(of.X[9:]), slices.Clone(of.Target[3:])
			of.X[4] = bad
			got, err := l.Gradient(of, wide)
			if err != nil {
				t.Fatal(err)
			}
			want, err := l.Gradient(without, wide)
			if err != nil {
				t.Fatal(err)
			}
			for p, v := range got.Values {
				if bad == math.MaxFloat32 {
					break // finite after all, through tanh
				}
				if !(math.Abs(float64(v)-float64(want.Values[p])*11/12) <= 1e-5) {
					t.Fatalf("%v: the gradient has %v at %d, that of the other records %v", bad, v, p, want.Values[p]*11/12)
				}
			}
			of.Alpha, of.Pairs = 0.5, []matching.Pair{{A: []int{0, 3}, B: []int{1, 2}}}
			for _, c := range []matching.Clipping{wide, {Output: 0.2, Jacobian: 2, Loss: 3}, {Output: 0.2, Jacobian: 2, Loss: 3, Exact: true}} {
				if got, err = l.Gradient(of, c); err != nil {
					t.Fatal(err)
				}
				for p, v := range reference(t, inGo(t), small, of, c) {
					if !(math.Abs(got.Values[p]-v) <= 1e-5*(1+math.Abs(v))) {
						t.Fatalf("%v, %+v: the gradient is %v at %d, want %v", bad, c, got.Values[p], p, v)
					}
				}
			}
		}
	})
}

// Steps along the gradient bring the loss down and the groups together; saved and
// restored they go on to the last bit.
func TestStepsDescendAndResume(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		of := batch(2)
		first := learner(t, b, small)
		var saved bytes.Buffer
		var begin, end *matching.Gradient
		steps := func(l *matching.Learner, count int) {
			for range count {
				g, err := l.Gradient(of, wide)
				if err != nil {
					t.Fatal(err)
				}
				if begin == nil {
					begin = g
				}
				end = g
				if err := l.Step(0.05, g.Values); err != nil {
					t.Fatal(err)
				}
			}
		}
		steps(first, 10)
		if err := first.Save(&saved, "ten steps"); err != nil {
			t.Fatal(err)
		}
		steps(first, 30)
		if !(end.Loss < 0.8*begin.Loss && end.Distance < 0.9*begin.Distance) {
			t.Errorf("the loss went from %v to %v, the distance from %v to %v", begin.Loss, end.Loss, begin.Distance, end.Distance)
		}
		second, err := matching.New(b, small, start(small, 8), train.Optimizer{Name: train.SGD})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		var metadata string
		if err := second.Restore(&saved, &metadata, func() error { return nil }); err != nil || metadata != "ten steps" {
			t.Fatal(metadata, err)
		}
		steps(second, 30)
		one, err := first.Params()
		if err != nil {
			t.Fatal(err)
		}
		other, err := second.Params()
		if err != nil {
			t.Fatal(err)
		}
		for i := range one {
			if !slices.Equal(one[i].Value, other[i].Value) {
				t.Errorf("%s differs after it was restored", one[i].Name)
			}
		}
	})
}

// Outputs, losses and what the parts of a network make of many records are those of
// one after the other.
func TestPartsOfTheNetwork(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		l := learner(t, b, small)
		of := batch(3)
		x, target := of.X, of.Target
		for len(x) < 9*1500 { // more than are looked at at once
			x, target = append(x, of.X...), append(target, of.Target...)
		}
		inner, err := l.Inner(x)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := l.Outer(inner)
		if err != nil {
			t.Fatal(err)
		}
		output, err := l.Output(x)
		if err != nil {
			t.Fatal(err)
		}
		losses, err := l.Losses(x, target)
		if err != nil {
			t.Fatal(err)
		}
		n := len(x) / 9
		if len(inner) != 2*n || len(output) != 3*n || len(losses) != n {
			t.Fatalf("%d, %d and %d numbers of %d records", len(inner), len(output), len(losses), n)
		}
		var mean float64
		for i := range n {
			var loss float64
			for e := range 3 {
				if !(math.Abs(float64(whole[3*i+e]-output[3*i+e])) <= 1e-5) {
					t.Fatalf("record %d: the parts make %v, the whole %v", i, whole[3*i+e], output[3*i+e])
				}
				loss += math.Pow(float64(output[3*i+e]-target[3*i+e]), 2)
			}
			if !(math.Abs(loss-float64(losses[i])) <= 1e-4*loss) {
				t.Fatalf("record %d has loss %v, want %v", i, losses[i], loss)
			}
			mean += loss / float64(n)
		}
		if g, err := l.Gradient(of, wide); err != nil || !(math.Abs(g.Loss/mean-1) <= 0.02) { // 1508 rows hold some of 12 once more
			t.Errorf("the batch's loss is %v (%v), the mean of its records %v", g.Loss, err, mean)
		}
	})
}

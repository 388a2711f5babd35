package sweep

import (
	"fmt"
	"testing"
)

func TestPicture(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"mnist", "dp-swae at ε = ∞", "samples"}, "mnist-dp-swae-at-e-inf-samples.png"},
		{[]string{"mnist", "L × 0.25, ε = 5", "samples"}, "mnist-l-x-0.25-e-5-samples.png"},
		{[]string{"mnist", "batch ×4, steps ÷4 at ε = 1", "codes"}, "mnist-batch-x4-steps-d4-at-e-1-codes.png"},
		{[]string{"mnist", "λ = 0.5, p = 0.4, m = 3", "learning_rate 1e-05"}, "mnist-lambda-0.5-p-0.4-m-3-learning-rate-1e-05.png"},
		{[]string{"../faces/", "how öften"}, "..-faces-how-ften.png"},
	} {
		if got := Picture(c.words...); got != c.want {
			t.Errorf("%q is %s, want %s", c.words, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	key := func(word string) int { return len(word) }
	got := ""
	for k, words := range Split([]string{"one", "four", "two", "a", "five"}, key) {
		if k == 1 {
			break
		}
		got += fmt.Sprint(k, words)
	}
	if want := "3 [one two]4 [four five]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for k := range Split(nil, key) {
		t.Errorf("nothing has key %d", k)
	}
}

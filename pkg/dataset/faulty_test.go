package dataset_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"molehill/pkg/dataset"
)

// What a data set of somebody else gets wrong is told with its name, and before
// anybody computes with it.
func TestFaultyDataSetsAreNamed(t *testing.T) {
	rows := func(change func(*dataset.Dataset)) func() *dataset.Splits {
		return func() *dataset.Splits {
			make := func() *dataset.Dataset {
				return &dataset.Dataset{Name: "made", Origin: "the test", Height: 1, Width: 2, Channels: 1, X: []float32{1, 2, 3, 4}, Labels: []int{0, 1}, Classes: []string{"no", "yes"}}
			}
			train := make()
			change(train)
			return &dataset.Splits{Train: train, Test: make()}
		}
	}
	for name, c := range map[string]struct {
		load func() *dataset.Splits
		want string
	}{
		"good":     {rows(func(*dataset.Dataset) {}), ""},
		"panics":   {func() *dataset.Splits { panic("no cheese") }, "panicked in Load: no cheese (faulty_test.go:"},
		"nothing":  {func() *dataset.Splits { return nil }, "found one of them missing"},
		"half":     {func() *dataset.Splits { return &dataset.Splits{Train: rows(func(*dataset.Dataset) {})().Train} }, "found one of them missing"},
		"ragged":   {rows(func(d *dataset.Dataset) { d.X = d.X[:3] }), "the last row lacks 1"},
		"labels":   {rows(func(d *dataset.Dataset) { d.Labels = d.Labels[:1] }), "a label for each of 2 rows, found 1"},
		"classes":  {rows(func(d *dataset.Dataset) { d.Labels[1] = 2 }), "labels from 0 to 1, found 2"},
		"nan":      {rows(func(d *dataset.Dataset) { d.X[3] = float32(math.NaN()) }), "found NaN in row 1, column 1"},
		"flat":     {rows(func(d *dataset.Dataset) { d.Height = 0 }), "at least 1×1×1"},
		"two-ways": {rows(func(d *dataset.Dataset) { d.Width, d.X, d.Labels = 1, d.X[:2], d.Labels[:2] }), "the same layout"},
	} {
		name = "faulty-" + name
		dataset.Register(name, "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) { return c.load(), nil })
		_, err := dataset.Load(t.Context(), name, dataset.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("the good one beside them: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `data set "`+name+`"`)):
			t.Errorf("%s: %v, want it to say %q and its name", name, err, c.want)
		}
		if _, digestErr := dataset.Digest(t.Context(), name, dataset.Options{}, nil); (digestErr == nil) != (err == nil) {
			t.Errorf("%s: loading says %v, its digest %v", name, err, digestErr)
		}
	}
	refusal := errors.New("closed on Sundays")
	dataset.Register("faulty-refuses", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) { return nil, refusal })
	if _, err := dataset.Load(t.Context(), "faulty-refuses", dataset.Options{}); !errors.Is(err, refusal) {
		t.Errorf("an error of its own comes back as %v", err)
	}
}

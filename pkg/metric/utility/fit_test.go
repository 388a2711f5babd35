package utility

import (
	"context"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// foreign is a classifier of somebody else's with a mistake.
type foreign struct{ mistake string }

func (f foreign) Describe() plugin.Info {
	return plugin.Info{Name: f.mistake, Version: "1", Source: "a test", Summary: "for tests"}
}

func (f foreign) Fit(context.Context, *dataset.Dataset, uint64, func(Progress)) (Model, error) {
	switch f.mistake {
	case "panics":
		panic("of 3 weights")
	case "nothing":
		return nil, nil
	}
	return f, nil
}

func (f foreign) Classes() int { return 3 }

func (f foreign) Predict(x *dataset.Dataset) ([]int, error) {
	switch f.mistake {
	case "few":
		return x.Labels[:x.Len()-1], nil
	case "many":
		return append([]int{0}, x.Labels...), nil
	case "right":
		return x.Labels, nil
	}
	panic("of a label")
}

// What a classifier of somebody else's does wrong is an error that says so, and no
// accuracy.
func TestForeignClassifiers(t *testing.T) {
	ctx, rows := context.Background(), bars(10, 3, 1)
	for mistake, want := range map[string]string{
		"panics":  "of 3 weights",
		"nothing": "has learned no model",
		"few":     "9 labels to 10 rows",
		"many":    "11 labels to 10 rows",
		"late":    "of a label",
		"right":   "",
	} {
		m, err := learned(ctx, foreign{mistake}, mistake, rows, 1, nil)
		if err == nil {
			var accuracy float64
			v, wrong := Accuracy(m, rows)
			if accuracy, err = v.Value, wrong; err == nil && accuracy != 1 {
				t.Errorf("%s: an accuracy of %v", mistake, accuracy)
			}
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", mistake, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; expected an error that says %q", mistake, err, want)
		case (mistake == "panics" || mistake == "late") && !strings.Contains(err.Error(), mistake):
			t.Errorf("%s: %v; expected the classifier's name", mistake, err)
		}
	}
	if _, err := Fit(ctx, "logistics", rows, 1, nil); err == nil || !strings.Contains(err.Error(), "logistic") {
		t.Errorf("a classifier that there is not: %v", err)
	}
}

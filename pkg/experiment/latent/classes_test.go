package latent

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/models"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/transport"
)

// twoClasses are n points around one place of the sphere or another, by label.
func twoClasses(rng *rand.Rand, n int) (transport.Points, []int) {
	x, labels := transport.NewPoints(n, 4), make([]int, n)
	for i := range n {
		labels[i] = rng.IntN(2)
		for c := range x.Row(i) {
			x.Row(i)[c] = float32(rng.NormFloat64()) / 4
		}
		x.Row(i)[labels[i]]++
	}
	x.OnSphere()
	return x, labels
}

func twoClassData() *Data {
	rng := rand.New(rand.NewPCG(1, 77))
	d := &Data{Classes: []string{"left", "right"}}
	d.Test, d.Labels.Test = twoClasses(rng, 600)
	d.Public, d.Labels.Public = twoClasses(rng, 600)
	d.Private, d.Labels.Private = twoClasses(rng, 600)
	d.known = &known{test: d.Test}
	return d
}

// Points of the same law score as real ones do; labels that are wrong, or of one
// class only, do not.
func TestScoresOfClasses(t *testing.T) {
	d := twoClassData()
	score := func(x transport.Points, labels []int) run.Values {
		t.Helper()
		values, err := d.ScoreLabels(x, labels, 1)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	good := score(d.Private, d.Labels.Private)
	// 600 of either side: the largest standard error of a difference is 0.03, so
	// 0.15 is 5 of them.
	for _, name := range []string{"class accuracy", "downstream accuracy", "sliced W₂ within classes"} {
		if !(math.Abs(good[name]-good[name+" of real"]) <= 0.15) {
			t.Errorf("%s of the same law is %v, of real points %v", name, good[name], good[name+" of real"])
		}
	}
	if !(good["class accuracy"] >= 0.85 && good["label total variation"] <= 0.15) {
		t.Errorf("points of the same law: %v", good)
	}
	wrong := slices.Clone(d.Labels.Private)
	for i := range wrong {
		wrong[i] = 1 - wrong[i]
	}
	if v := score(d.Private, wrong); !(v["class accuracy"] <= 0.15 && v["downstream accuracy"] <= 0.15 && v["sliced W₂ within classes"] >= 3*good["sliced W₂ within classes"]) {
		t.Errorf("wrong labels: %v", v)
	}
	if v := score(d.Private, make([]int, 600)); !(math.Abs(v["label total variation"]-0.5) <= 0.1 && v["downstream accuracy"] <= 0.6) {
		t.Errorf("one label for all: %v", v)
	}
}

// Classes are compared as the same classifier sees them: one that is wrong half of the
// time still finds no difference between points and themselves, and finds the one that
// there is between points of all classes and of one.
func TestClassesAreComparedByOneClassifier(t *testing.T) {
	d := twoClassData()
	for i := range d.Labels.Public { // half of what is on the right counts as on the left
		if d.Labels.Public[i] == 1 && i%2 == 0 {
			d.Labels.Public[i] = 0
		}
	}
	total := func(x transport.Points) float64 {
		t.Helper()
		values := run.Values{}
		if err := d.ScoreClasses(x, values); err != nil {
			t.Fatal(err)
		}
		return values["class total variation"]
	}
	if same := total(d.Test); same != 0 {
		t.Errorf("held-out points and themselves: %v", same)
	}
	var left []int
	for i, label := range d.Labels.Private {
		if label == 0 {
			left = append(left, i)
		}
	}
	if one := total(d.Private.Subset(left)); !(one > 0.1) {
		t.Errorf("points of one class: %v", one)
	}
}

// Public rows are drawn from all of the public half, whatever the order of the file, and
// the same ones each time.
func TestPublicRowsAreFromAnywhere(t *testing.T) {
	rows := make([]int, 30_000)
	for i := range rows {
		rows[i] = 2 * i
	}
	drawn := anywhere(rows, 10_000)
	if !slices.Equal(drawn, anywhere(rows, 10_000)) || !slices.IsSorted(drawn) || len(slices.Compact(slices.Clone(drawn))) != 10_000 {
		t.Fatal("rows differ, are out of order, or twice there")
	}
	sum := 0.0
	for _, row := range drawn {
		sum += float64(row) / 60_000
	}
	// The mean of 10,000 of 30,000 has a standard error of 0.0024.
	if mean := sum / 10_000; !(math.Abs(mean-0.5) <= 0.012) {
		t.Errorf("rows are at %v of the file in the mean", mean)
	}
	if all := anywhere(rows[:5], 10); !slices.Equal(all, rows[:5]) {
		t.Errorf("all of five rows are %v", all)
	}
}

// Records are the private half with its labels, and what judges them beside it is of the
// public half: no row is in both.
func TestHalvesAreThoseOfTheSplit(t *testing.T) {
	const n = 40
	train, test := specks(n, 1), specks(10, 2)
	for _, d := range []*dataset.Dataset{train, test} {
		for i := range d.Len() {
			d.Labels = append(d.Labels, i) // a class for each row
		}
		d.Classes = make([]string, n)
		for i := range d.Classes {
			d.Classes[i] = fmt.Sprint(i)
		}
	}
	dataset.Register("numbered", "for a test", func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: train, Test: test}, nil
	})
	models.Registry.Register(numberer{})
	d, err := LoadWith(t.Context(), "numbered", Options{Weights: "numberer", PublicHalf: true}, func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	whole := transport.Points{Dim: 64, Data: slices.Clone(train.X)}
	whole.OnSphere()
	partition := dataset.PublicPrivate(n, experiment.SplitSeed)
	for what, c := range map[string]struct {
		x    transport.Points
		rows []int
	}{"private": {d.Private, partition.Private}, "public": {d.PublicHalf, partition.Public}} {
		if c.x.Len() != n/2 {
			t.Fatalf("%d %s latents", c.x.Len(), what)
		}
		for i, row := range c.rows {
			for k, v := range c.x.Row(i) {
				if !(math.Abs(float64(v-whole.Row(row)[k])) <= 1e-6) {
					t.Fatalf("%s latent %d is not that of row %d", what, i, row)
				}
			}
		}
	}
	if !slices.Equal(d.Labels.Private, partition.Private) {
		t.Errorf("private labels %v, of rows %v", d.Labels.Private, partition.Private)
	}
	for _, label := range d.Labels.Public {
		if len(d.Labels.Public) != 10 || !slices.Contains(partition.Public, label) {
			t.Errorf("labels %v are not of ten public rows", d.Labels.Public)
			break
		}
	}
}

type numberer struct{ plain }

func (numberer) Describe() plugin.Info { return plugin.Info{Name: "numberer", Version: "1"} }

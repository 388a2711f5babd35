package images

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/harmonic"
)

type untold struct{}

func (untold) Step() {}
func (untold) Done() {}

// Of a few images it is said before they are paid for that nothing of them will be seen, and
// of many, or of a large ε, it is not.
func TestTooFewImagesAreToldOf(t *testing.T) {
	for _, c := range []struct {
		images  int
		epsilon string
		says    string
	}{
		{1, "5", "With 1 image and ε = 5 the noise is at least "},
		{2, "1", "as the means of harmonics of each degree can be: what is made will show little else.\n"},
		{2, "1000", ""},
		{2, "inf", ""},
		{400, "5", ""},
	} {
		data, schema := spots(t, c.images, nil)
		spec, err := request(data, schema, c.epsilon).Spec()
		if err != nil {
			t.Fatal(err)
		}
		store, err := run.DefaultStore()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		work := func(string, int) experiment.Work { return untold{} }
		if _, err := experiment.Preview(t.Context(), experiment.Before{Store: store, Spec: spec, To: &said, Work: work}); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(said.String(), "will show little else"); told != (c.says != "") || !strings.Contains(said.String(), c.says) {
			t.Errorf("%d images, ε = %s: want %q, found\n%s", c.images, c.epsilon, c.says, &said)
		}
	}
}

// What the means of a degree can be at most is what they are of one point.
func TestNoMeansAreLouder(t *testing.T) {
	_, path := spots(t, 1, nil)
	schema, err := pictures.ReadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	const dim, n = 5, 3
	x := transport.NewPoints(n, dim)
	for i := range n {
		copy(x.Row(i), []float32{0.6, 0, -0.8, 0, 0})
	}
	for _, names := range [][]string{nil, schema.Names()} {
		m := &byHarmonics{config: settings(), names: names, dim: dim}
		plan, err := m.Plan(n)
		if err != nil {
			t.Fatal(err)
		}
		basis, err := harmonic.NewBasis(dim, m.what.degree)
		if err != nil {
			t.Fatal(err)
		}
		var means []float64
		loudest := 0.
		if m.what.labelled() {
			sketch, err := harmonic.NewLabelled(x, make([]int, n), len(names), basis)
			if err != nil {
				t.Fatal(err)
			}
			loudest, means = sketch.Means[0], sketch.Means[1:]
		} else {
			sketch, err := harmonic.NewSketch(x, basis)
			if err != nil {
				t.Fatal(err)
			}
			means = sketch.Means
		}
		for l := 1; l <= m.what.degree; l++ {
			count := int(harmonic.Count(dim, l))
			loudest = max(loudest, norm(means[:count])/math.Sqrt(float64(count)))
			means = means[count:]
		}
		if times, _ := m.Loudness(plan); !(math.Abs(times*loudest/plan.NoiseStd-1) <= 1e-6) {
			t.Errorf("%d classes: noise of %v is %v times as large as the largest mean, %v", len(names), plan.NoiseStd, times, loudest)
		}
	}
}

func norm(x []float64) float64 {
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

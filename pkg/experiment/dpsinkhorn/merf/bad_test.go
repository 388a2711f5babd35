package merf

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
)

func TestEmbeddingsThatCannotBe(t *testing.T) {
	const n, dim, classes, features = 10, 2, 3, 4
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	records := rows(n, dim, classes, 10)
	fresh := func(x semidebiased.Batch, classes, features int, scale float64, plan privacy.Plan) error {
		e, err := New(b, x, classes, features, scale, noise.Seeded(1), plan.Releaser(noise.Seeded(2)))
		if e != nil {
			e.Close()
		}
		return err
	}
	open := oneRelease(t, n, classes, features, math.Inf(1))
	private := oneRelease(t, n, classes, features, 1)
	sampled, relation, weak := open, private, private
	weak.Sensitivity.Value /= 2
	sampled.Sampler = sampling.FixedSize{Size: 3}
	relation.Sensitivity.Relation = privacy.AddRemove
	e := embedded(t, b, records, classes, features, 1)
	gradient := func(x semidebiased.Batch) error { _, err := e.Gradient(x); return err }
	for _, c := range []struct {
		want string
		err  error
	}{
		{"embedding of 0 records", fresh(semidebiased.Batch{}, classes, features, 1, open)},
		{"n labels", fresh(semidebiased.Batch{Points: records.Points, Labels: records.Labels[1:]}, classes, features, 1, open)},
		{"[n, dim] numbers", fresh(semidebiased.Batch{Points: transport.Points{Dim: 3, Data: records.Data[:11]}, Labels: records.Labels[:3]}, classes, features, 1, open)},
		{"at least 1 of each", fresh(records, 0, features, 1, open)},
		{"at least 1 of each", fresh(records, classes, 0, 1, open)},
		{"take at most", fresh(records, classes, 1<<40, 1, open)},
		{"take at most", fresh(records, math.MaxInt, features, 1, open)},
		{"length scale 0", fresh(records, classes, features, 0, open)},
		{"length scale NaN", fresh(records, classes, features, math.NaN(), open)},
		{"length scale +Inf", fresh(records, classes, features, math.Inf(1), open)},
		{"looks at all", fresh(records, classes, features, 1, sampled)},
		{"state both under one relation", fresh(records, classes, features, 1, relation)},
		{"plan for the largest release", fresh(records, classes, 2*features, 1, private)},
		{"plan for the most sensitive query", fresh(records, classes, features, 1, weak)},
		{"no points", gradient(semidebiased.Batch{})},
		{"rows of dimension 2", gradient(rows(3, dim+1, classes, 1))},
		{"each with a label", gradient(semidebiased.Batch{Points: records.Points})},
		{"the embedding is of 0 to 2", gradient(rows(30, dim, classes+1, 1))},
		{"point 1 has NaN", gradient(semidebiased.Batch{Points: transport.Points{Dim: 2, Data: []float32{0, 0, 0, float32(math.NaN())}}, Labels: []int{0, 0}})},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
}

func TestScaleIsTheMedianDistance(t *testing.T) {
	line := func(at ...float32) transport.Points { return transport.Points{Dim: 1, Data: at} }
	for _, c := range []struct {
		rows transport.Points
		want float64
	}{
		{transport.Points{}, 0},
		{line(3), 0},
		{line(3, 3, 3, 9), 6}, // 0 0 0 6 6 6: the upper of the two in the middle
		{line(0, 1, 3), 2},    // 1 2 3
		{transport.Points{Dim: 2, Data: []float32{0, 0, 3, 4}}, 5},
	} {
		if got := Scale(c.rows); got != c.want {
			t.Errorf("the scale of %v is %v, want %v", c.rows.Data, got, c.want)
		}
	}
	// Independent normals in 50 dimensions are 10 apart, give or take 1, and of a
	// standard deviation of 3 they are 30 apart: those behind the first 500 rows, which
	// are most, as 0.64 of the pairs are theirs.
	rng := rand.New(rand.NewPCG(11, 0))
	x := transport.NewPoints(2500, 50)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
		if i >= 50*500 {
			x.Data[i] *= 3
		}
	}
	// The median of all is the 0.22 quantile of theirs: 29.85 − 0.77·3.
	if got := Scale(x); !(math.Abs(got-27.5) <= 0.5) {
		t.Errorf("scale %v, want about 27.5", got)
	}
}

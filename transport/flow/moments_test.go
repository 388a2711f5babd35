package flow

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// open is a plan without noise: what a release would be.
func openPlan(n int) privacy.Plan {
	return privacy.Plan{Records: n, Steps: 1, Budget: privacy.Budget{Epsilon: math.Inf(1), Delta: 1e-5},
		Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne}}
}

// Without noise the moments are the records', and particles end up with them.
func TestNormalHasTheMomentsOfTheRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 4))
	const n, dim = 3000, 3
	records := gaussian(rng, n, dim, 0)
	for i := range n {
		row := records.Row(i)
		row[0], row[1] = 0.1*row[0]+0.2, 0.1*row[1]+0.05*row[0]
		row[2] *= 0.02
	}
	target, err := NewNormal(records, 1, Directions{Count: 6, Stack: true, Random: noise.Seeded(1)}, openPlan(n).Releaser(noise.Seeded(2)))
	if err != nil {
		t.Fatal(err)
	}
	f := Flow{StepSize: dim, Random: noise.Seeded(3)}
	x := f.Start(4000, dim)
	for step := range 100 {
		if err := f.Step(x, Slices{target}, step); err != nil {
			t.Fatal(err)
		}
	}
	moment := func(p transport.Points, a, b int) (sum float64) {
		for i := range p.Len() {
			sum += float64(p.Row(i)[a]) * float64(p.Row(i)[b]) / float64(p.Len())
		}
		return sum
	}
	for a := range dim {
		for b := range dim {
			want := moment(records, a, b)
			if got := target.Covariance.At(a, b) + target.Mean[a]*target.Mean[b]; !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("moment %d %d is %v, of the records %v", a, b, got, want)
			}
			if got := moment(x, a, b); !(math.Abs(got-want) <= 1e-3) {
				t.Errorf("moment %d %d of the particles is %v, of the records %v", a, b, got, want)
			}
		}
	}
}

// An attack on both sensitivities: random neighbours, and for the moments two
// records at every angle. None passes the bound; the worst reaches it.
func TestMomentsAndEmbeddingSensitivities(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 4))
	const n, dim, radius = 5, 3, 1.5
	moments, err := MomentsSensitivity(n, radius)
	if err != nil {
		t.Fatal(err)
	}
	embedding, err := EmbeddingSensitivity(n)
	if err != nil {
		t.Fatal(err)
	}
	plan := openPlan(n)
	second := func(x transport.Points) []float64 {
		target, err := NewNormal(x, radius, Directions{Count: dim, Stack: true, Random: noise.Seeded(1)}, plan.Releaser(noise.Seeded(2)))
		if err != nil {
			t.Fatal(err)
		}
		// What was released, up to the repair of a covariance, which needs none here.
		values := append([]float64(nil), target.Mean...)
		for a := range dim {
			for b := range dim {
				values = append(values, (target.Covariance.At(a, b)+target.Mean[a]*target.Mean[b])/radius)
			}
		}
		return values
	}
	features := func(x transport.Points) []float64 {
		e, err := NewEmbedding(x, 40, 0.05, noise.Seeded(3), plan.Releaser(noise.Seeded(2)))
		if err != nil {
			t.Fatal(err)
		}
		return e.Mean
	}
	var worst [2]float64
	try := func(x transport.Points, to []float32) {
		neighbour := x.Clone()
		copy(neighbour.Row(0), to)
		worst[0] = max(worst[0], floats.Distance(second(x), second(neighbour), 2)/moments.Value)
		worst[1] = max(worst[1], floats.Distance(features(x), features(neighbour), 2)/embedding.Value)
	}
	for range 1000 {
		x := gaussian(rng, n, dim, 0)
		try(x, gaussian(rng, 1, dim, 0).Data)
	}
	for i := range 400 {
		x := gaussian(rng, n, dim, 0)
		sin, cos := math.Sincos(math.Pi * float64(i) / 399)
		copy(x.Row(0), []float32{3, 0, 0})
		try(x, []float32{float32(3 * cos), float32(3 * sin), 0})
	}
	if !(worst[0] <= 1 && worst[0] > 0.999) {
		t.Errorf("moments move by %v of their sensitivity", worst[0])
	}
	// Features cannot all turn by half a circle at once, so 2/n is not reached.
	if !(worst[1] <= 1 && worst[1] > 0.8) {
		t.Errorf("the embedding moves by %v of its sensitivity", worst[1])
	}
}

// The embedding's drift is −(n/2)·∂MMD²/∂x, against difference quotients, and it
// leads particles to the records.
func TestEmbedding(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 4))
	const n, dim = 400, 2
	records := gaussian(rng, n, dim, 0)
	for i := range records.Data {
		records.Data[i] = records.Data[i]/4 + 0.5*float32(i%2)
	}
	e, err := NewEmbedding(records, 100, 1, noise.Seeded(4), openPlan(n).Releaser(noise.Seeded(5)))
	if err != nil {
		t.Fatal(err)
	}
	discrepancy := func(x transport.Points) float64 {
		own := make([]float64, len(e.Mean))
		e.mean(own, x)
		d := floats.Distance(own, e.Mean, 2)
		return d * d
	}
	x := gaussian(rng, 50, dim, 0)
	drift, err := e.Drift(Flow{}, x, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		const h = 1.0 / 256
		up, down := x.Clone(), x.Clone()
		up.Data[i] += h
		down.Data[i] -= h
		want := -25 * (discrepancy(up) - discrepancy(down)) / (2 * h)
		if !(math.Abs(float64(drift[i])-want) <= 1e-4) {
			t.Errorf("drift %d is %v, −(n/2)·∂MMD² %v", i, drift[i], want)
		}
	}
	before := discrepancy(x)
	f := Flow{StepSize: 2, Random: noise.Seeded(6)}
	for step := range 300 {
		if err := f.Step(x, e, step); err != nil {
			t.Fatal(err)
		}
	}
	if after := discrepancy(x); !(after <= before/100) {
		t.Errorf("MMD² went from %v to %v", before, after)
	}
}

// What was not released is not handed out: the mean would be exact.
func TestNoEmbeddingWithoutItsRelease(t *testing.T) {
	x := sphere(8, 50, 1)
	s, err := EmbeddingSensitivity(x.Len())
	if err != nil {
		t.Fatal(err)
	}
	s.Value /= 2
	plan := calibrated(t, privacy.Plan{Sensitivity: s, Records: x.Len(), Steps: 1, Coordinates: 2 * 10, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}})
	if e, err := NewEmbedding(x, 10, 1, noise.Seeded(1), plan.Releaser(noise.Seeded(2))); err == nil || e != nil {
		t.Errorf("a plan for half of the sensitivity released %v, %v", e, err)
	}
}

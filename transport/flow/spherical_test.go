package flow

import (
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
	"molehill/transport"
	"molehill/transport/harmonic"
	"molehill/transport/sliced"
)

func sphericalPlan(t *testing.T, records transport.Points, degree int, epsilon float64) privacy.Plan {
	t.Helper()
	s, err := harmonic.Sensitivity(records.Dim, degree, records.Len())
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for l := 1; l <= degree; l++ {
		size += int(harmonic.Count(records.Dim, l))
	}
	return calibrated(t, privacy.Plan{Sensitivity: s, Records: records.Len(), Steps: 1, Coordinates: size,
		Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-6}})
}

// Particles find a cap of the sphere through a private release of its harmonics,
// on fresh directions at each step.
func TestSphericalFlowLandsOnItsTarget(t *testing.T) {
	records := sphere(4, 20_000, 4)
	for i := range records.Len() { // a cap of the sphere
		records.Row(i)[0] += 2
	}
	records.OnSphere()
	directions := Directions{Count: 20, Stack: true, Random: noise.Seeded(1)}
	target, err := NewSpherical(records, 5, directions, sphericalPlan(t, records, 5, 1).Releaser(noise.Seeded(2)))
	if err != nil {
		t.Fatal(err)
	}
	u, first, err := target.At(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range first {
		if !slices.IsSorted(q.Values) || !(q.Values[0] >= -1 && q.Values[len(q.Values)-1] <= 1) {
			t.Fatalf("%v is no ascending row in [−1, 1]", q.Values)
		}
	}
	if again, _, _ := target.At(3); !slices.Equal(again.Data, u.Data) {
		t.Error("a step was answered twice with different directions")
	}
	if other, _, _ := target.At(4); slices.Equal(other.Data, u.Data) {
		t.Error("two steps have the same directions")
	}
	directions.Rounds = 3 // directions that come again, with the same quantiles
	defer func(most int) { mostRecurring = most }(mostRecurring)
	for _, mostRecurring = range []int{mostRecurring, 3*20*4*sphericalKnots - 1} {
		round := &Spherical{Density: target.Density, Directions: directions}
		for step := range 7 {
			v, its, err := round.At(step)
			if err != nil {
				t.Fatal(err)
			}
			u, fresh, err := target.At(step % 3)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(v.Data, u.Data) || !slices.EqualFunc(its, fresh, func(a, b transport.Quantile) bool { return slices.Equal(a.Values, b.Values) }) {
				t.Errorf("step %d does not go by what step %d would", step, step%3)
			}
		}
		if kept := len(round.known.rounds); kept != 0 && mostRecurring < 3*20*4*sphericalKnots {
			t.Errorf("%d rounds are kept in %d bytes", kept, mostRecurring)
		}
	}
	f := Flow{StepSize: 2, Random: noise.Seeded(5)}
	x := f.Start(4000, 4)
	for step := range 80 {
		if err := f.Step(x, Slices{target}, step); err != nil {
			t.Fatal(err)
		}
	}
	x.OnSphere()
	d, err := sliced.SW2(x, records, sliced.Orthonormal(4, 20, noise.Seeded(6).Stream("score", 0)))
	if err != nil {
		t.Fatal(err)
	}
	if !(d.Value <= 0.015) { // 4,000 points of the cap itself are 0.006 from the others
		t.Errorf("the particles are %v from the records", d.Value)
	}
}

// A plan that draws samples is refused. (TestWildRecordsAreBounded has what records that are
// no points of the sphere do.)
func TestSphericalLooksAtAllRecords(t *testing.T) {
	directions := Directions{Count: 4, Stack: true, Random: noise.Seeded(1)}
	records := sphere(8, 100, 4)
	s, _ := harmonic.Sensitivity(4, 2, 100)
	plan := calibrated(t, privacy.Plan{Sensitivity: s, Sampler: sampling.FixedSize{Size: 10}, Records: 100, Steps: 1, Coordinates: 13,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}})
	if _, err := NewSpherical(records, 2, directions, plan.Releaser(noise.Seeded(2))); err == nil || !strings.Contains(err.Error(), "draws 10 of 100") {
		t.Errorf("a plan for samples: %v", err)
	}
}

// Beside fewer public points of the same population a noisy release comes nearer than
// either does alone (of twelve keys: 0.038 ± 0.008 alone, 0.018 ± 0.002 with the public
// points' 0.022); a prior that is not like the records is refused before anything is
// released.
func TestSphericalFlowBesideAPrior(t *testing.T) {
	cap := func(seed uint64, by float32) transport.Points {
		x := sphere(seed, 4000, 4)
		for i := range x.Len() {
			x.Row(i)[0] += by
		}
		x.OnSphere()
		return x
	}
	records, public := cap(4, 1.2), cap(8, 1.2)
	public = transport.Points{Dim: 4, Data: public.Data[:4*500]}
	directions := Directions{Count: 20, Stack: true, Random: noise.Seeded(1)}
	plan := sphericalPlan(t, records, 3, 0.1)
	landed := func(target *Spherical) float64 {
		f := Flow{StepSize: 2, Random: noise.Seeded(5)}
		x := f.Start(4000, 4)
		for step := range 60 {
			if err := f.Step(x, Slices{target}, step); err != nil {
				t.Fatal(err)
			}
		}
		x.OnSphere()
		d, err := sliced.SW2(x, records, sliced.Orthonormal(4, 20, noise.Seeded(6).Stream("score", 0)))
		if err != nil {
			t.Fatal(err)
		}
		return d.Value
	}
	basis, err := harmonic.NewBasis(4, 6)
	if err != nil {
		t.Fatal(err)
	}
	known, err := harmonic.NewSketch(public, basis)
	if err != nil {
		t.Fatal(err)
	}
	prior := landed(&Spherical{Density: known.Density(0, nil), Directions: directions})
	var released, both float64
	const times = 5
	for seed := range uint64(times) {
		alone, err := NewSpherical(records, 3, directions, plan.Releaser(noise.Seeded(20+seed)))
		if err != nil {
			t.Fatal(err)
		}
		beside, err := NewSphericalBeside(public, records, 3, directions, plan.Releaser(noise.Seeded(20+seed)))
		if err != nil {
			t.Fatal(err)
		}
		released += landed(alone) / times
		both += landed(beside) / times
	}
	t.Logf("%.4f from the records with the release alone, %.4f with the prior alone, %.4f with both", released, prior, both)
	if !(both <= 0.95*min(released, prior)) {
		t.Error("want both to come at least a twentieth nearer")
	}
	for name, wrong := range map[string]transport.Points{"none": {Dim: 4}, "other dimension": sphere(1, 10, 3)} {
		release := plan.Releaser(noise.Seeded(3))
		release.Keep(func(int, []float64) error { t.Errorf("%s: something was released", name); return nil })
		if _, err := NewSphericalBeside(wrong, records, 3, directions, release); err == nil || !strings.Contains(err.Error(), "prior") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package dpsinkhorn

import (
	"slices"
	"testing"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/privacy/noise"
	"molehill/transport"
)

// Of each class those particles stay that the release takes for it, and at least half.
func TestParticlesOfAnotherClassAreLeftOut(t *testing.T) {
	labels := []int{0, 0, 0, 0, 1, 1, 1, 3, 3, 3, 3, 3}
	margins := []float64{0.1, -0.1, 0.3, 0.2, -0.3, -0.1, -0.2, -1, -5, 0, -4, -2}
	got := ahead(margins, labels, 5)
	for class, want := range [][]int{{2, 3, 0}, {5, 6}, {}, {9, 7, 11}, {}} {
		if !slices.Equal(got[class], want) {
			t.Errorf("class %d keeps %v, want %v", class, got[class], want)
		}
	}
}

// A step on classes has as many particles of each as of generated rows, in both parts of
// these, and none but members.
func TestClassesMeetAsManyOfTheirOwn(t *testing.T) {
	const classes, n, particles = 3, 12, 60
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	loss := semidebiased.Loss{Debiasing: 1, LabelScale: 2, Classes: classes, Entropy: 0.05, Iterations: 50, Tolerance: 1e-3}
	program, err := loss.Compile(b, n, n, 2)
	if err != nil {
		t.Fatal(err)
	}
	points, members := semidebiased.Batch{Points: transport.NewPoints(particles, 2), Labels: make([]int, particles)}, make([][]int, classes)
	for i := range particles {
		points.Labels[i] = i % classes
		points.Row(i)[0] = float32(points.Labels[i]) // where its class is
		if i < particles/2 {
			members[points.Labels[i]] = append(members[points.Labels[i]], i)
		} else {
			points.Row(i)[1] = 100 // which nothing may learn from
		}
	}
	teach := newByClasses(byParticles{program, points, n, noise.Seeded(1)}, n, members)
	defer teach.close()
	total, _ := loss.Split(n)
	labels := make([]int, total)
	teach.label(labels)
	for _, half := range [][]int{labels[:n], labels[n:]} {
		count := make([]int, classes)
		for _, label := range half {
			count[label]++
		}
		if slices.Min(count) != n/classes || slices.Max(count) != n/classes {
			t.Fatalf("labels %v of a step", half)
		}
	}
	x := semidebiased.Batch{Points: transport.NewPoints(total, 2), Labels: labels} // on the place of its class it is where it should be
	for i, label := range labels {
		x.Row(i)[0] = float32(label)
	}
	for step := range 5 {
		gradient, err := teach.gradient(step, x)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range gradient {
			if !(g > -1e-3 && g < 1e-3) {
				t.Fatalf("step %d: gradient %v at coordinate %d of rows that are where particles are", step, g, i)
			}
		}
	}
}

// A class of which the release has seen nothing is learned of all particles.
func TestAClassWithoutParticlesLearnsOfAll(t *testing.T) {
	points := semidebiased.Batch{Points: transport.NewPoints(4, 2), Labels: []int{0, 0, 0, 0}}
	got := newByClasses(byParticles{points: points}, 2, [][]int{{1, 2}, {}})
	if !slices.Equal(got.members[0], []int{1, 2}) || len(got.members[1]) != 4 {
		t.Errorf("members %v", got.members)
	}
}

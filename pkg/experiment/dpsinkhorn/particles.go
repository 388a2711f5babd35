package dpsinkhorn

import (
	"cmp"
	"slices"

	"molehill/models/semidebiased"
	"molehill/privacy/noise"
	"molehill/transport/flow"
)

// byParticles learns from labelled points that may be shown to anybody, such as
// those made of a release: no step costs anything.
type byParticles struct {
	program *semidebiased.Program
	points  semidebiased.Batch
	batch   int
	public  noise.Source
}

func (g *byParticles) gradient(step int, x semidebiased.Batch) ([]float32, error) {
	rng := g.public.Stream("particles to learn from", step)
	rows := make([]int, min(g.batch, g.points.Len()))
	for i := range rows {
		rows[i] = rng.IntN(g.points.Len())
	}
	return g.towards(x, rows)
}

// towards is the gradient against some of the points.
func (g *byParticles) towards(x semidebiased.Batch, rows []int) ([]float32, error) {
	p, err := g.program.Gradient(x, g.points.Subset(rows))
	if err != nil {
		return nil, err
	}
	return p.ByX, checkFinite(p.ByX)
}

func (g *byParticles) close() { g.program.Close() }

// byClasses learns from particles, too, but each step has as many of every class as the
// generator makes. Where both draw labels, a tenth of the mass or so has to go from one
// class to another, and takes images along.
type byClasses struct {
	byParticles
	generated int     // rows that meet the particles; the rest of a step's are of the same classes
	members   [][]int // what is learned from of each class, none empty
}

// newByClasses learns from the members of some classes; what has none is learned of all.
func newByClasses(g byParticles, generated int, members [][]int) *byClasses {
	for class, of := range members {
		if len(of) == 0 { // a class that the release has hardly seen
			members[class] = allOf(g.points.Len())
		}
	}
	return &byClasses{g, generated, members}
}

// label implements labeller.
func (g *byClasses) label(labels []int) {
	for i := range labels {
		labels[i] = i % g.generated % len(g.members)
	}
}

func (g *byClasses) gradient(step int, x semidebiased.Batch) ([]float32, error) {
	rng := g.public.Stream("particles to learn from", step)
	rows := make([]int, g.batch)
	for i := range rows {
		of := g.members[i%len(g.members)]
		rows[i] = of[rng.IntN(len(of))]
	}
	return g.towards(x, rows)
}

// clearest returns of each class the particles that the release takes for it rather than
// for another one, and at least that half of them of which it is surest. Classes overlap:
// a classifier that has seen a particle where another class is likelier has learned an error.
func clearest(particles semidebiased.Batch, classes int, guide *flow.Labelled) ([][]int, error) {
	classifier, err := guide.Classifier(particles.Points)
	if err != nil {
		return nil, err
	}
	margins, err := classifier.Margins(particles.Points, particles.Labels)
	if err != nil {
		return nil, err
	}
	return ahead(margins, particles.Labels, classes), nil
}

// ahead returns the rows of each class whose margin is above 0, and at least half of them:
// those of the largest.
func ahead(margins []float64, labels []int, classes int) [][]int {
	members := make([][]int, classes)
	for i, label := range labels {
		members[label] = append(members[label], i)
	}
	for class, of := range members {
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(margins[b], margins[a]) })
		kept := (len(of) + 1) / 2
		for kept < len(of) && margins[of[kept]] > 0 {
			kept++
		}
		members[class] = of[:kept]
	}
	return members
}

func allOf(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

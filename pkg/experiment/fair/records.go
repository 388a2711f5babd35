package fair

import (
	"fmt"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
)

// Records are of people of two groups, n of them.
type Records struct {
	Dim      int
	X        []float32 // features, [n, Dim]
	Group    []int     // A, the sensitive attribute, [n], 0 or 1
	Label    []int     // Y, [n], 0 or 1
	Response []float32 // Y^C, [n, 2], where there is one
	Core     int       // how many of the features, the first, do not tell the group; 0 where nobody knows
	Origin   string
}

// Len returns n.
func (r *Records) Len() int { return len(r.Group) }

// sources load the data sets that experiments of this package know, for training
// and, independent of those, for testing.
var sources = map[string]func(*Config) (train, test *Records, err error){"biased": biased}

// biased are the records of 004 C.2. All runs see the same ones.
func biased(c *Config) (train, test *Records, err error) {
	b := dataset.PublishedBiased()
	b.Probability = c.Probability
	part := func(n int, draw func(dataset.Biased, uint64) dataset.BiasedSample) *Records {
		b.Records = n
		if err == nil {
			err = b.Check()
		}
		s := draw(b, experiment.SplitSeed)
		return &Records{Dim: b.Dim(), X: s.X, Group: s.A, Label: s.Y, Response: s.YC, Core: b.Core, Origin: fmt.Sprintf("generated from seed %d", experiment.SplitSeed)}
	}
	return part(c.Records, dataset.Biased.Generate), part(c.Held, dataset.Biased.Holdout), err
}

// group names one of the categories whose distributions are compared: a group, or
// those of it with a label.
type group struct {
	a, y int // y is −1 where the label does not matter
}

func (g group) String() string {
	if g.y < 0 {
		return fmt.Sprintf("A = %d", g.a)
	}
	return fmt.Sprintf("A = %d, Y = %d", g.a, g.y)
}

func (g group) has(r *Records, i int) bool {
	return r.Group[i] == g.a && (g.y < 0 || r.Label[i] == g.y)
}

// groups are the categories of a criterion, those that are compared one after the
// other: 0 with 1, 2 with 3.
func groups(criterion string) []group {
	if criterion == Odds {
		return []group{{0, 0}, {1, 0}, {0, 1}, {1, 1}}
	}
	return []group{{0, -1}, {1, -1}}
}

// Check says what is wrong with the records.
func (r *Records) Check() error {
	n := r.Len()
	if r.Dim < 1 || len(r.X) != n*r.Dim {
		return fmt.Errorf("fair: %d numbers for %d records of %d features; bring a row for each", len(r.X), n, r.Dim)
	}
	if r.Response != nil && len(r.Response) != 2*n {
		return fmt.Errorf("fair: %d numbers of responses for %d records; bring two for each", len(r.Response), n)
	}
	for _, column := range []struct {
		name   string
		values []int
	}{{"group A", r.Group}, {"label Y", r.Label}} {
		if len(column.values) != n {
			return fmt.Errorf("fair: a %s for %d of %d records; give one to each", column.name, len(column.values), n)
		}
		for i, v := range column.values {
			if v != 0 && v != 1 {
				return fmt.Errorf("fair: record %d has the %s %d; it is 0 or 1: recode the column, or drop the record", i, column.name, v)
			}
		}
	}
	return nil
}

// categories tells of each record which of the groups it is in, and how many each
// has. No group may have less than two: the distribution of a single person is that
// person.
func (r *Records) categories(of []group) (category, sizes []int, err error) {
	if err := r.Check(); err != nil {
		return nil, nil, err
	}
	category, sizes = make([]int, r.Len()), make([]int, len(of))
	for i := range category {
		for k, g := range of {
			if g.has(r, i) {
				category[i] = k
				sizes[k]++
			}
		}
	}
	for k, size := range sizes {
		if size < 2 {
			found := []string{"is empty", "has a single member"}[size]
			return nil, nil, fmt.Errorf("fair: the group %v %s; compare groups of at least two: bring more records of it, or join it with another group", of[k], found)
		}
	}
	return category, sizes, nil
}

// describe names groups with their sizes.
func describe(of []group, sizes []int) string {
	parts := make([]string, len(of))
	for k, g := range of {
		parts[k] = fmt.Sprintf("%v: %d", g, sizes[k])
	}
	return strings.Join(parts, "; ")
}

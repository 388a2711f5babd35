package training

import (
	"math"

	"molehill/models/semidebiased"
	"molehill/privacy"
	"molehill/privacy/clip"
)

// counted is how far a record may move the counts of a step's classes, in units of how
// far it may move the gradient. Together they move by √(1 + counted²), 2 % more than
// the gradient alone, and over thousands of steps the counts tell far more than the
// training needs.
const counted = 0.2

// weight is what a record of a class counts in a release. One that is replaced takes it
// from a class and gives it to another, √2·weight.
func (m *Method) weight() float64 { return counted * 2 * m.Bound / math.Sqrt2 }

// counts reports whether there are classes to count.
func (m *Method) counts() bool { return m.Classes > 1 }

// sensitivity is that of a step: of the clipped gradient by rows that met records, and
// of the classes of these records.
func (m *Method) sensitivity() (privacy.Sensitivity, error) {
	s, err := semidebiased.Whole.Sensitivity(m.Bound, m.Generated, privacy.ReplaceOne)
	if err == nil && m.counts() {
		s.Value *= math.Sqrt(1+counted*counted) * (1 + 1e-12)
		s.Query += ", and the weighted counts of the classes that were drawn"
		s.Source += "; a replaced record takes the weight w from one count and gives it to another: √((2C)² + 2w²)"
	}
	return s, err
}

// coordinates is how many numbers a step releases for rows of a dimension.
func (m *Method) coordinates(dim int) int {
	if m.counts() {
		return m.Generated*dim + m.Classes
	}
	return m.Generated * dim
}

// sanitise makes what a step has seen of its records private, in place: the gradient by
// its first Generated rows of a dimension is clipped as a whole and gets the step's
// noise, and so do the counts of the records' classes, [Classes], which come back as
// the release tells of them. The rows that met no records are clipped to the same size.
func (m *Method) sanitise(gradient []float32, dim int, classes []float64, release *privacy.Releaser, step int) error {
	s, err := m.sensitivity()
	if err != nil {
		return err
	}
	met, others := gradient[:m.Generated*dim], gradient[m.Generated*dim:]
	for _, rows := range [][]float32{met, others} {
		if len(rows) > 0 {
			if err := clip.Rows(rows, len(rows), m.Bound); err != nil {
				return err
			}
		}
	}
	values := make([]float64, 0, m.coordinates(dim))
	for _, v := range met {
		values = append(values, float64(v))
	}
	if m.counts() {
		for _, count := range classes {
			values = append(values, count*m.weight())
		}
	}
	if err := release.Release(values, s, step); err != nil {
		return err
	}
	for i := range met {
		met[i] = float32(values[i])
	}
	for k, v := range values[len(met):] {
		classes[k] = v / m.weight()
	}
	return nil
}

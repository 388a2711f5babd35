package transport

// Sum adds up numbers with compensation (Neumaier 1974): of n numbers it is off by its
// last bit and by n²·2⁻¹⁰⁶ of the sum of absolute values. The error of a plain sum grows
// with n·2⁻⁵³, and what one record can do to a mean falls with n: beside millions of
// records rounding alone would pass the slack of a sensitivity.
type Sum struct{ value, lost float64 }

// Add adds v.
func (s *Sum) Add(v float64) {
	next := s.value + v
	added := next - s.value
	s.lost += s.value - (next - added) + (v - added) // exact whichever is larger, and without a branch
	s.value = next
}

// Join adds what another sum has come to.
func (s *Sum) Join(other Sum) {
	s.Add(other.value)
	s.Add(other.lost)
}

// Value is the sum.
func (s *Sum) Value() float64 { return s.value + s.lost }

// SumValues returns the values of sums.
func SumValues(sums []Sum) []float64 {
	values := make([]float64, len(sums))
	for i := range sums {
		values[i] = sums[i].Value()
	}
	return values
}

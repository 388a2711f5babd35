package transport

// Sum adds up numbers with compensation (Higham 2002, 4.3): its error is
// 2⁻⁵² of the sum of absolute values, however many there are. That of a plain sum grows
// with their number as well, and what one record can do to a mean falls with it: beside
// millions of records rounding alone would pass the slack of a sensitivity.
type Sum struct{ value, lost float64 }

// Add adds v.
func (s *Sum) Add(v float64) {
	term := v - s.lost
	sum := s.value + term
	s.lost = (sum - s.value) - term
	s.value = sum
}

// Value is the sum.
func (s *Sum) Value() float64 { return s.value }

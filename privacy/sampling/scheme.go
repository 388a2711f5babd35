package sampling

// Kinds of a Scheme.
const (
	KindAll        = "all"
	KindPoisson    = "poisson"
	KindFixedSize  = "fixed_size"
	KindStratified = "stratified"
)

// Scheme is what a sampler draws of so many records, as values for programs to read: a
// sampler's String is for people, and its words may change. It tells no more than they do,
// of a Stratified not which record is of which category. The zero Scheme tells nothing.
type Scheme struct {
	Kind    string    `json:"kind"`
	Records int       `json:"records"`          // n
	Rate    float64   `json:"rate,omitempty"`   // of Poisson
	Strata  []Stratum `json:"strata,omitempty"` // of FixedSize one, all records; of Stratified its categories, in order
}

// Stratum is how many records a sampler takes, and of how many.
type Stratum struct {
	Taken int `json:"taken"`
	Of    int `json:"of"`
}

// Describe returns what a sampler draws of n records; the zero Scheme for one that is not
// of this package (Check).
func Describe(s Sampler, n int) Scheme {
	switch s := s.(type) {
	case All:
		return Scheme{Kind: KindAll, Records: n}
	case Poisson:
		return Scheme{Kind: KindPoisson, Records: n, Rate: s.Rate}
	case FixedSize:
		return Scheme{Kind: KindFixedSize, Records: n, Strata: []Stratum{{Taken: s.Size, Of: n}}}
	case Stratified:
		d := Scheme{Kind: KindStratified, Records: n}
		for c, size := range s.sizes {
			d.Strata = append(d.Strata, Stratum{Taken: size, Of: len(s.rows[c])})
		}
		return d
	}
	return Scheme{}
}

// Taken is how many records a step takes of each stratum.
func (s Scheme) Taken() []int {
	taken := make([]int, len(s.Strata))
	for c, stratum := range s.Strata {
		taken[c] = stratum.Taken
	}
	return taken
}

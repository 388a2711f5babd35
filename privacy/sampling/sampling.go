// Package sampling draws the batches that privacy amplification is proven for.
// A sampler names the event that accounts for it, so that what is drawn and what
// is claimed cannot part.
//
// Amplification holds against those who do not see which records were drawn:
// the generator must be secret, such as a stream of a secure noise source, and
// each step must draw afresh. A shuffled pass over the data is neither of the
// samplers here.
package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"

	"molehill/privacy/accountant"
)

// Sampler draws batches of row numbers. Those of this package are all that there are: what
// a batch amplifies is proved for them (Check).
type Sampler interface {
	fmt.Stringer
	// Draw returns distinct rows of n, numbered from 0.
	Draw(n int, rng *rand.Rand) ([]int, error)
	// Event returns what one step of base on a batch drawn from n rows is for an
	// accountant. It is invalid, and accountants say so, if the sampler is.
	Event(n int, base accountant.Event) accountant.Event
}

// Poisson takes each row with probability Rate, independently. It is accounted for under
// add-remove and zero-out and, for sums of one vector a record with Gaussian noise, under
// replace-one and k-end. The batch size is private: no released shape and no
// divisor may depend on it, and an empty batch still gets its noise.
type Poisson struct {
	Rate float64 // 0, or from 1e-9 to 1 (Check)
}

// FixedSize takes Size rows without replacement, all subsets alike. It is
// accounted for under replace-one; the number of rows is public.
type FixedSize struct {
	Size int // from 0 to the number of rows
}

// All takes every row. It amplifies nothing.
type All struct{}

func (s Poisson) String() string   { return fmt.Sprintf("Poisson(%g)", s.Rate) }
func (s FixedSize) String() string { return fmt.Sprintf("FixedSize(%d)", s.Size) }
func (All) String() string         { return "All" }

// Event is a PoissonSampled event.
func (s Poisson) Event(_ int, base accountant.Event) accountant.Event {
	return accountant.PoissonSampled{Rate: s.Rate, Event: base}
}

// Event is a FixedSizeSampled event.
func (s FixedSize) Event(n int, base accountant.Event) accountant.Event {
	return accountant.FixedSizeSampled{Size: s.Size, Population: n, Event: base}
}

// Event is base itself.
func (All) Event(_ int, base accountant.Event) accountant.Event { return base }

// Draw returns the batch in ascending order. It takes time and memory in
// proportion to the batch, not to n: the number of rows skipped before the next
// one is geometric, ⌊ln U / ln(1−Rate)⌋.
func (s Poisson) Draw(n int, rng *rand.Rand) ([]int, error) {
	if !(s.Rate >= 0 && s.Rate <= 1) || n < 0 {
		return nil, fmt.Errorf("sampling: want a rate in [0, 1] and at least 0 rows, found %v of %d rows", s, n)
	}
	if err := Check(s); err != nil {
		return nil, err
	}
	if s.Rate == 1 {
		return All{}.Draw(n, rng)
	}
	expected := s.Rate * float64(n)
	batch := make([]int, 0, int(expected+4*math.Sqrt(expected))+1)
	if s.Rate == 0 {
		return batch, nil
	}
	logMiss := math.Log1p(-s.Rate)
	for row := 0; ; row++ {
		u := float64(rng.Uint64()>>11+1) / (1 << 53) // in (0, 1]
		skip := math.Floor(math.Log(u) / logMiss)
		if skip >= float64(n-row) {
			return batch, nil
		}
		row += int(skip)
		batch = append(batch, row)
	}
}

// Draw returns the batch in uniformly random order, by the first Size steps of a
// Fisher–Yates shuffle of all n rows. Of these only the ones that moved are kept,
// so that it takes time and memory in proportion to the batch.
func (s FixedSize) Draw(n int, rng *rand.Rand) ([]int, error) {
	if s.Size < 0 || s.Size > n {
		return nil, fmt.Errorf("sampling: want a size between 0 and the number of rows, found %v of %d rows", s, n)
	}
	batch := make([]int, s.Size)
	moved := make(map[int]int, s.Size) // position to row, where they differ
	at := func(position int) int {
		if row, ok := moved[position]; ok {
			return row
		}
		return position
	}
	for i := range batch {
		j := i + rng.IntN(n-i)
		batch[i] = at(j)
		moved[j] = at(i)
	}
	return batch, nil
}

// Draw returns the rows in order.
func (All) Draw(n int, _ *rand.Rand) ([]int, error) {
	if n < 0 {
		return nil, fmt.Errorf("sampling: want at least 0 rows, found %d", n)
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows, nil
}

// rarest is the least rate that is drawn. A row is drawn with a probability of at most
// Rate + 2⁻⁵³, which there is more than planned for by one part in nine million.
const rarest = 1e-9

// Check returns an error unless a sampler is one of this package's, by value, and its
// rate one that it keeps to. Plans decide by its type what they may claim.
func Check(s Sampler) error {
	switch s := s.(type) {
	case Poisson:
		if !(s.Rate >= 0 && s.Rate <= 1) {
			return fmt.Errorf("sampling: %v: want a rate from 0 to 1", s)
		}
		if s.Rate > 0 && s.Rate < rarest {
			return fmt.Errorf("sampling: %v: uniform numbers of 53 bits draw rows that rare more often than they should; take a rate of at least %g, or 0", s, rarest)
		}
		return nil
	case FixedSize:
		if s.Size < 0 {
			return fmt.Errorf("sampling: %v: want a size of at least 0", s)
		}
		return nil
	case All, Stratified:
		return nil
	}
	return fmt.Errorf("sampling: a sampler of type %T; amplification is proved for sampling.All, Poisson, FixedSize and Stratified, by value and no pointer to one", s)
}

// Identify returns a text that no sampler of other rows has, by which a plan's noise is
// named. Unlike String it may depend on who is of which category, and is not to be shown:
// whoever knows all records but a few could try what these are.
func Identify(s Sampler) string {
	if strata, ok := s.(Stratified); ok {
		return strata.identity()
	}
	return s.String()
}

package sampling

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"molehill/privacy/accountant"
)

// Stratified takes a fixed number of rows from each category without
// replacement, all subsets of a category alike and the categories independently
// (004, Section 5.2). It is accounted for under replace-one within a category,
// which is 004's k-end relation (Definition 2.1): how many rows each category
// has, and how many are taken, is public.
//
// Its methods are those of a Sampler. Make one with NewStratified.
type Stratified struct {
	rows  [][]int // of each category, ascending
	sizes []int   // how many to take
	text  string
	print uint64 // of which row has which category
}

// NewStratified returns the sampler that takes sizes[c] of the rows whose
// category is c; row i has category categories[i], numbered from 0. Each
// category that is taken from must have as many rows.
func NewStratified(categories, sizes []int) (Stratified, error) {
	s := Stratified{rows: make([][]int, len(sizes)), sizes: slices.Clone(sizes)}
	sum := fnv.New64a()
	for row, c := range categories {
		if c < 0 || c >= len(sizes) {
			return Stratified{}, fmt.Errorf("sampling: row %d has category %d; want 0 to %d, one for each of the %d sizes", row, c, len(sizes)-1, len(sizes))
		}
		s.rows[c] = append(s.rows[c], row)
		fmt.Fprintln(sum, c)
	}
	takes := make([]string, len(sizes))
	for c, size := range sizes {
		if size < 0 || size > len(s.rows[c]) {
			return Stratified{}, fmt.Errorf("sampling: %d rows of category %d, which has %d; want 0 to all of them", size, c, len(s.rows[c]))
		}
		takes[c] = fmt.Sprintf("%d of %d", size, len(s.rows[c]))
	}
	s.text, s.print = strings.Join(takes, ", "), sum.Sum64()
	return s, nil
}

// String tells the sizes.
func (s Stratified) String() string { return fmt.Sprintf("Stratified(%s)", s.text) }

// identity tells which row has which category, too.
func (s Stratified) identity() string {
	return fmt.Sprintf("Stratified(%s; categories %016x)", s.text, s.print)
}

// population returns the number of rows.
func (s Stratified) population() (n int) {
	for _, rows := range s.rows {
		n += len(rows)
	}
	return n
}

// Draw returns the rows of category 0, then those of category 1, and so on, each
// in uniformly random order. Replacing a record by another of its category
// changes one place of the batch at most, and no place tells which rows were
// drawn.
func (s Stratified) Draw(n int, rng *rand.Rand) ([]int, error) {
	if n != s.population() {
		return nil, fmt.Errorf("sampling: categories of %d rows, found %d rows; make the sampler of as many", s.population(), n)
	}
	var batch []int
	for c, rows := range s.rows {
		places, err := FixedSize{s.sizes[c]}.Draw(len(rows), rng)
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			batch = append(batch, rows[place])
		}
	}
	return batch, nil
}

// Event is a fixed-size sample at the ratio of the category that is sampled most
// densely, max n′_c/n_c (004, Lemma 5.2): the record that changes may be of any
// category, the same one at every step, and the trade-off function C_p(f) falls
// as p grows, so that the densest bounds them all.
func (s Stratified) Event(n int, base accountant.Event) accountant.Event {
	if n != s.population() {
		return accountant.FixedSizeSampled{Size: -1, Population: n, Event: base} // invalid
	}
	worst := accountant.FixedSizeSampled{Population: n, Event: base}
	for c, size := range s.sizes {
		// The first comparison is of ratios, in whole numbers.
		if size*worst.Population > worst.Size*len(s.rows[c]) {
			worst.Size, worst.Population = size, len(s.rows[c])
		}
	}
	return worst
}

package transport

import (
	"cmp"
	"math"
	"slices"
)

// Sorter sorts float32 keys, many of them in linear time (least significant digit radix sort,
// three passes over digits of 11, 11 and 10 bits) and keeps its scratch memory
// between calls: 8 bytes a key for Sort, 20 to 24 for others. A Sorter serves
// one goroutine at a time; the zero value is ready.
//
// NaNs sort to the ends by their sign bit; callers that cannot have them check
// with Points.Check first.
type Sorter struct {
	keys, spare  []uint32
	pairs, other []uint64 // key above, index below
	order        []int32
	sorted       []float32
	counts       [3][1 << 11]int32
}

// few keys are sorted by comparing them: they are done before the digits of a
// radix sort are as much as cleared, 20 times sooner at 50 keys.
const few = 256

const (
	digitBits = 11
	digitMask = 1<<digitBits - 1
)

// ordered maps a float's bits to an unsigned integer of the same order.
func ordered(v float32) uint32 {
	bits := math.Float32bits(v)
	return bits ^ (uint32(int32(bits)>>31) | 0x80000000)
}

func unordered(key uint32) float32 {
	return math.Float32frombits(key ^ (^uint32(int32(key)>>31) | 0x80000000))
}

// Sort sorts values in ascending order, in place.
func (s *Sorter) Sort(values []float32) {
	s.keys, s.spare = resized(s.keys, len(values)), resized(s.spare, len(values))
	for i, v := range values {
		s.keys[i] = ordered(v)
	}
	if len(values) <= few {
		slices.Sort(s.keys)
	} else {
		s.sortKeys()
	}
	for i, key := range s.keys {
		values[i] = unordered(key)
	}
}

func (s *Sorter) sortKeys() {
	s.counts = [3][1 << digitBits]int32{}
	for _, key := range s.keys {
		s.count(key)
	}
	s.offsets()
	for pass := range s.counts {
		offsets, shift := &s.counts[pass], uint(pass*digitBits)
		for _, key := range s.keys {
			digit := key >> shift & digitMask
			s.spare[offsets[digit]] = key
			offsets[digit]++
		}
		s.keys, s.spare = s.spare, s.keys
	}
}

// Argsort returns the order of values: values[order[0]] ≤ values[order[1]] ≤ …,
// equal values in the order of their indices (−0 before 0). The result is valid until the
// Sorter's next call.
func (s *Sorter) Argsort(values []float32) []int32 {
	s.sortPairs(values)
	for rank, pair := range s.pairs {
		s.order[rank] = int32(uint32(pair))
	}
	return s.order
}

// Rank returns the order of values and the values in that order. Both are valid
// until the Sorter's next call.
func (s *Sorter) Rank(values []float32) (order []int32, sorted []float32) {
	s.sortPairs(values)
	s.sorted = resized(s.sorted, len(values))
	for rank, pair := range s.pairs {
		s.order[rank], s.sorted[rank] = int32(uint32(pair)), unordered(uint32(pair>>32))
	}
	return s.order, s.sorted
}

// ArgsortDoubles is Argsort in double precision: values are sorted as single precision
// rounds them, which keeps their order, and compared only where it makes them equal.
func (s *Sorter) ArgsortDoubles(values []float64) []int32 {
	s.sorted = resized(s.sorted, len(values))
	for i, v := range values {
		s.sorted[i] = float32(v) + 0 // −0 is as large as 0
	}
	order := s.Argsort(s.sorted)
	for first, last := 0, 1; first < len(order); first, last = last, last+1 {
		for last < len(order) && s.pairs[last]>>32 == s.pairs[first]>>32 {
			last++
		}
		inOrder := func(a, b int32) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) }
		if run := order[first:last]; len(run) > 1 && !slices.IsSortedFunc(run, inOrder) {
			slices.SortFunc(run, inOrder)
		}
	}
	return order
}

func (s *Sorter) sortPairs(values []float32) {
	s.pairs, s.other = resized(s.pairs, len(values)), resized(s.other, len(values))
	s.order = resized(s.order, len(values))
	for i, v := range values {
		s.pairs[i] = uint64(ordered(v))<<32 | uint64(i)
	}
	if len(values) <= few {
		slices.Sort(s.pairs)
		return
	}
	s.counts = [3][1 << digitBits]int32{}
	for _, pair := range s.pairs {
		s.count(uint32(pair >> 32))
	}
	s.offsets()
	for pass := range s.counts {
		offsets, shift := &s.counts[pass], uint(32+pass*digitBits)
		for _, pair := range s.pairs {
			digit := pair >> shift & digitMask
			s.other[offsets[digit]] = pair
			offsets[digit]++
		}
		s.pairs, s.other = s.other, s.pairs
	}
}

// count counts a key's digits for all passes.
func (s *Sorter) count(key uint32) {
	s.counts[0][key&digitMask]++
	s.counts[1][key>>digitBits&digitMask]++
	s.counts[2][key>>(2*digitBits)]++
}

// offsets turns the counts of digits into where each digit's keys begin.
func (s *Sorter) offsets() {
	for pass := range s.counts {
		var before int32
		for digit, count := range s.counts[pass] {
			s.counts[pass][digit] = before
			before += count
		}
	}
}

func resized[T any](buffer []T, n int) []T {
	if cap(buffer) < n {
		return make([]T, n)
	}
	return buffer[:n]
}
